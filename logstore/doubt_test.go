package logstore

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// An index rots while the log is open: what it says is not believed, and nothing that was written is skipped.
func TestLogReadsWhatALyingIndexWouldSkip(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 3000, IndexInterval: 200})
	l := w.log("t")
	want := w.fill(l, 0, 60)
	seg := l.segments[0]
	if len(l.segments) < 3 || seg.offsets.inMem || seg.offsets.n < 4 {
		t.Fatalf("%d segments, %d entries", len(l.segments), seg.offsets.n)
	}
	path := filepath.Join(w.dirs[0], "t-0", fileName(seg.base, sufIndex))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := int32(seg.size)
	lies := map[string]func(relative, pos int32) (int32, int32){
		"later batch":       func(r, p int32) (int32, int32) { return r, int32(binary.BigEndian.Uint32(good[len(good)-4:])) },
		"inside a batch":    func(r, p int32) (int32, int32) { return r, p + 13 },
		"at the end":        func(r, p int32) (int32, int32) { return r, size },
		"behind the end":    func(r, p int32) (int32, int32) { return r, size + 4096 },
		"negative":          func(r, p int32) (int32, int32) { return r, -p },
		"offset too small":  func(r, p int32) (int32, int32) { return r - 7, p },
		"everything at one": func(r, p int32) (int32, int32) { return 1, p },
	}
	for name, lie := range lies {
		b := slices.Clone(good)
		for i := 0; i+offsetEntry <= len(b); i += offsetEntry {
			r, p := lie(int32(binary.BigEndian.Uint32(b[i:])), int32(binary.BigEndian.Uint32(b[i+4:])))
			binary.BigEndian.PutUint32(b[i:], uint32(r))
			binary.BigEndian.PutUint32(b[i+4:], uint32(p))
		}
		overwrite(t, path, b)
		l.cursors = cursors{}
		before := l.IndexDoubts()
		for from := range int64(len(want)) {
			l.cursors.drop(seg)
			if got := w.contents(l, from, l.End()); !slices.Equal(got, want[from:]) {
				t.Fatalf("%s, from %d: %d records, not %d", name, from, len(got), len(want)-int(from))
			}
		}
		for _, most := range []int32{1, 300, 900} {
			if got := w.read(l, 0, most, l.End()); len(got) < int(l.SizeBytes()) {
				t.Fatalf("%s, in pieces of %d: %d of %d bytes", name, most, len(got), l.SizeBytes())
			}
		}
		if l.IndexDoubts() == before {
			t.Errorf("%s: nobody noticed", name)
		}
	}
	overwrite(t, path, good)
	l.cursors = cursors{}
	before := l.IndexDoubts()
	if got := w.contents(l, 17, l.End()); fmt.Sprint(got) != fmt.Sprint(want[17:]) || l.IndexDoubts() != before {
		t.Fatalf("the true index: %d doubts more, %d records", l.IndexDoubts()-before, len(got))
	}
}

// overwrite changes a file in place: who has it open sees it.
func overwrite(t *testing.T, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
