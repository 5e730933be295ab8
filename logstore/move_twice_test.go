package logstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Two directories of one partition are what a crash leaves between the two renames of a move. The moved one counts, unless the other went on
// behind the end that the mark tells: then its name was taken back.
func TestMoveLeftTwoDirectories(t *testing.T) {
	w := newTwoDirs(t, Options{})
	l := w.log("t")
	const name = "t-0"
	at := filepath.Join(w.dirs[0], name)
	if l.Dir() != w.dirs[0] {
		at = filepath.Join(w.dirs[1], name)
	}
	w.fill(l, 0, 5)
	end, short := l.End(), t.TempDir()
	copyDir(t, at, short)
	w.fill(l, 5, 3)
	long := t.TempDir()
	copyDir(t, at, long)
	want := w.contents(l, 0, l.End())
	w.crash()
	for what, c := range map[string]struct {
		first, second string // what is in the two directories; the second one has the mark
		mark          bool
		counts        int
	}{
		"the moved one went on":      {short, long, true, 1},
		"the name was taken back":    {long, short, true, 0},
		"nobody says which":          {long, short, false, -1},
		"the moved one is as it was": {long, long, true, 1},
	} {
		for i, from := range []string{c.first, c.second} {
			if err := os.RemoveAll(filepath.Join(w.dirs[i], name)); err != nil {
				t.Fatal(err)
			}
			copyDir(t, from, filepath.Join(w.dirs[i], name))
		}
		if c.mark {
			marked := end
			if c.first == c.second {
				marked = end + 12
			}
			if err := os.WriteFile(filepath.Join(w.dirs[1], name, exchangeFile), fmt.Appendf(nil, "%d\n", marked), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if c.counts < 0 {
			if _, err := OpenManager(ManagerOptions{Dirs: w.dirs, FS: w.fs, Clock: w.clk, ClusterID: "c"}); !errors.Is(err, ErrMeta) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		w.start()
		l := w.log("t")
		if got := w.contents(l, 0, l.End()); l.Dir() != w.dirs[c.counts] || !slices.Equal(got, want) {
			t.Errorf("%s: %s counts, with %d records of %d", what, l.Dir(), len(got), len(want))
		}
		w.crash()
	}
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
