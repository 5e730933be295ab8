//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/pelton-broker/pelton/internal/task"
)

// startEcho serves the way most Go servers do: a goroutine per connection, buffered reads, one
// write per answer. It does nothing with a frame, so it is the best that this shape can be.
func startEcho(o options, n *counts, group *task.Group) (int, error) {
	l, err := net.Listen("tcp4", o.listen)
	if err != nil {
		return 0, err
	}
	group.Go("accept", func(context.Context) {
		for {
			c, err := l.Accept()
			if err != nil {
				report(err)
				return
			}
			group.Go("connection", func(context.Context) {
				if err := echo(c, o, n); err != nil && !errors.Is(err, io.EOF) {
					report(err)
				}
				report(c.Close())
			})
		}
	})
	return l.Addr().(*net.TCPAddr).Port, nil
}

func echo(c net.Conn, o options, n *counts) error {
	in := bufio.NewReaderSize(c, 64<<10)
	frame := make([]byte, 64<<10)
	for {
		if _, err := io.ReadFull(in, frame[:4]); err != nil {
			return err
		}
		size := 4 + int(binary.BigEndian.Uint32(frame))
		if size > 128<<20 {
			return fmt.Errorf("a frame of %d bytes", size)
		}
		if size > len(frame) {
			frame = append(frame, make([]byte, size-len(frame))...)
		}
		if _, err := io.ReadFull(in, frame[4:size]); err != nil {
			return err
		}
		n.frames.Add(1)
		n.bytes.Add(int64(size))
		answer := frame[:size]
		if o.reply > 0 && size >= headerBytes {
			if o.reply > len(frame) {
				frame = append(frame, make([]byte, o.reply-len(frame))...)
			}
			answer = frame[:max(o.reply, ackBytes)]
			copy(answer[4:8], frame[8:12])
			binary.BigEndian.PutUint32(answer, uint32(len(answer)-4))
		} else if size >= headerBytes {
			copy(answer[4:8], frame[8:12])
		}
		if _, err := c.Write(answer); err != nil {
			return err
		}
	}
}
