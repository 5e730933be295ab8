package txnlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io"
	"io/fs"

	"github.com/pelton-broker/pelton/internal/disk"
)

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// scanner reads a log file through a window.
type scanner struct {
	f    *disk.File
	size int64
	buf  []byte
	base int64 // file position of buf[0]
	pos  int64 // file position of the next record
}

const window = 1 << 20

func newScanner(f *disk.File) (*scanner, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	return &scanner{f: f, size: size}, nil
}

// at returns n bytes at file position off, fewer at the end of the file.
func (s *scanner) at(off int64, n int) ([]byte, error) {
	if off >= s.base && off+int64(n) <= s.base+int64(len(s.buf)) {
		return s.buf[off-s.base:][:n], nil
	}
	want := max(n, window)
	if left := s.size - off; int64(want) > left {
		want = int(max(left, 0))
	}
	if cap(s.buf) < want {
		s.buf = make([]byte, want)
	}
	s.buf, s.base = s.buf[:want], off
	got, err := s.f.ReadAt(s.buf, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	s.buf = s.buf[:got]
	return s.buf[:min(n, got)], nil
}

// payloadAt returns the payload of a sound record at off, nil when there is none.
func (s *scanner) payloadAt(off int64) ([]byte, error) {
	head, err := s.at(off, 12)
	if err != nil || len(head) < 12 {
		return nil, err
	}
	sum, n := binary.BigEndian.Uint64(head), int(int32(binary.BigEndian.Uint32(head[8:])))
	if n <= 0 || n > maxRecord || sum > 0xFFFFFFFF || off+frameSize+int64(n) > s.size {
		return nil, nil
	}
	body, err := s.at(off+12, n+1)
	if err != nil || len(body) < n+1 {
		return nil, err
	}
	if body[n] != recordEnd || uint64(adler32.Checksum(body[:n])) != sum {
		return nil, nil
	}
	return body[:n], nil
}

// next returns the next record; ok is false where no sound record begins.
func (s *scanner) next() (rec record, ok bool, err error) {
	payload, err := s.payloadAt(s.pos)
	if err != nil || payload == nil {
		return record{}, false, err
	}
	if rec, err = parseRecord(payload); err != nil {
		return record{}, false, &CorruptError{Path: s.f.Path(), Pos: s.pos, What: "a record with a right checksum cannot be parsed", Err: err}
	}
	s.pos += frameSize + int64(len(payload))
	return rec, true, nil
}

// begin checks the header.
func (s *scanner) begin() (ok bool, err error) {
	head, err := s.at(0, headerSize)
	if err != nil {
		return false, err
	}
	if len(head) < headerSize || allZero(head) {
		// The file came into being and the machine stopped before its first write.
		s.pos = headerSize
		return false, nil
	}
	if binary.BigEndian.Uint32(head) != logMagic || binary.BigEndian.Uint32(head[4:]) != fileVersion {
		return false, &CorruptError{Path: s.f.Path(), What: "no log header", Err: ErrFormat}
	}
	s.pos = headerSize
	return true, nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// tail looks at what lies behind the last sound record, whose zxid is last. Zeros are the usual end. Anything else is
// the torn tail of a write that nobody was answered for, unless a sound record further on proves that what is
// damaged here was durable: then it is a CorruptError.
func (s *scanner) tail(last int64) (torn bool, err error) {
	damage := s.pos
	for off := s.pos; off < s.size; off++ {
		b, err := s.at(off, 1)
		if err != nil {
			return torn, err
		}
		if len(b) == 0 {
			return torn, nil
		}
		if b[0] == 0 && s.zerosAt(&off) {
			continue
		}
		torn = true
		// A record begins with four zero bytes: the checksum is 32 bits in a field of 64.
		for back := int64(0); back < 8 && off-back >= damage; back++ {
			if err := s.proof(off-back, damage, last); err != nil {
				return true, err
			}
		}
	}
	return torn, nil
}

// zerosAt moves off to the last of the zero bytes that begin there, as far as the window shows.
func (s *scanner) zerosAt(off *int64) bool {
	rest := s.buf[*off-s.base:]
	n := 0
	// Apache's logs have up to 64 MB of them: whole blocks are compared, not bytes.
	for zeros := [4096]byte{}; len(rest)-n >= len(zeros) && bytes.Equal(rest[n:n+len(zeros)], zeros[:]); {
		n += len(zeros)
	}
	for n < len(rest) && rest[n] == 0 {
		n++
	}
	*off += int64(n - 1)
	return true
}

func (s *scanner) proof(off, damage, last int64) error {
	payload, err := s.payloadAt(off)
	if err != nil || payload == nil || off == damage {
		return err
	}
	rec, err := parseRecord(payload)
	if err != nil || rec.txn.Zxid <= last {
		return nil
	}
	if rec.chain == 0 || rec.chain > last+1 {
		return &CorruptError{Path: s.f.Path(), Pos: damage, What: "transactions that were durable are lost: a later one is sound"}
	}
	return nil
}
