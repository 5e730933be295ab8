package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Every row of the slow path has a layout to be checked by: without one, anything would be taken.
func TestRowsHaveShapes(t *testing.T) {
	table := newLookup(Rows())
	for i := range table.rows {
		row := &table.rows[i]
		if row.Handle == nil {
			continue
		}
		if _, ok := table.shapes[row.Key]; !ok {
			t.Errorf("%s has no shape", row.Name())
		}
	}
}

// unguarded are the keys that anybody may ask, before and without any right: what a client needs to begin at all.
func unguarded(key int16) bool { return key == int16(kmsg.ApiVersions) }

// No handler runs without its row, and no row lacks what is asked before it runs: the versions, the memory, the right.
func TestRowsAreComplete(t *testing.T) {
	seen := map[int16]bool{}
	for _, row := range Rows() {
		if seen[row.Key] {
			t.Errorf("%s has two rows", row.Name())
		}
		seen[row.Key] = true
		req := kmsg.RequestForKey(row.Key)
		if req == nil {
			t.Errorf("key %d is no request of Kafka's", row.Key)
			continue
		}
		if row.Min < 0 || row.Min > row.Max || row.Max > req.MaxVersion() {
			t.Errorf("%s: versions %d to %d, kmsg knows 0 to %d", row.Name(), row.Min, row.Max, req.MaxVersion())
		}
		if row.Advertised > row.Min {
			t.Errorf("%s: version %d is served and not advertised", row.Name(), row.Min)
		}
		if row.Expand < 1 {
			t.Errorf("%s: no estimate of its memory", row.Name())
		}
		if hot := row.Key == keyProduce || row.Key == keyFetch; (row.Handle == nil) != hot {
			t.Errorf("%s: a handler is missing, or stands where the hot path goes by it", row.Name())
		}
		if guarded := row.Operation != OpNone && row.Resource != ResNone; guarded == unguarded(row.Key) {
			t.Errorf("%s: operation %d on resource %d", row.Name(), row.Operation, row.Resource)
		}
	}
	for _, key := range []int16{keyProduce, keyFetch} {
		if !seen[key] {
			t.Errorf("key %d has no row", key)
		}
	}
}

// A key that is served is found by its number, and nothing else is.
func TestLookupFindsWhatTheTableHas(t *testing.T) {
	table := newLookup(Rows())
	for key := int16(-2); key < 300; key++ {
		row, want := table.row(key), false
		for i := range table.rows {
			want = want || table.rows[i].Key == key
		}
		if (row != nil) != want || row != nil && row.Key != key {
			t.Errorf("key %d: row %v", key, row)
		}
	}
}
