package inspect

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// everyRecord lists the offsets and timestamps of a partition's records by reading all of it.
func everyRecord(t *testing.T, dir string) (offsets, times []int64) {
	t.Helper()
	for _, f := range filesUnder(t, strings.TrimPrefix(dir, "data/")+"/", ".log") {
		_, err := WalkFile(disk.OS(), f, func(b *Batch) bool {
			var v verifier
			if err := Records(&v.it, b, func(r *Record) bool {
				offsets, times = append(offsets, r.Offset), append(times, r.Timestamp)
				return true
			}); err != nil {
				t.Fatal(err)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return offsets, times
}

func TestLookupFindsWhatReadingAllFinds(t *testing.T) {
	for _, version := range goldenVersions() {
		t.Run(version, func(t *testing.T) {
			goldenDir(t, version, "crashed")
			for _, topic := range []string{"rolled-0", "compacted-gzip-0"} {
				lookUpAll(t, filepath.Join("data", topic))
			}
		})
	}
}

func lookUpAll(t *testing.T, dir string) {
	t.Helper()
	offsets, times := everyRecord(t, dir)
	if len(offsets) < 10 {
		t.Fatalf("%s: %d records", dir, len(offsets))
	}
	names, err := bases(disk.OS(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for want, at := names[0], 0; at < len(offsets); want++ {
		got, err := FindOffset(disk.OS(), dir, want)
		if err != nil || got.Offset != offsets[at] || got.Time != times[at] {
			t.Fatalf("%s, offset %d: found %d (%v), want %d\n%v", dir, want, got.Offset, err, offsets[at], got.Steps)
		}
		if want == offsets[at] {
			at++
		}
	}
	if _, err := FindOffset(disk.OS(), dir, offsets[len(offsets)-1]+1); !errors.Is(err, ErrNotThere) {
		t.Errorf("%s: behind the end: %v", dir, err)
	}
	if times[0] < 0 { // format 0 has no timestamps
		return
	}
	for i, ts := range times {
		for _, want := range []int64{ts, ts - 1} {
			first := 0
			for times[first] < want {
				first++
			}
			got, err := FindTime(disk.OS(), dir, want)
			if err != nil || got.Offset != offsets[first] {
				t.Fatalf("%s, timestamp %d of record %d: found %d (%v), want %d\n%v", dir, want, i, got.Offset, err, offsets[first], got.Steps)
			}
		}
	}
}

func TestLookupExplainsNamesThenIndexThenScan(t *testing.T) {
	goldenDir(t, "3.9.1", "clean")
	l, err := FindOffset(disk.OS(), "data/rolled-0", 99)
	if err != nil {
		t.Fatal(err)
	}
	var stages []string
	for _, s := range l.Steps {
		if len(stages) == 0 || stages[len(stages)-1] != s.Stage {
			stages = append(stages, s.Stage)
		}
	}
	if got := strings.Join(stages, ", "); got != "names, offset index, scan, record" {
		t.Errorf("stages: %s\n%v", got, l.Steps)
	}
}
