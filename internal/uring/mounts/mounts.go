package mounts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Dir is a directory on a file system of the given name.
type Dir struct {
	Name string
	// Open makes the directory, or skips the test.
	Open func(t testing.TB) string
}

// All lists the file systems that a storage test runs on.
func All() []Dir {
	return []Dir{
		{"tempdir", func(t testing.TB) string { return t.TempDir() }},
		{"tmpfs", shm},
		{"xfs", XFS},
	}
}

func shm(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "pelton-test-")
	if err != nil {
		t.Skipf("no tmpfs at /dev/shm: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// xfsBytes is the least that mkfs.xfs accepts; the image is sparse.
const xfsBytes = 320 << 20

// XFS loop-mounts a fresh xfs.
func XFS(t testing.TB) string {
	needRoot(t)
	if _, err := exec.LookPath("mkfs.xfs"); err != nil {
		t.Skip("mkfs.xfs is missing (package xfsprogs)")
	}
	image := filepath.Join(t.TempDir(), "xfs.img")
	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(xfsBytes); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.xfs", "-q", image).CombinedOutput(); err != nil {
		t.Skipf("mkfs.xfs: %v: %s", err, out)
	}
	return mount(t, "-o", "loop", image)
}

// SmallTmpfs mounts a tmpfs of the given size, to run out of space on.
func SmallTmpfs(t testing.TB, bytes int) string {
	needRoot(t)
	return mount(t, "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", bytes), "tmpfs")
}

func needRoot(t testing.TB) {
	if runtime.GOOS != "linux" {
		t.Skip("mounting needs Linux")
	}
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
}

func mount(t testing.TB, args ...string) string {
	dir := t.TempDir()
	if out, err := exec.Command("mount", append(args, dir)...).CombinedOutput(); err != nil {
		t.Skipf("mount %s: %v: %s", strings.Join(args, " "), err, out)
	}
	t.Cleanup(func() {
		// Lazily: a ring that was closed a moment ago lets go of its files behind our back.
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", dir, err, out)
		}
	})
	return dir
}
