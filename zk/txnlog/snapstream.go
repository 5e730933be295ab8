package txnlog

import (
	"errors"
	"hash"
	"hash/adler32"
	"io"

	"github.com/pelton-broker/pelton/zk/jute"
)

// snapStream reads a snapshot through a window, so that loading one takes no more memory than the tree it holds and a few megabytes.
type snapStream struct {
	path string
	in   io.ReaderAt
	size int64
	pos  int64  // where the window ends in the file
	buf  []byte // the part of the window that was not read yet
	sum  hash.Hash32
	stop func() error // asked now and then whether to go on; nil for yes
}

func newSnapStream(path string, in io.ReaderAt, size int64) *snapStream {
	return &snapStream{path: path, in: in, size: size, sum: adler32.New()}
}

// left is how many bytes were not read yet.
func (s *snapStream) left() int64 { return s.size - s.pos + int64(len(s.buf)) }

// unit reads one part of the snapshot. parse may run again with a longer window, so what it does besides reading must bear that.
func (s *snapStream) unit(parse func(r *jute.Reader)) error {
	for {
		r := jute.NewReader(s.buf)
		parse(&r)
		if r.Err() == nil {
			used := len(s.buf) - r.Len()
			_, _ = s.sum.Write(s.buf[:used])
			s.buf = s.buf[used:]
			return nil
		}
		if s.pos == s.size || len(s.buf) > maxRecord {
			return s.bad("it ends within a part", r.Err())
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}

// fill makes the window at least twice as long as what is left of it.
func (s *snapStream) fill() error {
	if s.stop != nil {
		if err := s.stop(); err != nil {
			return err
		}
	}
	n := min(int64(max(window, len(s.buf))), s.size-s.pos)
	next := make([]byte, len(s.buf)+int(n))
	copy(next, s.buf)
	got, err := s.in.ReadAt(next[len(s.buf):], s.pos)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if got == 0 {
		return s.bad("the file became shorter", io.ErrUnexpectedEOF)
	}
	s.pos += int64(got)
	s.buf = next[:len(s.buf)+got]
	return nil
}

func (s *snapStream) bad(what string, err error) error {
	return &CorruptError{Path: s.path, Pos: s.size - s.left(), What: what, Err: err}
}

// count reads the number of parts that follow, each of at least least bytes.
func (s *snapStream) count(least int64) (int, error) {
	n := int32(0)
	if err := s.unit(func(r *jute.Reader) { n = r.Int() }); err != nil {
		return 0, err
	}
	if n < -1 || int64(n)*least > s.left() {
		return 0, s.bad("a count that the file cannot hold", jute.ErrLength)
	}
	return int(max(n, 0)), nil
}
