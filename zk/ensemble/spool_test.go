package ensemble

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// stuckFS opens no file until it is let go.
type stuckFS struct {
	disk.FS
	free chan struct{}
}

func (s *stuckFS) OpenFile(path string, flag int, perm fs.FileMode) (*disk.File, error) {
	<-s.free
	return s.FS.OpenFile(path, flag, perm)
}

// TestSpoolBoundsWhatItKeepsInMemory sends more than the window that was agreed on, to a disk that does not write.
func TestSpoolBoundsWhatItKeepsInMemory(t *testing.T) {
	dir := t.TempDir()
	stuck := &stuckFS{FS: disk.OS(), free: make(chan struct{})}
	s := newSpool(stuck, dir, slog.New(slog.DiscardHandler))
	for n := int64(1); n <= 2*piecesAhead; n++ {
		s.put(Piece{Stream: 1, N: n, Body: make([]byte, 10)})
	}
	if s.now == nil {
		t.Fatal("the stream is given up although it kept to the window")
	}
	s.put(Piece{Stream: 1, N: 2*piecesAhead + 1, Body: make([]byte, 10)})
	if s.now != nil {
		t.Fatal("a stream beyond its window goes on")
	}
	close(stuck.free)
	s.close()
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestSpoolRefusesAStateWithoutAFile: raft must never go on from a state that is not on disk.
func TestSpoolRefusesAStateWithoutAFile(t *testing.T) {
	s := newSpool(disk.OS(), t.TempDir(), slog.New(slog.DiscardHandler))
	defer s.close()
	if err := s.publish(3); err != ErrNoState {
		t.Fatalf("published: %v", err)
	}
	if _, err := os.Stat(s.dir + "/snapshot.3"); err == nil {
		t.Error("there is a file")
	}
}
