package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Files that stay open leave descriptors to the calls that give theirs back: an atomic write, the sync of a directory.
func TestLastDescriptorsAreForCalls(t *testing.T) {
	dir := t.TempDir()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	now := was
	now.Cur = 200
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	var kept []*File
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
		for _, f := range kept {
			_ = f.Close()
		}
	}()
	path := filepath.Join(dir, "f")
	var err error
	for err == nil && len(kept) < 300 {
		var f *File
		if f, err = OS().OpenFile(path, os.O_CREATE|os.O_RDWR, filePerm); err == nil {
			kept = append(kept, f)
		}
	}
	var e *Error
	if !errors.Is(err, syscall.EMFILE) || !errors.As(err, &e) || e.Path != path || len(kept) > 175 || len(kept) < 100 {
		t.Fatalf("%d files, then %v", len(kept), err)
	}
	if err := OS().WriteFileAtomic(filepath.Join(dir, "g"), []byte("x")); err != nil {
		t.Error(err)
	}
	if b, err := OS().ReadFile(filepath.Join(dir, "g")); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	if err := OS().SyncDir(dir); err != nil {
		t.Error(err)
	}
}
