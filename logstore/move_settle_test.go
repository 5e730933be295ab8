package logstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// The log rolls where the names were exchanged, and a crash comes when the indexes of the old segment were written, the one of its aborted
// transactions not yet: they are told after the start nevertheless.
func TestMoveAndACrashWithinASettling(t *testing.T) {
	w := newTwoDirs(t, Options{SegmentBytes: 40000, IndexInterval: 200, SettleDelayMs: 1 << 40})
	l := w.log("t")
	w.transact(l, 10, 0, "a", "b")
	w.mark(l, 10, 0)
	w.fill(l, 0, 10)
	aborted := fmt.Sprint(l.AbortedIn(0, l.End(), nil))
	w.plan(l, w.dirs[1])
	w.turn(l)
	end := l.End()
	l.opt.SegmentBytes = 300
	w.fill(l, 10, 1)
	if l.Dir() != w.dirs[1] || len(l.segments) != 2 || l.segments[1].base != end || aborted == "[]" {
		t.Fatalf("in %s with %d segments, the last at %d, the names were exchanged at %d; aborted %s", l.Dir(), len(l.segments), l.segments[len(l.segments)-1].base, end, aborted)
	}
	seg := l.segments[0]
	seg.times.addTime(seg.maxTime, int32(seg.maxTimeLast-seg.base))
	for _, x := range []*Index{&seg.offsets, &seg.times} {
		if err := writeIndex(l.fs, x); err != nil {
			t.Fatal(err)
		}
	}
	w.crash()
	w.start()
	l = w.log("t")
	if got := fmt.Sprint(l.AbortedIn(0, l.End(), nil)); got != aborted {
		t.Errorf("aborted after the start: %s, before: %s", got, aborted)
	}
	w.stop()
}

// All that a log had was deleted, and the file that told what producers had written is gone: a move tells it anew, and a crash forgets nothing.
func TestMoveOfALogWithoutRecords(t *testing.T) {
	w := newTwoDirs(t, Options{Delete: true, RetentionBytes: -1, RetentionMs: 1000})
	l := w.log("t")
	w.produce(l, idempotent(7, 3, 0, 3))
	l.SetHighWatermark(l.End())
	w.clk.Advance(60_000_000_000)
	for range 2 { // the roll, the deletion
		l.Retain(w.clk.WallMs())
		w.turn(l)
	}
	if l.Start() != l.End() {
		t.Fatalf("the log holds %d to %d", l.Start(), l.End())
	}
	if err := os.Remove(filepath.Join(l.Path(), fileName(l.End(), sufSnapshot))); err != nil {
		t.Fatal(err)
	}
	before := string(l.producers.EncodeSnapshot())
	w.plan(l, w.dirs[1])
	w.turn(l)
	w.crash()
	w.start()
	l = w.log("t")
	if got := string(l.producers.EncodeSnapshot()); l.Dir() != w.dirs[1] || got != before {
		t.Errorf("in %s after the crash %q, before %q", l.Dir(), got, before)
	}
	w.stop()
}

// A move that was refused for want of room leaves nothing with which a start would go on.
func TestRefusedMoveIsNotGoneOnWith(t *testing.T) {
	w := newTwoDirs(t, Options{})
	w.stop()
	poor := &poorFS{FS: disk.OS(), root: w.dirs[1]}
	w.fs = poor
	w.start()
	l := w.log("t")
	want := w.fill(l, 0, 3)
	poor.none = []string{partitionFile}
	if _, changed, err := w.m.PlanMove(l.tp, w.dirs[1]); !errors.Is(err, ErrNoSpace) || changed || poor.asked != 1 {
		t.Fatalf("changed %v, error %v, %d files were refused", changed, err, poor.asked)
	}
	w.wantNames("t-0", "")
	poor.none = nil
	w.crash()
	w.start()
	l = w.log("t")
	w.turn(l)
	if moves := w.m.Moves(); len(moves) != 0 || l.Dir() != w.dirs[0] {
		t.Errorf("in %s, moves %+v", l.Dir(), moves)
	}
	w.wantContents(l, want)
	w.stop()
	w.online("the end")
}
