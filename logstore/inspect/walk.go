package inspect

import (
	"io"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// Batch is one batch of any format at its place in a file.
type Batch struct {
	batch.Entry
	Position int64
	Raw      []byte // whole; valid until the walk goes on
	Valid    bool   // the checksum is right
}

// End says where a walk stopped and why.
type End struct {
	Position int64 // behind the last batch
	Size     int64 // of the file
	Err      error // nil when the file ends there, or inside a batch whose head can be read
}

// Trailing is how many bytes lie behind the last whole batch.
func (e End) Trailing() int64 { return e.Size - e.Position }

// chunk is how much a walk reads at a time.
const chunk = 1 << 20

// window is a file that is read in order.
type window struct {
	f    io.ReaderAt
	size int64
	buf  []byte
	off  int64
}

// at returns n bytes from pos on, which the file has.
func (w *window) at(pos int64, n int) ([]byte, error) {
	if pos >= w.off && pos+int64(n) <= w.off+int64(len(w.buf)) {
		return w.buf[pos-w.off:][:n], nil
	}
	size := int(min(max(int64(n), chunk), w.size-pos))
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	w.buf = w.buf[:size]
	got, err := w.f.ReadAt(w.buf, pos)
	w.off, w.buf = pos, w.buf[:got]
	if got < n {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return w.buf[:n], nil
}

// Walk gives out the batches of a file from position from on until fn says false. It goes on behind a batch with a wrong checksum, whose
// head says where the next one begins, and stops where no head can be read.
func Walk(f io.ReaderAt, from, size int64, fn func(*Batch) bool) (End, error) {
	w := window{f: f, size: size}
	pos := from
	for size-pos >= batch.PrefixSize {
		head, err := w.at(pos, batch.PrefixSize)
		if err != nil {
			return End{pos, size, nil}, err
		}
		n, _, err := batch.EntrySize(head)
		if err != nil {
			return End{pos, size, err}, nil
		}
		if int64(n) > size-pos {
			return End{pos, size, nil}, nil
		}
		raw, err := w.at(pos, n)
		if err != nil {
			return End{pos, size, nil}, err
		}
		b := Batch{Position: pos, Raw: raw, Valid: batch.CheckEntryCRC(raw)}
		if b.Entry, err = batch.ParseEntry(raw); err != nil {
			return End{pos, size, err}, nil
		}
		pos += int64(n)
		if !fn(&b) {
			break
		}
	}
	return End{pos, size, nil}, nil
}

// open opens a file for reading and tells its size.
func open(fs disk.FS, path string) (*disk.File, int64, error) {
	f, err := fs.OpenFile(path, 0, 0)
	if err != nil {
		return nil, 0, err
	}
	size, err := f.Size()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, size, nil
}

// WalkFile is Walk over a whole file.
func WalkFile(fs disk.FS, path string, fn func(*Batch) bool) (End, error) {
	f, size, err := open(fs, path)
	if err != nil {
		return End{}, err
	}
	defer f.Close()
	return Walk(f, 0, size, fn)
}
