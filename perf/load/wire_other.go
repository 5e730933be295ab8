//go:build !linux

package load

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// wire is a socket of Go's own on systems that are only developed on.
type wire struct {
	net.Conn
	peeked [1]byte
	have   bool
}

const silence = 60 * time.Second

func dial(addr string) (*wire, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", addr, err)
	}
	return &wire{Conn: c}, nil
}

// Read blocks until something came.
func (w *wire) Read(b []byte) (int, error) {
	if w.have && len(b) > 0 {
		b[0], w.have = w.peeked[0], false
		return 1, nil
	}
	_ = w.Conn.SetReadDeadline(time.Now().Add(silence))
	return w.Conn.Read(b)
}

// Wait blocks until a read would not, or for ns nanoseconds.
func (w *wire) Wait(ns int64) (bool, error) {
	if w.have {
		return true, nil
	}
	_ = w.Conn.SetReadDeadline(time.Now().Add(time.Duration(ns)))
	n, err := w.Conn.Read(w.peeked[:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, nil
	}
	w.have = n == 1
	return w.have, err
}

// Abort makes a blocked Read or Write of another goroutine return.
func (w *wire) Abort() { _ = w.Conn.Close() }

// Close frees the socket.
func (w *wire) Close() { _ = w.Conn.Close() }

func precise() {}
