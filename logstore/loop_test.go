package logstore

import (
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// watchedFS tells which calls that may wait for the disk are made while the loop runs.
type watchedFS struct {
	disk.FS
	onLoop bool
	onThe  map[string]int // calls made on the loop
	beside map[string]int // calls made off it
}

func (w *watchedFS) called(what string) {
	if w.onLoop {
		w.onThe[what]++
	} else {
		w.beside[what]++
	}
}

// OpenFile implements disk.FS.
func (w *watchedFS) OpenFile(path string, flag int, perm fs.FileMode) (*disk.File, error) {
	if flag&os.O_CREATE != 0 {
		w.called("create")
	}
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return disk.NewVirtual(&watchedFile{f, w}, path), nil
}

// SyncDir implements disk.FS.
func (w *watchedFS) SyncDir(path string) error {
	w.called("fsync of a directory")
	return w.FS.SyncDir(path)
}

// Rename implements disk.FS.
func (w *watchedFS) Rename(from, to string) error { w.called("rename"); return w.FS.Rename(from, to) }

// Remove implements disk.FS.
func (w *watchedFS) Remove(path string) error { w.called("unlink"); return w.FS.Remove(path) }

// WriteFileAtomic implements disk.FS.
func (w *watchedFS) WriteFileAtomic(path string, b []byte) error {
	w.called("checkpoint")
	return w.FS.WriteFileAtomic(path, b)
}

// watchedFile is a file of it.
type watchedFile struct {
	*os.File
	w *watchedFS
}

// Size implements disk.Content.
func (f *watchedFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Sync implements disk.Content.
func (f *watchedFile) Sync() error { f.w.called("fsync"); return f.File.Sync() }

// Truncate implements disk.Content.
func (f *watchedFile) Truncate(n int64) error { f.w.called("truncate"); return f.File.Truncate(n) }

// A shard's turn appends, rolls, deletes and answers; what waits for the disk is handed to others.
func TestTurnsNeverWaitForTheDisk(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 2000, IndexInterval: 300, Delete: true, RetentionBytes: 6000, FileDeleteMs: 1, Preallocate: true, FlushMessages: 7})
	watched := &watchedFS{FS: disk.OS(), onThe: map[string]int{}, beside: map[string]int{}}
	w.stop()
	w.fs = watched
	w.start()
	l := w.log("t")
	watched.onLoop = true
	w.beside = func(run func()) { watched.onLoop = false; run(); watched.onLoop = true }
	for i := range 60 {
		w.clk.Advance(1e9)
		w.produce(l, values(batch.None, int64(1000*i), fmt.Sprint("v", i), 4))
		if i%10 == 9 {
			l.Retain(w.clk.WallMs())
			w.turn(l)
		}
	}
	if start, err := l.DeleteRecordsTo(l.End() - 5); err != nil || start != l.End()-5 {
		t.Fatal(start, err)
	}
	w.turn(l)
	w.contents(l, l.Start(), l.End())
	watched.onLoop = false
	if len(watched.onThe) != 0 {
		t.Errorf("on the loop: %v", watched.onThe)
	}
	for _, call := range []string{"create", "fsync", "fsync of a directory", "rename", "unlink"} {
		if watched.beside[call] == 0 {
			t.Errorf("no %s was made at all: %v", call, watched.beside)
		}
	}
	w.stop()
}
