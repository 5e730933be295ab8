package logstore

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// The file of epochs is older than records that are safe, and a segment before those must be scanned: nobody's epoch begins later for it.
func TestEpochsOfSegmentsBetweenScannedOnes(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 1500, IndexInterval: 200})
	l := w.log("t")
	began := map[int32]int64{}
	for _, epoch := range []int32{3, 5, 8} {
		began[epoch] = l.End()
		for i := range 30 {
			a := w.push(l, values(batch.None, int64(1000*i), fmt.Sprint("v", i), 4))
			a.LeaderEpoch = epoch
			w.turn(l)
			w.done(l, a)
		}
	}
	dir := filepath.Join(w.dirs[0], "t-0")
	file := filepath.Join(dir, epochFile)
	w.checkpoint(l)
	var before []int64 // the segments of the first epoch
	for _, seg := range l.segments {
		if seg.next <= began[5] && seg != l.active() {
			before = append(before, seg.base)
		}
	}
	if len(before) < 2 || len(l.segments) < 6 {
		t.Fatalf("%d segments, %d of the first epoch", len(l.segments), len(before))
	}
	w.crash()
	for _, base := range []int64{0, before[1]} {
		if err := os.WriteFile(file, []byte("0\n1\n3 0\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, fileName(base, sufIndex))); err != nil {
			t.Fatal(err)
		}
		w.start()
		l = w.log("t")
		for epoch, at := range began {
			if got := l.EpochFor(at); got != epoch {
				t.Errorf("without the index of %d: offset %d is of epoch %d, the log says %d", base, at, epoch, got)
			}
			if got := l.EpochFor(at + 119); got != epoch {
				t.Errorf("without the index of %d: offset %d is of epoch %d, the log says %d", base, at+119, epoch, got)
			}
		}
		w.crash()
	}
}
