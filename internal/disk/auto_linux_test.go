package disk

import (
	"strings"
	"syscall"
	"testing"

	"github.com/pelton-broker/pelton/internal/uring/mounts"
	"golang.org/x/sys/unix"
)

func isExt4(t *testing.T, dir string) bool {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return s.Type == unix.EXT4_SUPER_MAGIC
}

func TestAutoWritesSmallAppendsInline(t *testing.T) {
	dir := t.TempDir()
	if !isExt4(t, dir) {
		t.Skip("the temporary directory is not on ext4")
	}
	f := open(t, dir)
	r := newRig(t, Options{Backend: "auto", SlowNs: 1 << 40})
	enters := r.d.Stats().Enters
	op := &Op{Kind: Write, File: f, Bufs: [][]byte{{1, 2}, {3}}}
	r.d.Submit(op)
	wantContents(t, f, []byte{1, 2, 3})
	if got := r.d.Reap(nil); len(got) != 1 || got[0] != op {
		t.Fatal("an inline write is not complete in the same turn")
	}
	mustDo(t, op, 3)
	if s := r.d.Stats(); s.Inline != 1 || s.Enters != enters {
		t.Fatalf("stats %+v after an inline write", s)
	}
	for name, other := range map[string]*Op{
		"durable": {Kind: Write, File: f, Bufs: [][]byte{{1}}, Durable: true},
		"large":   {Kind: Write, File: f, Bufs: [][]byte{make([]byte, defaultInlineMax+1)}},
	} {
		r.run(other)
		if s := r.d.Stats(); s.Inline != 1 || other.Err != nil {
			t.Fatalf("%s: written inline (%+v) or failed (%v)", name, s, other.Err)
		}
	}
}

func TestAutoWakesWhoSleepsOnAnInlineWrite(t *testing.T) {
	f := open(t, t.TempDir())
	r := newRig(t, Options{Backend: "auto"})
	r.d.Submit(&Op{Kind: Write, File: f, Bufs: [][]byte{{1}}})
	r.d.Flush()
	r.sleep()
	if got := r.d.Reap(nil); len(got) != 1 {
		t.Fatal("nothing to reap after the wake-up")
	}
}

func TestAutoLeavesNoWaitFileSystemsToTheRing(t *testing.T) {
	f := open(t, mounts.XFS(t))
	r := newRig(t, Options{Backend: "auto"})
	for i := range 3 {
		op := &Op{Kind: Write, File: f, Bufs: [][]byte{make([]byte, 100)}, Off: int64(i * 100)}
		r.run(op)
		mustDo(t, op, 100)
	}
	// The first one may have been the question itself.
	if s := r.d.Stats(); s.Inline > 1 {
		t.Fatalf("stats %+v: xfs writes without waiting, so the ring is as quick", s)
	}
	wantContents(t, f, make([]byte, 300))
}

func TestAutoTurnsToTheRingWhileADirectoryIsSlow(t *testing.T) {
	f := open(t, t.TempDir())
	r := newRig(t, Options{Backend: "auto"})
	a := r.d.(*autoDisk)
	v := a.volumeOf(f)
	v.noWait = no
	v.note(verySlow*a.slowNs, a.slowNs)
	op := &Op{Kind: Write, File: f, Bufs: [][]byte{{1}}}
	r.run(op)
	mustDo(t, op, 1)
	if s := r.d.Stats(); s.Inline != 0 {
		t.Fatal("a directory that stood still a moment ago is written inline")
	}
	v.recent = 0
	r.run(op)
	if s := r.d.Stats(); s.Inline != 1 {
		t.Fatal("a directory that is quick again is not written inline")
	}
}

func TestVolumeForgets(t *testing.T) {
	var v volume
	const slow = 1000
	for range slowShare - 1 {
		v.note(slow, slow)
	}
	if !v.quick() {
		t.Fatal("three slow writes of 64 are no slow directory")
	}
	v.note(slow+1, slow)
	if v.quick() {
		t.Fatal("four slow writes of the last 64 are")
	}
	for range 64 {
		v.note(slow-1, slow)
	}
	if !v.quick() || v.recent != 0 {
		t.Fatal("64 quick writes do not clear the memory")
	}
	v.note(verySlow*slow, slow)
	if v.quick() {
		t.Fatal("a write that took very long alone does not count")
	}
}

func TestOpenStepsDownAndSaysWhy(t *testing.T) {
	for _, want := range []string{"auto", "uring"} {
		for _, errno := range []syscall.Errno{syscall.EPERM, syscall.ENOSYS, syscall.ENOMEM} {
			d, probe, err := Open(Options{Backend: want, OpenRing: refuse(errno)})
			if err != nil {
				t.Fatal(err)
			}
			if d.Backend() != "portable" || probe.Backend != "portable" || probe.Async != "portable" {
				t.Fatalf("%s: backend %s, probe %+v", want, d.Backend(), probe)
			}
			line := probe.String()
			if !strings.Contains(line, "io_uring_setup") || !strings.Contains(line, errno.Error()) || !strings.Contains(line, "portable") {
				t.Fatalf("probe %q does not say why", line)
			}
			d.Close()
		}
	}
	if _, _, err := Open(Options{Backend: "mmap"}); err == nil || !strings.Contains(err.Error(), "mmap") {
		t.Fatalf("unknown backend: %v", err)
	}
}
