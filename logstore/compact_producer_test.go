package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// case C-16: the last batch of a producer stays when its records are gone, so that a start without any snapshot still knows what comes next.
func TestCompactionKeepsTheLastBatchOfAProducer(t *testing.T) {
	w, l := compacting(t)
	bd := batch.NewBuilder(batch.None)
	bd.ProducerID, bd.ProducerEpoch, bd.BaseSequence = 2, 0, 0
	bd.Add(w.clk.WallMs(), []byte("k"), []byte("superseded"))
	w.produce(l, bd.Bytes())
	for range 40 {
		w.put(l, "k", strings.Repeat("v", 100))
	}
	for range 3 {
		w.clk.Advance(1e10)
		w.compact(l)
	}
	for _, k := range w.keyed(l) {
		if k.value == "superseded" {
			t.Fatal("the record was not cleaned")
		}
	}
	path := l.Path()
	w.crash()
	snapshots, err := filepath.Glob(filepath.Join(path, "*"+sufSnapshot))
	if err != nil || len(snapshots) == 0 {
		t.Fatalf("%d snapshots: %v", len(snapshots), err)
	}
	for _, name := range snapshots {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	l = w.log("t")
	a := w.push(l, idempotent(2, 0, 5, 1))
	w.turn(l)
	if w.done(l, a); !errors.Is(a.Err, ErrOutOfOrderSequence) {
		t.Fatalf("a gap behind the producer's last batch: %v", a.Err)
	}
	w.produce(l, idempotent(2, 0, 1, 1))
	w.stop()
}
