package logstore

import (
	"testing"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// A lookup with a Peek finds what one without finds, and decompresses nothing itself.
func TestLookupLeavesDecompressionToOthers(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	for i, times := range [][]int64{{2, 4}, {9, 5}, {3, 1}, {7, 12}} {
		bd := batch.NewBuilder([]batch.Codec{batch.Gzip, batch.LZ4, batch.None, batch.Zstd}[i])
		for _, ts := range times {
			bd.Add(ts, nil, []byte("v"))
		}
		w.produce(l, bd.Bytes())
	}
	var others batch.Iterator
	by := func(lookup func(p *Peek) (int64, int64, int32, Need, error)) (offset, at int64, looked int) {
		var p Peek
		for {
			o, ts, _, need, err := lookup(&p)
			if err != nil {
				t.Fatal(err)
			}
			if !p.Waiting() {
				if need.File != nil {
					t.Fatal("the cache has everything")
				}
				return o, ts, looked
			}
			if need.File == nil || need.Len != 0 {
				t.Fatalf("waiting, and the need is %+v", need)
			}
			looked++
			p.Search(&others)
		}
	}
	for ts := range int64(14) {
		wantOffset, wantTime, _, _, err := l.LookupTime(ts)
		if err != nil {
			t.Fatal(err)
		}
		offset, at, looked := by(func(p *Peek) (int64, int64, int32, Need, error) { return l.LookupTimeBy(p, ts) })
		if offset != wantOffset || at != wantTime {
			t.Errorf("time %d: %d at %d, want %d at %d", ts, offset, at, wantOffset, wantTime)
		}
		if ts < 13 && looked != 1 {
			t.Errorf("time %d: %d batches were looked at by others", ts, looked)
		}
	}
	offset, at, looked := by(func(p *Peek) (int64, int64, int32, Need, error) { return l.MaxTimestampBy(p) })
	if offset != 7 || at != 12 || looked != 1 {
		t.Errorf("the largest: %d at %d after %d looks", offset, at, looked)
	}
}
