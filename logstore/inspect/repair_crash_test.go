package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

var errKilled = errors.New("killed")

// mortalFS ends the process, so to say, before its step number left: nothing that follows happens.
type mortalFS struct {
	disk.FS
	left int
}

func (m *mortalFS) step() error {
	if m.left--; m.left < 0 {
		return errKilled
	}
	return nil
}

func (m *mortalFS) OpenFile(path string, flag int, perm fs.FileMode) (*disk.File, error) {
	if flag&os.O_CREATE != 0 {
		if err := m.step(); err != nil {
			return nil, err
		}
	}
	return m.FS.OpenFile(path, flag, perm)
}

func (m *mortalFS) Rename(from, to string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.FS.Rename(from, to)
}

func (m *mortalFS) Remove(path string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.FS.Remove(path)
}

func (m *mortalFS) WriteFileAtomic(path string, b []byte) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.FS.WriteFileAtomic(path, b)
}

// A repair that is killed before any of its steps leaves the damaged log or the mended one under its name, never none; done again it ends
// as if nothing had happened.
func TestRepairIsKilledBeforeEveryStep(t *testing.T) {
	const dir, log = "data/plain-none-0", "data/plain-none-0/00000000000000000000.log"
	for _, c := range []struct {
		choice Choice
		want   int
	}{{Truncate, 10}, {Skip, 50}} {
		steps := 0
		for whole := false; !whole; steps++ {
			t.Run(fmt.Sprint(c.choice, " ", steps), func(t *testing.T) {
				goldenDir(t, "3.9.1", "crashed")
				patch(t, log, func(b []byte) []byte { b[1200] ^= 1; return b })
				damaged, err := os.ReadFile(log)
				if err != nil {
					t.Fatal(err)
				}
				r := &Repair{FS: &mortalFS{disk.OS(), steps}, Dir: dir, Say: func(string, ...any) {}}
				err = r.Run(c.choice)
				if whole = err == nil; !whole && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				if info, err := os.Stat(log); err != nil || info.Size() == 0 {
					t.Fatal("the log is not there:", err)
				}
				r.FS = disk.OS()
				if err := r.Run(c.choice); err != nil && !errors.Is(err, ErrSound) {
					t.Fatal(err)
				}
				if offsets, _ := offsetsIn(t, "plain-none"); len(offsets) != c.want {
					t.Errorf("%d records, want %d", len(offsets), c.want)
				}
				if kept, err := os.ReadFile(log + ".damaged"); err != nil || string(kept) != string(damaged) {
					t.Error("the damaged log was not kept:", err)
				}
				if left, err := filepath.Glob(dir + "/*.mended*"); err != nil || len(left) > 0 {
					t.Errorf("%v is left", left)
				}
			})
		}
		if steps < 5 {
			t.Errorf("%s takes only %d steps", c.choice, steps)
		}
	}
}
