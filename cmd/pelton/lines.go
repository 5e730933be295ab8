package main

import (
	"bytes"
	"io"
)

// lineReader cuts a stream into lines without copying them: each line is a slice of a block that is never reused, so it
// may be kept as long as its record needs it.
type lineReader struct {
	in    io.Reader
	block []byte // bytes read and not yet cut
	room  []byte // the rest of the same block, to read into
	err   error
}

const lineBlock = 1 << 20

func newLineReader(in io.Reader) *lineReader { return &lineReader{in: in} }

// next is the next line without its newline. A last line without a newline counts; io.EOF comes after it.
func (l *lineReader) next() ([]byte, error) {
	searched := 0
	for {
		if i := bytes.IndexByte(l.block[searched:], '\n'); i >= 0 {
			line := l.block[: searched+i : searched+i]
			l.block = l.block[searched+i+1:]
			return line, nil
		}
		searched = len(l.block)
		if l.err != nil {
			if len(l.block) > 0 && l.err == io.EOF {
				line := l.block
				l.block = nil
				return line, nil
			}
			return nil, l.err
		}
		l.fill()
	}
}

// fill reads once behind the bytes at hand, in a new block when the old one has no room.
func (l *lineReader) fill() {
	if len(l.room) == 0 {
		next := make([]byte, max(lineBlock, 2*len(l.block)))
		n := copy(next, l.block)
		l.block, l.room = next[:n], next[n:]
	}
	n, err := l.in.Read(l.room)
	l.block = l.block[:len(l.block)+n]
	l.room = l.room[n:]
	l.err = err
}
