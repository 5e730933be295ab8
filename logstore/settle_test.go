package logstore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// delayed is a log of several closed segments that wait for their syncs.
func delayed(t *testing.T, o Options) (*world, *Log) {
	t.Helper()
	o.SegmentBytes, o.IndexInterval, o.SettleDelayMs = 1500, 200, 5000
	w := newWorld(t, o)
	l := w.log("t")
	w.fill(l, 0, 40)
	if len(l.segments) < 4 {
		t.Fatalf("%d segments", len(l.segments))
	}
	return w, l
}

func settled(l *Log) int {
	n := 0
	for _, s := range l.segments {
		if s.settled {
			n++
		}
	}
	return n
}

func TestClosedSegmentsWaitForTheirSync(t *testing.T) {
	w, l := delayed(t, Options{})
	if settled(l) != 0 || l.RecoveryPoint() != 0 {
		t.Fatalf("%d settled at once, durable up to %d", settled(l), l.RecoveryPoint())
	}
	w.clk.Advance(4999e6)
	l.Tick(w.clk.WallMs())
	w.turn(l)
	if settled(l) != 0 {
		t.Fatalf("%d settled too early", settled(l))
	}
	w.clk.Advance(1e6)
	l.Tick(w.clk.WallMs())
	w.turn(l)
	if settled(l) != len(l.segments)-1 || l.RecoveryPoint() != l.active().base {
		t.Fatalf("%d of %d settled, durable up to %d", settled(l), len(l.segments)-1, l.RecoveryPoint())
	}
	w.stop()
}

// What promises to be on the disk cannot wait behind segments that are not.
func TestDurabilityHurriesClosedSegments(t *testing.T) {
	for name, ask := range map[string]func(w *world, l *Log){
		"flush":          func(w *world, l *Log) { l.Flush(); w.turn(l) },
		"durable append": func(w *world, l *Log) { w.push(l, values(batch.None, 1, "d", 1)).Durable = true; w.turn(l) },
	} {
		t.Run(name, func(t *testing.T) {
			w, l := delayed(t, Options{})
			ask(w, l)
			if settled(l) != len(l.segments)-1 {
				t.Fatalf("%d of %d settled", settled(l), len(l.segments)-1)
			}
			l.Flush()
			w.turn(l)
			if l.RecoveryPoint() != l.End() {
				t.Fatalf("durable up to %d of %d", l.RecoveryPoint(), l.End())
			}
			w.stop()
		})
	}
}

func TestSegmentsThatRetentionTakesAreNotSettled(t *testing.T) {
	w, l := delayed(t, Options{Delete: true, RetentionMs: NoLimit, RetentionBytes: 1})
	old := slices.Clone(l.segments[:len(l.segments)-1])
	l.Retain(w.clk.WallMs())
	w.turn(l)
	w.clk.Advance(5000e6)
	l.Tick(w.clk.WallMs())
	w.turn(l)
	for i, s := range old[:len(old)-1] {
		if s.settled {
			t.Errorf("segment %d was settled after it had left the log", i)
		}
	}
	if settled(l) != len(l.segments)-1 {
		t.Errorf("%d of the %d closed ones that are left are settled", settled(l), len(l.segments)-1)
	}
	w.stop()
}

// A clean stop and a crash give the same records, settled or not.
func TestUnsettledSegmentsAreFoundAgain(t *testing.T) {
	for _, clean := range []bool{true, false} {
		t.Run(fmt.Sprint("clean ", clean), func(t *testing.T) {
			w, l := delayed(t, Options{})
			want := w.contents(l, 0, l.End())
			if clean {
				w.stop()
			} else {
				w.crash()
			}
			w.start()
			l = w.log("t")
			if got := w.contents(l, 0, l.End()); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%d records, want %d", len(got), len(want))
			}
			w.stop()
		})
	}
}
