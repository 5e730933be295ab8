package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestOSWriteFileAtomic(t *testing.T) {
	o := OS()
	path := filepath.Join(t.TempDir(), "checkpoint")
	for _, text := range []string{"first, the longer one", "second"} {
		if err := o.WriteFileAtomic(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := o.ReadFile(path); err != nil || string(b) != text {
			t.Fatalf("%q, %v", b, err)
		}
	}
	if entries, err := o.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Fatalf("%d entries are left, %v", len(entries), err)
	}
	err := o.WriteFileAtomic(filepath.Join(path, "below-a-file"), nil)
	var as *Error
	if !errors.As(err, &as) {
		t.Fatalf("impossible path: %v", err)
	}
	if b, err := o.ReadFile(path); err != nil || string(b) != "second" {
		t.Fatalf("a failed write changed the file: %q, %v", b, err)
	}
}

func TestOSLockExcludes(t *testing.T) {
	o := OS()
	path := filepath.Join(t.TempDir(), ".lock")
	held, err := o.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Lock(path); !errors.Is(err, ErrLocked) {
		t.Fatalf("second lock: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := o.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOSErrorsNameCallAndPath(t *testing.T) {
	o := OS()
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		call string
		err  error
	}{
		{"open", second(o.OpenFile(missing, os.O_RDONLY, 0))},
		{"open", second(o.ReadFile(missing))}, // it is the open that fails
		{"stat", second(o.Stat(missing))},
		{"readdir", second(o.ReadDir(missing))},
		{"remove", o.Remove(missing)},
		{"rename", o.Rename(missing, missing+"2")},
	} {
		var as *Error
		if !errors.As(c.err, &as) || as.Op != c.call || as.Path != missing || !errors.Is(c.err, fs.ErrNotExist) {
			t.Errorf("%s: %v", c.call, c.err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestOSDirectories(t *testing.T) {
	o := OS()
	root := t.TempDir()
	if err := o.MkdirAll(filepath.Join(root, "a", "b")); err != nil {
		t.Fatal(err)
	}
	if err := o.Mkdir(filepath.Join(root, "a")); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("mkdir of what is there: %v", err)
	}
	if err := o.Rename(filepath.Join(root, "a"), filepath.Join(root, "c")); err != nil {
		t.Fatal(err)
	}
	if err := o.SyncDir(root); err != nil {
		t.Fatal(err)
	}
	if info, err := o.Stat(filepath.Join(root, "c", "b")); err != nil || !info.IsDir() {
		t.Fatalf("%v %v", info, err)
	}
	if err := o.RemoveAll(filepath.Join(root, "c")); err != nil {
		t.Fatal(err)
	}
	if free, total, err := o.Free(root); err != nil || free <= 0 || total < free {
		t.Fatalf("free %d of %d, %v", free, total, err)
	}
}

func TestFileFallocateKeepsTheLength(t *testing.T) {
	f, err := OS().OpenFile(filepath.Join(t.TempDir(), "f"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Fallocate(1 << 20); err != nil {
		t.Fatal(err)
	}
	if n, err := f.WriteAt([]byte("abc"), 5); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := f.Size(); n != 8 || err != nil {
		t.Fatalf("size %d, %v", n, err)
	}
	if err := errors.Join(f.Truncate(6), f.DataSync(), f.Sync(), f.DropCache(0, 6), f.AdviseRandom()); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if n, err := f.ReadAt(b, 4); n != 2 || err == nil || b[1] != 'a' {
		t.Fatalf("read %d %q, %v", n, b[:n], err)
	}
}
