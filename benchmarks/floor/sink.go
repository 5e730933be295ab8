//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const (
	ackBytes    = 8  // a length of 4, and the correlation id
	headerBytes = 12 // length, API key and version, correlation id
)

// sink takes length-prefixed frames and writes their bytes to a file of the connection, in the
// pieces in which they come; each whole frame is answered with its correlation id.
type sink struct {
	o options
	n *counts
}

// sinkConn is one connection's state: where in the buffer, the file and the frame it stands.
type sinkConn struct {
	fd, file int
	in, acks memory
	at       int64 // end of the file
	left     int   // bytes of the current frame still to come
	corr     [4]byte
	queued   int // bytes of acks not yet written
}

func (s *sink) serve(fd, id int) error {
	path := fmt.Sprintf("%s/sink-%d-%d", s.o.dir, os.Getpid(), id)
	file, err := unix.Open(path, unix.O_CREAT|unix.O_TRUNC|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(file)
	defer os.Remove(path) // when the peer has gone: the pages are the next round's
	c := &sinkConn{fd: fd, file: file}
	if c.in, err = newMemory(s.o.readBytes); err != nil {
		return err
	}
	defer unix.Munmap(c.in.b)
	if c.acks, err = newMemory(s.o.readBytes); err != nil {
		return err
	}
	defer unix.Munmap(c.acks.b)
	have := 0
	for {
		n, err := c.in.read(fd, have, len(c.in.b))
		if err != nil || n == 0 {
			return err
		}
		s.n.bytes.Add(int64(n))
		if have, err = s.take(c, have+n); err != nil {
			return err
		}
	}
}

// take handles the first have bytes of the buffer and returns how many remain: the start of a
// frame whose header has not come whole, moved to the front.
func (s *sink) take(c *sinkConn, have int) (int, error) {
	pos, written := 0, 0
	for pos < have {
		if c.left == 0 {
			if have-pos < headerBytes {
				break
			}
			c.left = 4 + int(binary.BigEndian.Uint32(c.in.b[pos:]))
			copy(c.corr[:], c.in.b[pos+8:])
		}
		n := min(c.left, have-pos)
		pos, c.left = pos+n, c.left-n
		if c.left > 0 {
			break
		}
		s.n.frames.Add(1)
		ack := c.acks.b[c.queued : c.queued+ackBytes]
		binary.BigEndian.PutUint32(ack, 4)
		copy(ack[4:], c.corr[:])
		c.queued += ackBytes
		if !s.o.batch {
			if err := s.flush(c, written, pos); err != nil {
				return 0, err
			}
			written = pos
		}
	}
	if err := s.flush(c, written, pos); err != nil {
		return 0, err
	}
	return copy(c.in.b, c.in.b[pos:have]), nil
}

// flush writes a stretch of the buffer to the file, syncs when asked, and sends what acks wait.
func (s *sink) flush(c *sinkConn, from, to int) error {
	if err := c.in.pwriteAll(c.file, from, to, c.at); err != nil {
		return fmt.Errorf("pwrite: %w", err)
	}
	c.at += int64(to - from)
	if c.queued == 0 {
		return nil
	}
	if s.o.sync {
		if err := fdatasync(c.file); err != nil {
			return fmt.Errorf("fdatasync: %w", err)
		}
	}
	err := c.acks.writeAll(c.fd, 0, c.queued)
	c.queued = 0
	return err
}
