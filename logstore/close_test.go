package logstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files lists a partition's files with their sizes.
func (w *world) files(topic string) map[string]int64 {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.dirs[0], topic+"-0"))
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			w.t.Fatal(err)
		}
		out[e.Name()] = info.Size()
	}
	return out
}

func TestCleanStopTakesBackARollThatWasNotApplied(t *testing.T) {
	w := newWorld(t, Options{IndexInterval: 200})
	l := w.log("t")
	w.fill(l, 0, 10)
	l.beginRoll()
	job := l.TakeWork()
	job.Run() // and the stop comes before Apply
	if len(w.files("t")) < 6 {
		t.Fatalf("the roll made no files: %v", w.files("t"))
	}
	w.stop()
	for name, size := range w.files("t") {
		if strings.HasPrefix(name, fileName(40, "")) && !strings.HasSuffix(name, sufSnapshot) {
			t.Errorf("%s is left, %d bytes", name, size)
		}
		if strings.HasSuffix(name, sufIndex) && size >= 4096 {
			t.Errorf("%s has its full size, %d bytes", name, size)
		}
	}
	w.start()
	if l = w.log("t"); l.End() != 40 {
		t.Errorf("end %d", l.End())
	}
}

func TestEpochWithoutARecordCostsNothing(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	l.AssignEpoch(1, 0)
	w.fill(l, 0, 10)
	w.stop()
	w.start()
	l = w.log("t")
	path := filepath.Join(w.dirs[0], "t-0", epochFile)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	l.AssignEpoch(7, l.End())
	if job := l.TakeWork(); job != nil || l.LatestEpoch() != 7 {
		t.Fatalf("epoch %d, work %T", l.LatestEpoch(), job)
	}
	w.stop()
	w.start()
	if after, err := os.Stat(path); err != nil || !after.ModTime().Equal(before.ModTime()) || !os.SameFile(before, after) {
		t.Errorf("the epochs were written again: %v", err)
	}
	l = w.log("t")
	l.AssignEpoch(8, l.End())
	w.fill(l, 10, 1)
	w.turn(l)
	w.crash()
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), "8 40\n") {
		t.Errorf("the epoch of the new record is not saved: %q %v", b, err)
	}
	w.start()
}
