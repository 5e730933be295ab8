package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What a producer had written is known after a crash although the segment with its last batch was not settled before it left the log, nor
// even before the crash before that.
func TestProducersOutliveTheirSegments(t *testing.T) {
	for what, again := range map[string]bool{"it is deleted before it is settled": false, "a crash comes before that": true} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, Options{SegmentBytes: 600, IndexInterval: 100, SettleDelayMs: 1 << 40})
			l := w.log("t")
			w.produce(l, idempotent(7, 0, 0, 3))
			w.stop() // leaves a snapshot that is soon too old
			w.start()
			l = w.log("t")
			w.produce(l, idempotent(7, 0, 3, 1))
			w.fill(l, 0, 20)
			if again {
				w.crash()
				w.start()
				l = w.log("t")
				l.SetHighWatermark(l.End())
			}
			w.loseFirst(l)
			w.crash()
			w.start()
			l = w.log("t")
			for _, seq := range []int32{3, 9} { // a repeat, whose offsets are gone, and a gap
				a := w.push(l, idempotent(7, 0, seq, 1))
				w.turn(l)
				if w.done(l, a); seq == 9 && !errors.Is(a.Err, ErrOutOfOrderSequence) || seq == 3 && !a.Duplicate {
					t.Errorf("sequence %d: duplicate %v, %v", seq, a.Duplicate, a.Err)
				}
			}
			w.produce(l, idempotent(7, 0, 4, 1))
			w.stop()
		})
	}
}

// loseFirst deletes records until the first segment is gone.
func (w *world) loseFirst(l *Log) {
	w.t.Helper()
	if _, err := l.DeleteRecordsTo(l.End() - 1); err != nil {
		w.t.Fatal(err)
	}
	l.Retain(w.clk.WallMs())
	w.turn(l)
	if l.segments[0].base == 0 {
		w.t.Fatal("the first segment is still there")
	}
}

// A snapshot that is older than the first segment tells an old sequence of a producer that wrote between the two: it does not count.
func TestSnapshotBeforeTheFirstSegmentDoesNotCount(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 600, IndexInterval: 100})
	l := w.log("t")
	w.produce(l, idempotent(7, 0, 0, 3))
	w.stop()
	w.start()
	l = w.log("t")
	w.produce(l, idempotent(7, 0, 3, 1))
	w.fill(l, 0, 20)
	w.loseFirst(l)
	path, first, end := l.Path(), l.segments[0].base, l.End()
	w.crash()
	stale := 0
	names, err := filepath.Glob(filepath.Join(path, "*"+sufSnapshot))
	for _, name := range names {
		switch at, _, _ := parseFileName(filepath.Base(name)); {
		case at >= first:
			err = errors.Join(err, os.Remove(name))
		default:
			stale++
		}
	}
	if err != nil || stale == 0 {
		t.Fatalf("%d old snapshots of %v, %v", stale, names, err)
	}
	w.start()
	l = w.log("t")
	if a := w.produce(l, idempotent(7, 0, 4, 1)); a.Base != end {
		t.Errorf("the producer went on at %d, the end was %d", a.Base, end)
	}
	w.stop()
}

// A segment that was deleted, and never synced for that reason, may be torn by a power cut before its names are gone. That is no damage.
func TestTornSegmentThatWasDeleted(t *testing.T) {
	for what, c := range map[string]struct {
		size  int64 // what is left of it
		every int32 // bytes between index entries
	}{"torn": {20, 100}, "empty": {0, 100}, "empty, and its indexes are right to be": {0, 4096}} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, Options{SegmentBytes: 600, IndexInterval: c.every, SettleDelayMs: 1 << 40})
			l := w.log("t")
			w.produce(l, idempotent(7, 0, 0, 1))
			w.fill(l, 0, 8)
			at := w.produce(l, idempotent(7, 0, 1, 1)).Base
			w.fill(l, 8, 20)
			torn := l.segments[l.segmentFor(at)].stem + sufLog
			if _, err := l.DeleteRecordsTo(l.End() - 1); err != nil {
				t.Fatal(err)
			}
			want := w.contents(l, l.Start(), l.End())
			l.Retain(w.clk.WallMs())
			if err := w.m.Checkpoint(); err != nil {
				t.Fatal(err)
			}
			w.crash() // before any job ran
			if err := os.Truncate(torn, c.size); err != nil {
				t.Fatal(err)
			}
			w.start()
			l = w.log("t")
			w.wantContents(l, want)
			if l.CutBytes() > 0 {
				t.Errorf("%d bytes are said to be lost", l.CutBytes())
			}
			w.produce(l, idempotent(7, 0, 2, 1)) // what it wrote first is not taken for what it wrote last
			w.stop()
		})
	}
}
