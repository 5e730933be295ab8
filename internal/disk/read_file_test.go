package disk

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestReadFileReadsAllOfIt(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{0, 1, 511, 512, 513, 100_000} {
		want := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := OS().ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		if b, err := OS().ReadFile("/proc/self/stat"); err != nil || len(b) == 0 { // says that it is empty
			t.Errorf("a file that does not know its size: %d bytes, %v", len(b), err)
		}
	}
	var e *Error
	if _, err := OS().ReadFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &e) {
		t.Errorf("no file: %v", err)
	}
	if _, err := OS().ReadFile(dir); err == nil {
		t.Error("a directory was read")
	}
}
