package logstore

import (
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// platterFS knows of every file how much of it was synced, whatever its name is.
type platterFS struct {
	disk.FS
	open  map[*disk.File]*platterState
	known []*platterState
}

type platterState struct {
	info   fs.FileInfo
	synced int64 // length at the last sync
	lowest int64 // first byte that was written since
}

// platterFile is an open file of it.
type platterFile struct {
	*disk.File
	at *platterState
}

func (f *platterFS) OpenFile(path string, flag int, perm fs.FileMode) (*disk.File, error) {
	file, err := f.FS.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	state := &platterState{lowest: 1 << 62}
	if state.info, err = os.Stat(path); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(f.known, func(s *platterState) bool { return os.SameFile(s.info, state.info) })
	switch {
	case i < 0:
		f.known = append(f.known, state)
	case flag&os.O_TRUNC != 0:
		f.known[i] = state
	default:
		state = f.known[i]
	}
	virtual := disk.NewVirtual(&platterFile{file, state}, path)
	f.open[virtual] = state
	return virtual, nil
}

func (f *platterFile) WriteAt(b []byte, off int64) (int, error) {
	f.at.lowest = min(f.at.lowest, off)
	return f.File.WriteAt(b, off)
}

func (f *platterFile) Sync() error {
	size, err := f.Size()
	if err == nil {
		err = f.File.Sync()
	}
	f.at.synced, f.at.lowest = size, 1<<62
	return err
}

// upTo is how far a power cut leaves the file.
func (s *platterState) upTo() int64 { return min(s.synced, s.lowest) }

// wantSynced looks that everything below the point that a log calls durable was synced.
func (w *world) wantSynced(l *Log, f *platterFS) {
	w.t.Helper()
	for _, s := range l.segments {
		if got := f.open[s.file].upTo(); s.next <= l.RecoveryPoint() && got < s.size {
			w.t.Errorf("%s has %d bytes, of which %d are synced, and the log is called durable up to %d", s.file.Path(), s.size, got, l.RecoveryPoint())
		}
	}
}

// Nothing is called durable that was not synced, whoever syncs it: a flush, a durable append, the settling of a closed segment, a recovery, a move.
func TestDurableIsSynced(t *testing.T) {
	for what, o := range map[string]Options{
		"flush":     {SegmentBytes: 100_000},
		"roll":      {SegmentBytes: 600, SettleDelayMs: -1},
		"append":    {SegmentBytes: 100_000, FlushMessages: 1},
		"every few": {SegmentBytes: 600, FlushMessages: 5},
	} {
		t.Run(what, func(t *testing.T) {
			w := newTwoDirs(t, o)
			w.stop()
			f := &platterFS{FS: disk.OS(), open: map[*disk.File]*platterState{}}
			w.fs, w.disk = f, syncingDisk{w.fake}
			w.start()
			l := w.log("t")
			w.fill(l, 0, 10)
			w.wantSynced(l, f)
			if what == "flush" && l.RecoveryPoint() != 0 {
				t.Fatalf("nobody asked for a sync, and the log is durable up to %d", l.RecoveryPoint())
			}
			if o.FlushMessages == 1 && l.RecoveryPoint() != l.End() {
				t.Fatalf("durable up to %d of %d after appends that sync", l.RecoveryPoint(), l.End())
			}
			l.Flush()
			w.turn(l)
			if l.RecoveryPoint() != l.End() {
				t.Fatalf("durable up to %d of %d after a flush", l.RecoveryPoint(), l.End())
			}
			w.wantSynced(l, f)
			want := w.fill(l, 10, 10)
			w.plan(l, w.dirs[1])
			w.turn(l)
			if l.Dir() != w.dirs[1] || l.RecoveryPoint() != l.End() {
				t.Fatalf("the log is in %s, durable up to %d of %d", l.Dir(), l.RecoveryPoint(), l.End())
			}
			w.wantSynced(l, f)
			want = append(want, w.fill(l, 20, 3)...)
			w.crash()
			w.start()
			l = w.log("t")
			if l.RecoveryPoint() != l.End() {
				t.Fatalf("durable up to %d of %d after a start", l.RecoveryPoint(), l.End())
			}
			w.wantSynced(l, f)
			if got := w.contents(l, l.End()-int64(len(want)), l.End()); len(got) != len(want) {
				t.Fatalf("%d records, want %d", len(got), len(want))
			}
			w.fill(l, 23, 3)
			w.stop()
			w.wantSynced(l, f)
		})
	}
}

// syncingDisk is a fakeDisk whose durable writes are.
type syncingDisk struct{ *fakeDisk }

func (d syncingDisk) Reap(dst []*disk.Op) []*disk.Op {
	n := len(dst)
	dst = d.fakeDisk.Reap(dst)
	for _, op := range dst[n:] {
		if op.Err == nil && (op.Durable || op.Kind == disk.Sync) {
			op.Err = op.File.DataSync()
		}
	}
	return dst
}
