package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/arena"
	"github.com/pelton-broker/pelton/internal/uring"
	"golang.org/x/sys/unix"
)

// pieces gives an arena's slabs as Options.FixedBuffers wants them.
func pieces(a *arena.Arena) func(seen int) [][]byte {
	return func(seen int) [][]byte {
		if a.SlabCount() == seen {
			return nil
		}
		return a.Slabs()[seen:]
	}
}

// Writes of one piece of the arena go as fixed ones, those of slabs that came later too; others, and several pieces, go as before. The bytes
// are the same.
func TestFixedBuffersCarryAppends(t *testing.T) {
	a := arena.New(arena.Options{SlabBytes: 1 << 20})
	r := newRig(t, Options{Backend: "uring", FixedBuffers: pieces(a)})
	f := open(t, t.TempDir())
	var due []byte
	var bufs []*arena.Buf
	write := func(fixed uint64, parts ...[]byte) {
		t.Helper()
		before := r.d.Stats().Fixed
		op := &Op{Kind: Write, File: f, Bufs: parts, Off: int64(len(due)), Durable: len(due)%2 == 0}
		if got := r.run(op); got[0].Err != nil {
			t.Fatal(got[0].Err)
		}
		due = append(due, bytes.Join(parts, nil)...)
		if got := r.d.Stats().Fixed - before; got != fixed {
			t.Fatalf("%d fixed writes, %d were due", got, fixed)
		}
	}
	piece := func(n int, seed int64) []byte {
		b := a.Get(n)
		copy(b.B, randomBytes(n, seed))
		bufs = append(bufs, b)
		return b.B
	}
	for i := range 12 { // more than one slab
		b := piece(200_001, int64(i))
		write(1, b[7:150_000])
	}
	write(0, randomBytes(5000, 99))
	write(0, piece(100, 50), piece(100, 51))
	write(1, piece(1, 52))
	if a.SlabCount() < 2 {
		t.Fatal("the test needs several slabs")
	}
	wantContents(t, f, due)
	for _, b := range bufs {
		b.Release()
	}
	t.Cleanup(a.Close) // runs before the disk's, as nothing is in flight
}

// What the kernel refuses, and was asked for by name, ends the start with its reason.
func TestOpenRefusesWhatIsNotGranted(t *testing.T) {
	newRig(t, Options{Backend: "uring"}) // or there is no ring here
	for name, o := range map[string]Options{
		"cpu":             {Backend: "uring", IOWorkerCPUs: []int{1}, OpenRing: without(unix.EINVAL)},
		"fixed-no-ring":   {Backend: "portable", FixedBuffers: pieces(nil)},
		"fixed-refused":   {Backend: "uring", FixedBuffers: pieces(nil), OpenRing: without(unix.ENOMEM)},
		"workers-refused": {Backend: "uring", IOWorkersUnbounded: 3, OpenRing: without(unix.EINVAL)},
	} {
		t.Run(name, func(t *testing.T) {
			before := descriptors(t)
			d, _, err := Open(o)
			if err == nil {
				d.Close()
			}
			if !errors.Is(err, ErrNotGranted) {
				t.Fatalf("got %v", err)
			}
			if got := descriptors(t); got != before {
				t.Fatalf("%d descriptors, %d before", got, before)
			}
		})
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// refusing is a real ring that refuses to be configured.
type refusing struct {
	uring.Ring
	errno error
}

func (r refusing) ReserveBuffers(int) error  { return r.errno }
func (r refusing) SetWorkerCPUs([]int) error { return r.errno }
func (r refusing) SetWorkers(_, n int) error {
	if n > 0 {
		return r.errno
	}
	return nil
}

func without(errno error) func(uring.Options) (uring.Ring, uring.Probe, error) {
	return func(o uring.Options) (uring.Ring, uring.Probe, error) {
		r, p, err := uring.Open(o)
		if err != nil {
			return nil, p, err
		}
		return refusing{r, errno}, p, nil
	}
}

// alone runs a test by itself in a process of its own: kernel workers belong to a thread and outlive a ring for some seconds.
func alone(t *testing.T) bool {
	t.Helper()
	const marked = "PELTON_TEST_ALONE"
	if os.Getenv(marked) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), marked+"=1")
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP")):
		t.Skipf("in its own process: %s", out)
	}
	return false
}

// The ring's kernel workers run where they were told to, and no more of them than they were told.
func TestKernelWorkersKeepToTheirBounds(t *testing.T) {
	if !alone(t) {
		return
	}
	const most = 1
	r := newRig(t, Options{Backend: "uring", IOWorkers: most, IOWorkersUnbounded: most, IOWorkerCPUs: []int{0}})
	f := open(t, t.TempDir())
	if _, err := f.WriteAt(make([]byte, 64<<20), 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.DropCache(0, 64<<20)); err != nil { // a worker that waits for the disk calls for another
		t.Fatal(err)
	}
	var ops []*Op
	for i := range 64 {
		ops = append(ops, &Op{Kind: ReadAhead, File: f, Off: int64(i) << 20, ReadLen: 1 << 20})
	}
	r.run(ops...) // a ReadAhead always goes to a worker
	tid := unix.Gettid()
	names, err := filepath.Glob("/proc/self/task/*/comm")
	if err != nil {
		t.Fatal(err)
	}
	workers := 0
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil || strings.TrimSpace(string(comm)) != fmt.Sprint("iou-wrk-", tid) {
			continue
		}
		workers++
		status, err := os.ReadFile(strings.TrimSuffix(name, "comm") + "status")
		if err != nil {
			continue // it has ended meanwhile
		}
		if !strings.Contains(string(status), "Cpus_allowed_list:\t0\n") {
			t.Errorf("a kernel worker may run elsewhere:\n%s", status)
		}
	}
	if workers == 0 || workers > 2*most { // of each of the two kinds
		t.Fatalf("%d kernel workers, %d of each kind allowed", workers, most)
	}
}

func TestDeferTaskrunIsLeftOut(t *testing.T) {
	newRig(t, Options{Backend: "uring"})
	for _, not := range []bool{false, true} {
		d, probe, err := Open(Options{Backend: "uring", NoDeferTaskrun: not})
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		if not && (probe.Ring.DeferTaskrun || !probe.Ring.CoopTaskrun && len(probe.Ring.Reasons) == 0) || !not && !probe.Ring.DeferTaskrun && len(probe.Ring.Reasons) == 0 {
			t.Errorf("left out %v: %v", not, probe)
		}
	}
}
