package logstore

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// killMove moves a log until the process is killed before a step, and starts again.
func (w *world) killMove(l *Log, dir, step string) *Log {
	w.t.Helper()
	mortal := &mortalFS{FS: disk.OS(), left: -1, at: step}
	w.m.opt.FS, l.fs = mortal, mortal
	if !w.untilKilled(func() { w.plan(l, dir); w.turn(l) }) {
		w.t.Fatalf("the move to %s had no step %q", dir, step)
	}
	w.crash()
	w.start()
	return w.log("t")
}

// A log that was moved, and whose exchange of names a kill interrupted, moves back; a kill in the middle of that leaves one directory that counts
// all the same. The mark of the first exchange must not be there any more.
func TestMoveBackAfterAnInterruptedExchange(t *testing.T) {
	for _, first := range []string{"rename t-0 t-0-delete", "sync a", "remove pelton.exchange"} {
		t.Run(first, func(t *testing.T) {
			w := newTwoDirs(t, Options{SegmentBytes: 1500, IndexInterval: 200})
			l := w.log("t")
			want := w.fill(l, 0, 12)
			if l = w.killMove(l, w.dirs[1], first); l.Dir() != w.dirs[1] {
				t.Fatalf("the log is in %s", l.Dir())
			}
			want = append(want, w.fill(l, 12, 3)...)
			if l = w.killMove(l, w.dirs[0], "rename t-0 t-0-delete"); l.Dir() != w.dirs[0] {
				t.Fatalf("the log is in %s", l.Dir())
			}
			w.wantContents(l, want)
			if _, err := os.Stat(filepath.Join(l.Path(), exchangeFile)); !os.IsNotExist(err) {
				t.Errorf("the mark is still there: %v", err)
			}
			w.stop()
		})
	}
}

// case: a start that DeleteRecords moved, inside a segment, while the names were about to be exchanged. The epochs that were copied are older, and
// where there are none, as in the old formats, nothing but the checkpoint tells of any start at all.
func TestMoveCarriesTheStart(t *testing.T) {
	for _, magic := range []int8{1, 2} {
		for _, late := range []bool{false, true} {
			w := newTwoDirs(t, Options{SegmentBytes: 100_000, IndexInterval: 200})
			l := w.log("t")
			if magic == 2 {
				w.fill(l, 0, 12)
			} else {
				for range 12 {
					w.produceOld(l, magic, 4)
				}
			}
			const start = 6 // in the middle of a batch, of a segment, of an epoch
			if !late {
				w.deleteTo(l, start)
			}
			w.plan(l, w.dirs[1])
			if !w.copyOnce(l) {
				t.Fatal("nothing was copied")
			}
			job := l.TakeWork() // the exchange, whose epochs are fixed now
			if late {
				w.deleteTo(l, start)
			}
			end := l.End()
			job.Run()
			w.crash()
			w.start()
			l = w.log("t")
			if l.Dir() != w.dirs[1] || l.Start() != start || l.End() != end {
				t.Errorf("format %d, late %v: %s holds %d to %d, want %s and %d to %d", magic, late, l.Dir(), l.Start(), l.End(), w.dirs[1], start, end)
			}
			w.stop()
		}
	}
}

func (w *world) deleteTo(l *Log, start int64) {
	w.t.Helper()
	if got, err := l.DeleteRecordsTo(start); got != start || err != nil {
		w.t.Fatal(got, err)
	}
}

// produceOld appends n messages of an old format, which have no leader epoch.
func (w *world) produceOld(l *Log, magic int8, n int) {
	w.t.Helper()
	it := &batch.Iterator{Codecs: batch.NewCodecs()}
	b, err := it.DownConvert(nil, values(batch.None, 1_600_000_000_000, "old", n), magic, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	in := &batch.Info{}
	if b, err = batch.Adapt(nil, b, batch.Target{Magic: magic}, batch.Limits{}, in); err != nil {
		w.t.Fatal(err)
	}
	a := &Append{Bytes: b, Info: in, LeaderEpoch: 3, AppendTimeMs: w.clk.WallMs()}
	l.Append(a)
	w.turn(l)
	w.done(l, a)
	if a.Err != nil {
		w.t.Fatal(a.Err)
	}
	l.SetHighWatermark(l.End())
}

// The request for a move, and one that ends it, are durable before they are answered.
func TestMoveRequestsAreDurable(t *testing.T) {
	w := newTwoDirs(t, Options{})
	l := w.log("t")
	w.fill(l, 0, 3)
	w.turn(l)
	watch := &syncedFS{FS: disk.OS()}
	w.m.opt.FS = watch
	for _, dir := range []string{w.dirs[1], w.dirs[0]} {
		watch.open = map[string]bool{}
		w.plan(l, dir)
		if len(watch.open) != 0 {
			t.Errorf("asked into %s: names that are not synced in %v", dir, watch.open)
		}
	}
	if got := w.names(w.dirs[1]); !slices.Equal(got, []string{"t-0-delete"}) {
		t.Fatal(got)
	}
	w.stop()
}

// syncedFS notes the directories whose names were changed and not synced since.
type syncedFS struct {
	disk.FS
	open map[string]bool
}

func (f *syncedFS) MkdirAll(path string) error {
	f.open[filepath.Dir(path)] = true
	return f.FS.MkdirAll(path)
}

func (f *syncedFS) Rename(from, to string) error {
	f.open[filepath.Dir(to)] = true
	return f.FS.Rename(from, to)
}

func (f *syncedFS) SyncDir(path string) error {
	delete(f.open, path)
	return f.FS.SyncDir(path)
}

// A move goes on after a clean stop, which left indexes that are whole for what was copied by then. The log rolls where the names were exchanged,
// and a crash comes before the old segment is settled: its indexes must not be taken for whole.
func TestMoveGoesOnAndTheLogRolls(t *testing.T) {
	w := newTwoDirs(t, Options{SegmentBytes: 4000, IndexInterval: 200, SettleDelayMs: 1 << 40})
	l := w.log("t")
	w.fill(l, 0, 10)
	w.plan(l, w.dirs[1])
	if !w.copyOnce(l) {
		t.Fatal("nothing was copied")
	}
	l.moving.exchanging = false
	w.m.Halt()
	w.fill(l, 10, 5)
	w.stop()
	w.start()
	l = w.log("t")
	w.turn(l)
	if l.Dir() != w.dirs[1] || len(l.segments) != 1 {
		t.Fatalf("the log is in %s with %d segments", l.Dir(), len(l.segments))
	}
	end := l.End()
	l.opt.SegmentBytes = 300
	w.fill(l, 15, 1)
	if len(l.segments) != 2 || l.segments[1].base != end {
		t.Fatalf("%d segments, the names were exchanged at %d", len(l.segments), end)
	}
	w.crash()
	w.start()
	l = w.log("t")
	if o, _, _, _, err := l.LookupTime(14_000); o != end-4 || err != nil {
		t.Errorf("the last time before the exchange is at %d, want %d: %v", o, end-4, err)
	}
	w.stop()
}
