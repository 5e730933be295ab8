package logstore

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// put appends one value of a key.
func (w *world) put(l *Log, key, value string) {
	w.t.Helper()
	bd := batch.NewBuilder(batch.None)
	bd.Add(w.clk.WallMs(), []byte(key), []byte(value))
	w.produce(l, bd.Bytes())
}

// case: the end of a segment of a compacted log was never synced, and a power cut took it while it left the segments behind. In a log that is compacted
// offsets may be missing, so what is left is kept: it reads and cleans like any other, a start later too, and only what nobody had synced is gone.
func TestCompactedLogWithAnUnsyncedHole(t *testing.T) {
	for _, keep := range []int{0, 1, 2} { // batches of the segment that the power cut left
		t.Run(fmt.Sprint("left ", keep), func(t *testing.T) {
			w := newWorld(t, Options{SegmentBytes: 600, IndexInterval: 100, Compact: true, Cleaner: true, MinCleanableRatio: 1e-9, SettleDelayMs: 1 << 40})
			l := w.log("t")
			for i := range 12 {
				w.put(l, fmt.Sprint("k", i%4), fmt.Sprint("synced-", i))
			}
			w.checkpoint(l)
			synced := l.End()
			for len(l.segments) < 6 {
				w.put(l, fmt.Sprint("k", l.End()%5), fmt.Sprint("later-", l.End()))
			}
			i := slices.IndexFunc(l.segments, func(s *Segment) bool { return s.base >= synced })
			hole := l.segments[i]
			before, end, path := w.keyed(l), l.End(), hole.file.Path()
			from, size := hole.base+int64(keep), w.sizeOf(hole, keep)
			next := l.segments[i+1].base
			if i+2 >= len(l.segments) || from >= next {
				t.Fatalf("the hole is in segment %d of %d, from %d to %d", i, len(l.segments), from, next)
			}
			w.crash()
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
			want := slices.DeleteFunc(slices.Clone(before), func(k keyed) bool { return k.offset >= from && k.offset < next })
			for start := range 3 {
				w.start()
				l = w.log("t")
				if got := w.keyed(l); !slices.Equal(got, want) || l.End() != end || l.Start() != 0 {
					t.Fatalf("start %d: from %d to %d:\n got %v\nwant %v", start, l.Start(), l.End(), got, want)
				}
				for at := from; at < next; at++ { // who asks for what is gone gets what comes behind
					if got := w.contents(l, at, l.End()); len(got) == 0 || got[0] != fmt.Sprintf("%d=later-%d", next, next) {
						t.Fatalf("start %d: at %d is %v", start, at, got)
					}
				}
				if start == 1 {
					w.stop()
				} else {
					w.crash()
				}
			}
			w.start()
			l = w.log("t")
			w.put(l, "new", "value")
			w.compact(l)
			latest := table(want)
			latest["new"] = keyed{end, "new", "value", false}
			if got := table(w.keyed(l)); l.compaction.Runs == 0 || !maps.Equal(got, latest) {
				t.Fatalf("%d cleanings:\n got %v\nwant %v", l.compaction.Runs, got, latest)
			}
			w.stop()
		})
	}
}

// sizeOf is the length of the first n batches of a segment.
func (w *world) sizeOf(s *Segment, n int) int64 {
	w.t.Helper()
	scan := scanner{}
	scan.reset(s.file, 0, s.size, true)
	for range n {
		if _, _, _, err := scan.next(); err != nil {
			w.t.Fatal(err)
		}
	}
	return scan.pos
}

// The same hole in a log that is not compacted cannot be right: what lies behind it goes, down to nothing that was synced.
func TestHoleInALogThatIsNotCompacted(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 600, IndexInterval: 100, SettleDelayMs: 1 << 40})
	l := w.log("t")
	want := w.fill(l, 0, 8)
	w.checkpoint(l)
	synced := l.End()
	w.fill(l, 8, 30)
	i := slices.IndexFunc(l.segments, func(s *Segment) bool { return s.base >= synced })
	path, size := l.segments[i].file.Path(), w.sizeOf(l.segments[i], 1)
	from := l.segments[i].base + 4
	want = append(want, w.contents(l, synced, from)...)
	if i+2 >= len(l.segments) {
		t.Fatal("too few segments")
	}
	w.crash()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.start()
		l = w.log("t")
		if l.End() != from {
			t.Fatalf("the log ends at %d, want %d", l.End(), from)
		}
		w.wantContents(l, want)
		w.stop()
	}
}
