//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/pelton-broker/pelton/zk/jute"
)

// zkConn is one session on a coordination server: requests go out in order and answers come back in order.
type zkConn struct {
	c   net.Conn
	r   *bufio.Reader
	w   *bufio.Writer
	out []byte
	xid int32
}

// zkTimeoutMs is the session timeout that is asked for.
const zkTimeoutMs = 30_000

func dialZK(addr string) (*zkConn, error) {
	nc, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	c := &zkConn{c: nc, r: bufio.NewReaderSize(nc, 4<<10), w: bufio.NewWriterSize(nc, 4<<10)}
	b := jute.AppendLong(jute.AppendInt(jute.AppendLong(jute.AppendInt(c.begin(), 0), 0), zkTimeoutMs), 0)
	err = c.send(jute.AppendBool(jute.AppendBuffer(b, make([]byte, 16)), false))
	if err == nil {
		err = c.w.Flush()
	}
	if err == nil {
		_, err = c.frame()
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

func (c *zkConn) begin() []byte { return append(c.out[:0], 0, 0, 0, 0) }

func (c *zkConn) send(b []byte) error {
	jute.PutInt(b, int32(len(b)-4))
	c.out = b
	_, err := c.w.Write(b)
	return err
}

// request sends one operation whose body fn appends; it waits in the buffer until the next flush.
func (c *zkConn) request(op int32, fn func(b []byte) []byte) error {
	c.xid++
	b := jute.AppendInt(jute.AppendInt(c.begin(), c.xid), op)
	if fn != nil {
		b = fn(b)
	}
	return c.send(b)
}

func (c *zkConn) frame() ([]byte, error) {
	head, err := c.r.Peek(4)
	if err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head))
	_, _ = c.r.Discard(4)
	if n <= c.r.Size() { // most of them: no copy
		b, err := c.r.Peek(n)
		_, _ = c.r.Discard(n)
		return b, err
	}
	b := make([]byte, n)
	_, err = io.ReadFull(c.r, b)
	return b, err
}

// answer reads frames up to the next one that is no event, and returns its code.
func (c *zkConn) answer() (jute.Code, error) {
	for {
		b, err := c.frame()
		if err != nil {
			return 0, err
		}
		r := jute.NewReader(b)
		xid := r.Int()
		r.Long()
		if code := jute.Code(r.Int()); xid != jute.XidWatch {
			return code, r.Err()
		}
	}
}

// call is one operation and its answer.
func (c *zkConn) call(op int32, fn func(b []byte) []byte) error {
	if err := c.request(op, fn); err != nil {
		return err
	}
	if err := c.w.Flush(); err != nil {
		return err
	}
	code, err := c.answer()
	if err == nil && code != jute.OK {
		err = code
	}
	return err
}

// close ends the session.
func (c *zkConn) close() {
	_ = c.call(jute.OpCloseSession, nil)
	_ = c.c.Close()
}

// zkWork is operations over several sessions with a fixed number in flight on each.
type zkWork struct {
	t             *target
	conns, window int
	ops           int
	// setUp runs once for each session; one appends operation i of session n and says which it is.
	setUp func(n int, c *zkConn) error
	one   func(n, i int, b []byte) (op int32, body []byte)
}

// run does the work and returns how long it took and the sorted latencies.
func (w *zkWork) run(b *bench) (time.Duration, []time.Duration, error) {
	conns := make([]*zkConn, w.conns)
	defer func() {
		for _, c := range conns {
			if c != nil {
				c.close()
			}
		}
	}()
	for n := range conns {
		c, err := dialZK(w.t.at(n))
		if err != nil {
			return 0, nil, err
		}
		conns[n] = c
		if w.setUp != nil {
			if err := w.setUp(n, c); err != nil {
				return 0, nil, err
			}
		}
	}
	stop := context.AfterFunc(b.group.Context(), func() {
		for _, c := range conns {
			_ = c.c.Close()
		}
	})
	defer stop()
	lat := make([][]time.Duration, w.conns)
	began := time.Now()
	err := b.parallel(w.conns, func(n int) (err error) {
		lat[n], err = w.drive(n, conns[n])
		return err
	})
	took := time.Since(began)
	all := slices.Concat(lat...)
	slices.Sort(all)
	return took, all, err
}

func (w *zkWork) drive(n int, c *zkConn) ([]time.Duration, error) {
	total := w.ops / w.conns
	lat := make([]time.Duration, 0, total)
	sent := make([]time.Time, w.window)
	for asked, got := 0, 0; got < total; got++ {
		for asked < total && asked-got < w.window {
			sent[asked%w.window] = time.Now()
			c.xid++
			// The operation's number is known only with its body: it is put in afterwards.
			b := jute.AppendInt(jute.AppendInt(c.begin(), c.xid), 0)
			op, b := w.one(n, asked, b)
			jute.PutInt(b[8:], op)
			if err := c.send(b); err != nil {
				return nil, err
			}
			asked++
		}
		if c.r.Buffered() == 0 {
			if err := c.w.Flush(); err != nil {
				return nil, err
			}
		}
		code, err := c.answer()
		if err == nil && code != jute.OK {
			err = fmt.Errorf("operation %d: %w", got, code)
		}
		if err != nil {
			return nil, err
		}
		lat = append(lat, time.Since(sent[got%w.window]))
	}
	return lat, nil
}
