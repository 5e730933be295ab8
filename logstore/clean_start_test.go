package logstore

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// writesFS notes what is written, made or synced below a partition's directory.
type writesFS struct {
	disk.FS
	seen []string
}

func (w *writesFS) note(what, path string) {
	if strings.Contains(path, "t-0") {
		w.seen = append(w.seen, what+" "+filepath.Base(path))
	}
}

func (w *writesFS) WriteFileAtomic(path string, b []byte) error {
	w.note("write", path)
	return w.FS.WriteFileAtomic(path, b)
}

func (w *writesFS) SyncDir(path string) error { w.note("sync", path); return w.FS.SyncDir(path) }

func (w *writesFS) Remove(path string) error { w.note("remove", path); return w.FS.Remove(path) }

func (w *writesFS) Rename(from, to string) error { w.note("rename", to); return w.FS.Rename(from, to) }

func (w *writesFS) OpenFile(path string, flag int, perm fs.FileMode) (*disk.File, error) {
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		w.note("make", path)
	}
	return w.FS.OpenFile(path, flag, perm)
}

// A start after a clean stop writes and syncs nothing for a partition: with thousands of them that is what it would wait for. The leader epoch
// of an election that no record followed must not make a difference.
func TestCleanStartWritesNothing(t *testing.T) {
	for _, filled := range []bool{false, true} {
		w := newWorld(t, Options{})
		l := w.log("t")
		if filled {
			w.fill(l, 0, 3)
		}
		for epoch := int32(4); epoch < 6; epoch++ {
			l.AssignEpoch(epoch, l.End())
		}
		w.stop()
		seen := &writesFS{FS: disk.OS()}
		w.fs = seen
		for range 2 {
			w.start()
			l = w.log("t")
			l.AssignEpoch(l.LatestEpoch()+7, l.End())
			w.turn(l)
			w.stop()
		}
		if len(seen.seen) > 0 {
			t.Errorf("filled %v: %v", filled, seen.seen)
		}
	}
}

// What a stop leaves out of the epochs' file is known again as soon as a record is of it.
func TestEpochOfTheFirstRecordAfterACleanStart(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	l.AssignEpoch(4, 0)
	w.stop()
	w.start()
	l = w.log("t")
	if got := l.LatestEpoch(); got != -1 {
		t.Fatalf("epoch %d has no record", got)
	}
	l.AssignEpoch(5, 0)
	a := w.push(l, values(batch.None, 1, "v", 2))
	a.LeaderEpoch = 5
	w.turn(l)
	w.done(l, a)
	w.stop()
	w.start()
	l = w.log("t")
	if e, end := l.EndOffsetForEpoch(5); e != 5 || end != 2 {
		t.Errorf("epoch %d ends at %d", e, end)
	}
	w.stop()
}
