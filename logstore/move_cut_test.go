package logstore

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// firstSyncedFS notes whether the directory that a move goes to was synced before anything got the suffix of what is removed.
type firstSyncedFS struct {
	disk.FS
	dir    string
	synced bool
	early  []string // what was renamed before
	gone   int
}

func (f *firstSyncedFS) SyncDir(path string) error {
	f.synced = f.synced || path == f.dir
	return f.FS.SyncDir(path)
}

func (f *firstSyncedFS) Rename(from, to string) error {
	if strings.HasSuffix(to, deleteSuffix) {
		if f.gone++; !f.synced {
			f.early = append(f.early, from)
		}
	}
	return f.FS.Rename(from, to)
}

// A kill comes between the first rename of an exchange and its sync: the next start, which finds two directories, takes the old one away only after
// the new one's name is safe. Else a power cut right then would leave neither.
func TestMoveFoundTwiceIsSyncedFirst(t *testing.T) {
	w := newTwoDirs(t, Options{})
	l := w.log("t")
	want := w.fill(l, 0, 5)
	watch := &firstSyncedFS{FS: disk.OS(), dir: w.dirs[1]}
	w.fs = watch
	mortal := &mortalFS{FS: disk.OS(), left: -1, at: "rename t-0 t-0-delete"}
	w.m.opt.FS, l.fs = mortal, mortal
	if !w.untilKilled(func() { w.plan(l, w.dirs[1]); w.turn(l) }) {
		t.Fatal("names were not exchanged")
	}
	w.crash()
	w.wantNames("t-0", "t-0")
	w.start()
	l = w.log("t")
	w.wantContents(l, want)
	if l.Dir() != w.dirs[1] || watch.gone != 1 || len(watch.early) > 0 {
		t.Errorf("the log is in %s; %d directories were taken away, before the sync of %s: %v", l.Dir(), watch.gone, w.dirs[1], watch.early)
	}
	w.stop()
}

// A checkpoint comes between an exchange of names and the shard's knowing of it. In the new place the files begin before the start, which they did
// not in the old one: the start has to be written down.
func TestMoveCheckpointRightAfterTheExchangeKeepsTheStart(t *testing.T) {
	w := newTwoDirs(t, Options{SegmentBytes: 1500, IndexInterval: 200})
	l := w.log("t")
	for range 30 {
		w.produceOld(l, 1, 4) // in the old formats there are no epochs, which tell of a start too
	}
	w.plan(l, w.dirs[1])
	if !w.copyOnce(l) {
		t.Fatal("nothing was copied")
	}
	l.moving.exchanging = false
	start := l.segments[1].base
	w.m.Halt()
	w.deleteTo(l, start)
	l.Retain(w.clk.WallMs())
	w.turn(l)
	w.stop()
	w.start()
	l = w.log("t")
	if got := l.published.named.Load(); got != start {
		t.Fatalf("the files begin at %d, want %d", got, start)
	}
	if !w.copyOnce(l) {
		t.Fatal("nothing was copied")
	}
	l.TakeWork().Run() // the exchange
	if err := w.m.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	w.crash()
	w.start()
	l = w.log("t")
	if l.Path() != filepath.Join(w.dirs[1], "t-0") || l.Start() != start {
		t.Errorf("%s starts at %d, want %d", l.Path(), l.Start(), start)
	}
	w.stop()
}
