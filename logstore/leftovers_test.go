package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// swapping is a compacted log whose cleaning has made its .cleaned files, and was stopped there; groups are what they take the place of.
func swapping(t *testing.T) (w *world, groups [][]int64, want map[string]keyed) {
	quickSyncs(t)
	w, l := compacting(t)
	for i := range 90 {
		bd := batch.NewBuilder(batch.None)
		bd.Add(w.clk.WallMs(), fmt.Appendf(nil, "k%d", i%40), fmt.Appendf(nil, "%0100d", i))
		w.produce(l, bd.Bytes())
	}
	w.checkpoint(l)
	want = table(w.keyed(l))
	l.SetHighWatermark(l.End())
	o := l.Options()
	o.SegmentBytes = 6000 // so that several become one
	l.SetOptions(o)
	l.maybeCompact(w.clk.WallMs())
	job := l.work.clean
	if job == nil {
		t.Fatal("nothing to clean")
	}
	if job.Run(); job.err != nil {
		t.Fatal(job.err)
	}
	for _, g := range job.c.made {
		var olds []int64
		for _, old := range g.olds {
			olds = append(olds, old.base)
		}
		groups = append(groups, olds)
	}
	job.drop()
	w.crash()
	return w, groups, want
}

// Kafka renames in this order: a crash between any two steps is completed or taken back, and no record is lost or there twice.
func TestKafkasSwapIsFinishedAfterEveryStep(t *testing.T) {
	w, groups, want := swapping(t)
	if len(groups) < 2 || len(groups[0]) < 2 {
		t.Fatal(groups)
	}
	saved := filepath.Join(t.TempDir(), "saved")
	copyTree(t, w.dirs[0], saved)
	type step struct{ from, to string }
	var steps []step
	suffixes := []string{sufLog, sufIndex, sufTime, sufTxn}
	for _, g := range groups {
		for _, s := range suffixes {
			steps = append(steps, step{fileName(g[0], s) + sufCleaned, fileName(g[0], s) + sufSwap})
		}
		for _, base := range g {
			for _, s := range suffixes {
				steps = append(steps, step{fileName(base, s), fileName(base, s) + sufDeleted})
			}
		}
		for _, s := range suffixes {
			steps = append(steps, step{fileName(g[0], s) + sufSwap, fileName(g[0], s)})
		}
	}
	for n := range len(steps) + 1 {
		copyTree(t, saved, w.dirs[0])
		dir := filepath.Join(w.dirs[0], "t-0")
		for _, s := range steps[:n] {
			if err := os.Rename(filepath.Join(dir, s.from), filepath.Join(dir, s.to)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		w.start()
		l := w.log("t")
		if got := table(w.keyed(l)); !maps.Equal(got, want) {
			t.Fatalf("after %d of %d steps: %v\nwant %v", n, len(steps), got, want)
		}
		for name := range w.files("t") {
			if strings.HasSuffix(name, sufCleaned) || strings.HasSuffix(name, sufSwap) || strings.HasSuffix(name, sufDeleted) {
				t.Errorf("after %d steps %s is left", n, name)
			}
		}
		w.stop()
	}
}

// Of one segment Kafka may make several: as long as an earlier one is .cleaned, the .swap of a later one is not whole.
func TestSwapOfAnUnfinishedSplitIsDropped(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	want := w.fill(l, 0, 10)
	w.checkpoint(l)
	w.crash()
	dir := filepath.Join(w.dirs[0], "t-0")
	whole, err := os.ReadFile(filepath.Join(dir, fileName(0, sufLog)))
	if err != nil {
		t.Fatal(err)
	}
	half := len(whole) / 2 // ten batches of one size
	for name, b := range map[string][]byte{fileName(0, sufLog) + sufCleaned: whole[:half], fileName(20, sufLog) + sufSwap: whole[half:]} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	if got := w.contents(w.log("t"), 0, 100); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v", got)
	}
	if left := w.files("t"); left[fileName(20, sufLog)] != 0 {
		t.Errorf("%v", left)
	}
	w.stop()
}

// What is not Pelton's stays: unknown files and directories, those that Kafka put aside. What a deletion has left goes.
func TestUnknownFilesAreLeftAlone(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 1000})
	want := w.fill(w.log("t"), 0, 20)
	w.stop()
	stay := []string{"notes.txt", "t-0/notes.txt", "t-0/00000000000000000000.log.damaged", "t-0/abc.log", "t-0/0.log", "t-0/-0000000000000000001.log",
		"lost+found/x", "other-0.0123456789abcdef0123456789abcdef-stray/00000000000000000000.log", "__cluster_metadata-0/00000000000000000000.log",
		"topic-x/00000000000000000000.log", "topic-01/00000000000000000000.log", "bootstrap.checkpoint"}
	leave := []string{"gone-0.0123456789abcdef0123456789abcdef-delete/00000000000000000000.log", "t-0/00000000000000000000.log.deleted",
		"t-0/00000000000000000007.index", "t-0/00000000000000000000.timeindex.cleaned", "t-0/00000000000000000000.index.swap"}
	for _, name := range append(stay, leave...) {
		path := filepath.Join(w.dirs[0], name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		w.start()
		if got := w.contents(w.log("t"), 0, 100); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v", got)
		}
		for _, name := range stay {
			if b, err := os.ReadFile(filepath.Join(w.dirs[0], name)); err != nil || string(b) != "mine" {
				t.Errorf("%s: %q %v", name, b, err)
			}
		}
		for _, name := range leave {
			if _, err := os.Stat(filepath.Join(w.dirs[0], name)); err == nil {
				t.Errorf("%s is still there", name)
			}
		}
		w.stop()
	}
}
