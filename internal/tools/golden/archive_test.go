package golden

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestUnpackGivesWhatWasPacked(t *testing.T) {
	holes := append(append([]byte("head"), make([]byte, 3*pieceBytes)...), "tail"...)
	want := map[string][]byte{"data/empty": {}, "data/t-0/some.log": []byte("bytes"), "data/holes": holes, "data/zeros": make([]byte, pieceBytes+1)}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for name, b := range want {
		if err := w.WriteHeader(&tar.Header{Name: "./" + name, Mode: 0o644, Size: int64(len(b))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "a.tar.gz")
	if err := os.WriteFile(archive, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	Unpack(t, archive, dir)
	seen := 0
	Each(t, archive, func(name string, size int64, _ io.Reader) {
		seen++
		got, err := os.ReadFile(filepath.Join(dir, name))
		if b, ok := want[name]; !ok || err != nil || int64(len(b)) != size || !bytes.Equal(got, b) {
			t.Errorf("%s: %d of %d bytes, %v", name, len(got), size, err)
		}
	})
	if seen != len(want) {
		t.Errorf("%d files, want %d", seen, len(want))
	}
}
