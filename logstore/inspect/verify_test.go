package inspect

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
)

// check verifies a partition and lists what is not a note.
func check(t *testing.T, dir string) []Finding {
	t.Helper()
	r, err := Verify(disk.OS(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []Finding
	for _, f := range r.Findings {
		if f.Grade != Note {
			out = append(out, f)
		}
	}
	return out
}

func TestVerifyFindsNothingInWhatKafkaWrote(t *testing.T) {
	for _, version := range goldenVersions() {
		for _, state := range []string{"clean", "crashed"} {
			t.Run(version+"/"+state, func(t *testing.T) {
				goldenDir(t, version, state)
				dirs, err := filepath.Glob("data/*-[0-9]")
				if err != nil || len(dirs) < 5 {
					t.Fatal(dirs, err)
				}
				for _, dir := range dirs {
					for _, f := range check(t, dir) {
						if state == "clean" || f.Grade == Damage {
							t.Errorf("%+v", f)
						}
					}
				}
			})
		}
	}
}

// patch changes bytes of a file.
func patch(t *testing.T, path string, change func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(b), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyNamesWhatIsWrong(t *testing.T) {
	const dir = "data/plain-none-0"
	log := filepath.Join(dir, "00000000000000000000.log")
	index := filepath.Join(dir, "00000000000000000000.index")
	snapshot := filepath.Join(dir, "00000000000000000060.snapshot")
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 1; return b }
	}
	cases := []struct {
		name  string
		spoil func(t *testing.T)
		grade Grade
		path  string
		what  string
	}{
		{"a flipped bit", func(t *testing.T) { patch(t, log, flip(1200)) }, Damage, log, "checksum is wrong, below the recovery point 60"},
		{"a torn tail", func(t *testing.T) {
			patch(t, log, func(b []byte) []byte { return append(b, b[:100]...) })
		}, Stale, log, "torn tail of 100 bytes"},
		{"a lost tail", func(t *testing.T) {
			patch(t, log, func(b []byte) []byte { return b[:len(b)-10] })
		}, Damage, log, "below the recovery point"},
		{"offsets that go backwards", func(t *testing.T) {
			patch(t, log, func(b []byte) []byte { return append(b, b[:12+binary.BigEndian.Uint32(b[8:])]...) })
		}, Damage, log, "go backwards"},
		{"an index that points nowhere", func(t *testing.T) { patch(t, index, flip(7)) }, Damage, index, "no batch begins at position"},
		{"an index with a wrong offset", func(t *testing.T) { patch(t, index, flip(2)) }, Damage, index, "holds offsets"},
		{"an index cut in the middle", func(t *testing.T) {
			patch(t, index, func(b []byte) []byte { return b[:len(b)-3] })
		}, Stale, index, "no entry"},
		{"no index", func(t *testing.T) {
			if err := os.Remove(index); err != nil {
				t.Fatal(err)
			}
		}, Stale, index, "missing"},
		{"a time index with a wrong time", func(t *testing.T) {
			patch(t, strings.TrimSuffix(index, ".index")+".timeindex", flip(6))
		}, Stale, strings.TrimSuffix(index, ".index") + ".timeindex", "timestamps reach"},
		{"a damaged snapshot", func(t *testing.T) { patch(t, snapshot, flip(20)) }, Stale, snapshot, "damaged"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			goldenDir(t, "3.9.1", "clean")
			c.spoil(t)
			for _, f := range check(t, dir) {
				if f.Grade == c.grade && f.Path == c.path && strings.Contains(f.What, c.what) {
					return
				}
			}
			t.Errorf("not found: %s %s %q in %+v", c.grade, c.path, c.what, check(t, dir))
		})
	}
}
