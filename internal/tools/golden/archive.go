package golden

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Each hands out the files of a .tar.gz archive, in its order; directories are left out. r is valid during the call.
func Each(t testing.TB, archive string, file func(name string, size int64, r io.Reader)) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", archive, err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
		if !h.FileInfo().IsDir() { // sparse files are files too
			file(filepath.Clean(h.Name), h.Size, r)
		}
	}
}

// Unpack writes the files of a .tar.gz archive below dir, with holes where they are zero: a transaction log of ZooKeeper is 64 MiB of
// little else.
func Unpack(t testing.TB, archive, dir string) {
	t.Helper()
	Each(t, archive, func(name string, size int64, r io.Reader) {
		if err := write(filepath.Join(dir, name), size, r); err != nil {
			t.Fatalf("%s: %s: %v", archive, name, err)
		}
	})
}

// pieceBytes is the size of the pieces that are looked at for zeros.
const pieceBytes = 64 << 10

func write(path string, size int64, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	piece, zeros := make([]byte, pieceBytes), make([]byte, pieceBytes)
	for pos := int64(0); pos < size && err == nil; pos += pieceBytes {
		b := piece[:min(pieceBytes, size-pos)]
		if _, err = io.ReadFull(r, b); err == nil && !bytes.Equal(b, zeros[:len(b)]) {
			_, err = out.WriteAt(b, pos)
		}
	}
	if err == nil {
		err = out.Truncate(size)
	}
	return errors.Join(err, out.Close())
}
