package logstore

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// mortalFS ends the process, as far as a test can, before one of the calls that change names.
type mortalFS struct {
	disk.FS
	left int // calls until then; negative: never
	last string
	at   string // the call by name, when left is negative
}

var unique = regexp.MustCompile(`\.[0-9a-f]{32}`)

// killed is what the panic carries.
type killed struct{}

func (f *mortalFS) step(what string, paths ...string) {
	for _, path := range paths {
		what += " " + unique.ReplaceAllString(filepath.Base(path), "")
	}
	if f.left == 0 || f.left < 0 && what == f.at {
		f.last = what
		panic(killed{})
	}
	f.left--
}

func (f *mortalFS) OpenFile(path string, flag int, perm fs.FileMode) (*disk.File, error) {
	if flag&os.O_CREATE != 0 {
		f.step("create", path)
	}
	return f.FS.OpenFile(path, flag, perm)
}

func (f *mortalFS) MkdirAll(path string) error { f.step("mkdir", path); return f.FS.MkdirAll(path) }

func (f *mortalFS) Rename(from, to string) error {
	f.step("rename", from, to)
	return f.FS.Rename(from, to)
}

func (f *mortalFS) Remove(path string) error { f.step("remove", path); return f.FS.Remove(path) }

func (f *mortalFS) RemoveAll(path string) error {
	f.step("remove all of", path)
	return f.FS.RemoveAll(path)
}

func (f *mortalFS) WriteFileAtomic(path string, b []byte) error {
	f.step("write", path)
	return f.FS.WriteFileAtomic(path, b)
}

func (f *mortalFS) SyncDir(path string) error { f.step("sync", path); return f.FS.SyncDir(path) }

// A move is killed before every one of its steps; the next start has the whole log, in one place, and the move ends.
func TestMoveIsKilledBetweenAnyTwoSteps(t *testing.T) {
	seen := map[string]bool{}
	for kill := 0; ; kill++ {
		w := newTwoDirs(t, Options{SegmentBytes: 1000, IndexInterval: 200})
		l := w.log("t")
		want := w.fill(l, 0, 12)
		if _, err := l.DeleteRecordsTo(5); err != nil {
			t.Fatal(err)
		}
		want = want[5:]
		w.turn(l)
		mortal := &mortalFS{FS: disk.OS(), left: kill}
		w.m.opt.FS, l.fs = mortal, mortal
		died := w.untilKilled(func() {
			w.plan(l, w.dirs[1])
			w.turn(l)
			w.clk.Advance(60_000_000_000)
			w.m.Sweep()
		})
		seen[mortal.last] = true
		w.crash()
		if !testing.Short() || kill%5 == 0 || strings.HasPrefix(mortal.last, "rename") {
			w.afterKill(mortal.last, want)
		}
		if !died {
			break
		}
	}
	for _, step := range []string{"mkdir t-0-future", "create 00000000000000000000.log", "write pelton.exchange", "rename t-0-future t-0", "sync b",
		"rename t-0 t-0-delete", "sync a", "remove pelton.exchange", "write recovery-point-offset-checkpoint", "remove all of t-0-delete"} {
		if !seen[step] {
			t.Errorf("no kill before %q; there were: %q", step, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// untilKilled runs fn to its end or to the kill.
func (w *world) untilKilled(fn func()) (died bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, died = r.(killed); !died {
				panic(r)
			}
		}
	}()
	fn()
	return false
}

// afterKill starts again and again, with appends in between, and looks at what is there.
func (w *world) afterKill(step string, want []string) {
	w.t.Helper()
	for round := range 2 {
		w.start()
		l := w.log("t")
		if got := w.contents(l, l.Start(), l.End()); !slices.Equal(got, want) || l.Start() != 5 {
			w.t.Fatalf("killed before %q, start %d: from %d on %v, want %v", step, round, l.Start(), got, want)
		}
		want = append(want, w.fill(l, 12+round, 1)...)
		w.turn(l)
		w.m.Sweep()
		w.clk.Advance(60_000_000_000)
		w.m.Sweep()
		names := w.names(w.dirs[0])
		names = append(names, w.names(w.dirs[1])...)
		if len(names) != 1 || names[0] != "t-0" || len(w.m.Moves()) != 0 || len(w.off) != 0 {
			w.t.Fatalf("killed before %q, start %d: directories %v, moves %v, offline %v", step, round, names, w.m.Moves(), w.off)
		}
		if round == 0 {
			w.crash()
		}
	}
	w.stop()
}
