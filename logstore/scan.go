package logstore

import (
	"io"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// scanChunk is how much a scan reads at a time: many small batches in one call, a large one in a few.
const scanChunk = 512 << 10

// scanner reads a segment's batches in order, blocking; at start and off the shards only.
type scanner struct {
	f        *disk.File
	pos, end int64
	whole    bool  // give whole batches and check their CRC; else headers are enough
	trusting bool  // whole batches, but their CRC is somebody else's to check
	ahead    int64 // bytes to read at a time; 0 = scanChunk
	buf      []byte
	off      int64 // of buf in the file
}

// reset begins at pos of another file and keeps the buffer.
func (s *scanner) reset(f *disk.File, pos, end int64, whole bool) {
	s.f, s.pos, s.end, s.whole, s.off = f, pos, end, whole, pos
	s.buf = s.buf[:0]
}

// next returns the batch at pos and moves behind it. b is the whole batch or what of it was read, valid until the next call.
// io.EOF at the end. A *CorruptError leaves pos at the fault: everything before it was right.
func (s *scanner) next() (e batch.Entry, b []byte, pos int64, err error) {
	if s.pos >= s.end {
		return e, nil, s.pos, io.EOF
	}
	head, err := s.want(int(min(batch.HeaderSize, s.end-s.pos)))
	if err != nil {
		return e, nil, s.pos, err
	}
	if e, err = batch.ParseEntry(head); err != nil {
		return e, nil, s.pos, s.fault("no batch begins here", err)
	}
	if int64(e.Size) > s.end-s.pos {
		return e, nil, s.pos, s.fault("the file ends inside a batch", batch.ErrTruncated)
	}
	b = head
	if s.whole {
		if b, err = s.want(e.Size); err != nil {
			return e, nil, s.pos, err
		}
		if b = b[:e.Size]; !s.trusting && !batch.CheckEntryCRC(b) {
			return e, nil, s.pos, s.fault(damaged, batch.ErrCRC)
		}
	}
	pos = s.pos
	s.pos += int64(e.Size)
	return e, b, pos, nil
}

// damaged is what a wrong checksum means.
const damaged = "a batch is damaged"

func (s *scanner) fault(what string, err error) error {
	return &CorruptError{Path: s.f.Path(), Pos: s.pos, What: what, Err: err}
}

// want returns at least n bytes from pos on. What was read of them already is kept and not read again.
func (s *scanner) want(n int) ([]byte, error) {
	var have []byte
	if s.pos >= s.off && s.pos <= s.off+int64(len(s.buf)) {
		have = s.buf[s.pos-s.off:]
	}
	if len(have) >= n {
		return have, nil
	}
	ahead := int64(scanChunk)
	if s.ahead > 0 {
		ahead = s.ahead
	}
	size := int(min(max(int64(n), ahead), s.end-s.pos))
	buf := s.buf[:cap(s.buf)]
	if len(buf) < size {
		buf = make([]byte, size)
	}
	from := copy(buf, have)
	got, err := s.f.ReadAt(buf[from:size], s.pos+int64(from))
	s.off, s.buf = s.pos, buf[:from+got]
	if len(s.buf) < n {
		if err == nil || err == io.EOF {
			return nil, s.fault("the file is shorter than its size", io.ErrUnexpectedEOF)
		}
		return nil, err
	}
	return s.buf, nil
}
