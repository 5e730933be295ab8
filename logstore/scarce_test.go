package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// poorFS has no descriptor for the files whose paths hold one of the words.
type poorFS struct {
	disk.FS
	root  string // of which the names do not count
	none  []string
	asked int // how often there was none
}

func (p *poorFS) refuse(path string) error {
	below, is := strings.CutPrefix(path, p.root)
	if is && slices.ContainsFunc(p.none, func(word string) bool { return strings.Contains(below, word) }) {
		p.asked++
		return &disk.Error{Op: "open", Path: path, Err: syscall.EMFILE}
	}
	return nil
}

func (p *poorFS) OpenFile(path string, flag int, perm fs.FileMode) (*disk.File, error) {
	if err := p.refuse(path); err != nil {
		return nil, err
	}
	return p.FS.OpenFile(path, flag, perm)
}

func (p *poorFS) WriteFileAtomic(path string, b []byte) error {
	if err := p.refuse(path); err != nil {
		return err
	}
	return p.FS.WriteFileAtomic(path, b)
}

func (p *poorFS) SyncDir(path string) error {
	if err := p.refuse(path + "//sync"); err != nil {
		return err
	}
	return p.FS.SyncDir(path)
}

func (w *world) online(what string) {
	w.t.Helper()
	if len(w.off) > 0 {
		w.t.Fatalf("%s: the directory went offline: %v", what, w.off)
	}
}

// A segment that cannot be made for a want of descriptors is like a full disk: appends are refused, nothing that was acknowledged is lost, reading
// goes on, and so do appends once there are descriptors.
func TestRollWithoutDescriptors(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 1500, IndexInterval: 200})
	l := w.log("t")
	want := w.fill(l, 0, 10)
	poor := &poorFS{FS: disk.OS(), none: []string{sufLog}}
	l.fs = poor
	refused := 0
	for i := 0; refused == 0; i++ {
		a := w.push(l, values(batch.None, 1, fmt.Sprint("more-", i, "-"), 4))
		w.turn(l)
		switch {
		case a.Err == nil:
			for k := range 4 {
				want = append(want, fmt.Sprint("more-", i, "-", k))
			}
			l.TakeDone()
			l.SetHighWatermark(l.End())
		case errors.Is(a.Err, ErrNoSpace):
			refused++
			l.TakeDone()
		default:
			t.Fatal(a.Err)
		}
	}
	w.online("a segment that could not be made")
	if got := len(w.contents(l, 0, l.End())); got != int(l.End()) || poor.asked == 0 {
		t.Errorf("%d of %d records can be read, %d files were refused", got, l.End(), poor.asked)
	}
	end := l.End()
	poor.none = nil
	w.clk.Advance(2 * probeEveryMs * 1e6)
	for range 3 { // the probe, the roll
		l.Tick(w.clk.WallMs())
		w.turn(l)
	}
	w.produce(l, values(batch.None, 1, "after", 1))
	if l.End() != end+1 || l.Segments() < 2 {
		t.Errorf("the log ends at %d with %d segments", l.End(), l.Segments())
	}
	w.stop()
	w.online("the end")
}

// What a log does beside its appends waits for descriptors, and is done later: settling, the epochs, the names of a new partition, checkpoints.
func TestWorkWithoutDescriptorsIsDoneLater(t *testing.T) {
	for _, word := range []string{sufIndex, sufSnapshot, epochFile, partitionFile, highFile, "t-0//sync"} {
		t.Run(word, func(t *testing.T) {
			w := newWorld(t, Options{SegmentBytes: 1500, IndexInterval: 200, SettleDelayMs: 60_000})
			poor := &poorFS{FS: disk.OS(), root: w.dirs[0]}
			if word == partitionFile { // it is written once
				poor.none = []string{word}
			}
			w.fs = poor
			w.stop()
			w.start()
			l := w.log("t")
			poor.none = []string{word}
			if word == sufIndex { // rolls need them too
				poor.none = nil
			}
			l.AssignEpoch(3, l.End())
			a := w.push(l, values(batch.None, 1, "e", 2))
			a.LeaderEpoch = 3
			w.turn(l)
			w.done(l, a)
			w.fill(l, 2, 20)
			poor.none = []string{word}
			l.Flush()
			w.turn(l)
			_ = w.m.Checkpoint()
			before := poor.asked
			for range 20 { // turns without time do not try again and again
				w.turn(l)
			}
			if poor.asked == 0 || poor.asked-before > 2 {
				t.Errorf("asked %d times, then %d times in no time", before, poor.asked-before)
			}
			w.online("without descriptors")
			poor.none = nil
			w.clk.Advance(2 * probeEveryMs * 1e6)
			for range 20 {
				l.Tick(w.clk.WallMs())
				l.Flush()
				w.turn(l)
			}
			if l.RecoveryPoint() != l.End() || l.work.unborn || l.work.unsettled {
				t.Errorf("durable up to %d of %d, unborn %v, unsettled %v", l.RecoveryPoint(), l.End(), l.work.unborn, l.work.unsettled)
			}
			if b, err := os.ReadFile(filepath.Join(w.dirs[0], "t-0", epochFile)); err != nil || !strings.Contains(string(b), "3 0") {
				t.Errorf("the epochs: %q, %v", b, err)
			}
			if err := w.m.Checkpoint(); err != nil {
				t.Error(err)
			}
			w.online("with them again")
			w.stop()
		})
	}
}

// A log that cannot be opened for a want of descriptors takes no directory with it, and leaves nothing of a new partition; later it opens.
func TestOpenWithoutDescriptors(t *testing.T) {
	w := newTwoDirs(t, Options{})
	want := w.fill(w.log("old"), 0, 5)
	w.stop()
	poor := &poorFS{FS: disk.OS(), none: []string{sufLog}}
	w.fs = poor
	w.start()
	for range 2 {
		for _, topic := range []string{"old", "new"} {
			if _, err := w.open(topic); !errors.Is(err, syscall.EMFILE) {
				t.Fatalf("%s: %v", topic, err)
			}
		}
	}
	w.online("logs that cannot be opened")
	for _, dir := range w.dirs {
		if left, _ := filepath.Glob(filepath.Join(dir, "new-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	poor.none = nil
	w.wantContents(w.log("old"), want)
	w.fill(w.log("new"), 0, 3)
	w.stop()
}

// A swap that a want of descriptors held up in the middle is finished later.
func TestSwapWithoutDescriptors(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 600, IndexInterval: 100, Compact: true, Cleaner: true, MinCleanableRatio: 1e-9})
	l := w.log("t")
	for i := range 30 {
		b := batch.NewBuilder(batch.None)
		b.Add(w.clk.WallMs(), []byte(fmt.Sprint("k", i%3)), fmt.Appendf(nil, "v%d", i))
		w.produce(l, b.Bytes())
	}
	poor := &poorFS{FS: disk.OS(), root: w.dirs[0]}
	l.fs = poor
	l.Retain(w.clk.WallMs())
	poor.none = []string{"t-0//sync"}
	w.turn(l)
	before := poor.asked
	w.turn(l)
	if got := len(w.contents(l, 0, l.End())); before == 0 || poor.asked != before || got != 30 {
		t.Fatalf("asked %d times, then %d, %d records", before, poor.asked, got)
	}
	w.online("a swap held up")
	poor.none = nil
	w.clk.Advance(2 * probeEveryMs * 1e6)
	l.Tick(w.clk.WallMs())
	w.turn(l)
	left := strings.Join(w.contents(l, 0, l.End()), " ")
	if !strings.HasSuffix(left, "27=v27 28=v28 29=v29") || strings.Contains(left, "0=v0 ") {
		t.Errorf("left: %s", left)
	}
	w.stop()
	w.start()
	if got := strings.Join(w.contents(w.log("t"), 0, 30), " "); got != left {
		t.Errorf("after a start: %s, before: %s", got, left)
	}
	w.stop()
	w.online("the end")
}
