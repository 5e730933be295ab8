//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"golang.org/x/sys/unix"
)

// source answers every frame with its correlation id and a stretch of a cached file, by sendfile.
type source struct {
	o    options
	n    *counts
	file int
}

func newSource(o options, n *counts) (*source, error) {
	if o.reply == 0 {
		o.reply = 1 << 20
	}
	if int64(o.reply) > o.fileBytes {
		return nil, fmt.Errorf("-reply %d is larger than -file %d", o.reply, o.fileBytes)
	}
	path := filepath.Join(o.dir, fmt.Sprintf("source-%d.log", os.Getpid()))
	file, err := unix.Open(path, unix.O_CREAT|unix.O_TRUNC|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if !o.named {
		if err := os.Remove(path); err != nil { // the descriptor keeps it
			return nil, err
		}
	}
	chunk := make([]byte, 1<<20)
	for i := range chunk {
		chunk[i] = byte(i * 7)
	}
	for at := int64(0); at < o.fileBytes; at += int64(len(chunk)) {
		if _, err := unix.Pwrite(file, chunk, at); err != nil {
			return nil, fmt.Errorf("write %s: %w", path, err)
		}
	}
	return &source{o: o, n: n, file: file}, nil
}

func (s *source) serve(fd, id int) error {
	m, err := newMemory(64 << 10)
	if err != nil {
		return err
	}
	defer unix.Munmap(m.b)
	at := make([]int64, 1) // the offset that sendfile reads and moves
	atAddr := reflect.ValueOf(at).Pointer()
	have := 0
	for {
		n, err := m.read(fd, have, len(m.b))
		if err != nil || n == 0 {
			return err
		}
		have += n
		pos := 0
		for have-pos >= headerBytes {
			end := pos + 4 + int(binary.BigEndian.Uint32(m.b[pos:]))
			if end > have {
				break
			}
			if at[0]+int64(s.o.reply) > s.o.fileBytes {
				at[0] = 0
			}
			if err := s.answer(fd, m, pos, atAddr); err != nil {
				return err
			}
			pos = end
		}
		have = copy(m.b, m.b[pos:have])
	}
}

// answer turns the frame at pos into the answer's header, which is sent with MSG_MORE so that it
// shares a packet with the file's first bytes.
func (s *source) answer(fd int, m memory, pos int, atAddr uintptr) error {
	s.n.frames.Add(1) // before the answer: whoever has it may ask for the counts
	s.n.bytes.Add(int64(s.o.reply))
	head := m.b[pos+4 : pos+headerBytes]
	binary.BigEndian.PutUint32(head, uint32(4+s.o.reply))
	if _, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), m.addr+uintptr(pos+4), ackBytes, unix.MSG_MORE, 0, 0); errno != 0 {
		return errno
	}
	for left := s.o.reply; left > 0; {
		n, err := call(unix.SYS_SENDFILE, uintptr(fd), uintptr(s.file), atAddr, uintptr(left))
		if err != nil {
			return fmt.Errorf("sendfile: %w", err)
		}
		if n == 0 {
			return fmt.Errorf("sendfile: the file ended early")
		}
		left -= n
	}
	return nil
}
