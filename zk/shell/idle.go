package shell

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/zk/jute"
)

// meanwhile runs wait, which waits for a person or a pipe, and keeps the session alive until it returns. Events are shown as they come.
func (p *prompted) meanwhile(wait func()) {
	p.rest()
	wait()
	p.wake()
}

// rest gives the connection to a goroutine that keeps the session alive; wake takes it back, for a call.
func (p *prompted) rest() {
	if p.c == nil {
		return
	}
	p.resting = task.NewGroup()
	p.resting.Go("zk-shell-idle", func(ctx context.Context) { p.idle = p.c.idle(ctx, p.events) })
}

func (p *prompted) wake() {
	if p.resting != nil {
		p.resting.Stop()
		p.resting = nil
	}
}

// idle answers for the session until ctx ends: it asks for nothing and takes what comes. A frame is taken whole or not at all, so that who
// uses the connection next finds its beginning.
func (c *conn) idle(ctx context.Context, came func()) error {
	var mu sync.Mutex // the end must not be overwritten by the next deadline
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		mu.Lock()
		defer mu.Unlock()
		_ = c.c.SetReadDeadline(time.UnixMilli(c.clk.WallMs()).Add(-time.Second))
	})
	defer func() {
		if !stop() {
			<-ended // it would take the time from the next call
		}
	}()
	for {
		mu.Lock()
		if ctx.Err() != nil {
			mu.Unlock()
			return nil
		}
		_ = c.c.SetReadDeadline(time.UnixMilli(c.clk.WallMs()).Add(c.timeout / 3))
		mu.Unlock()
		b, err := c.whole()
		switch {
		case err == nil:
			r := jute.NewReader(b)
			if xid := r.Int(); xid == jute.XidWatch {
				zxid := r.Long()
				r.Int()
				c.event(&r, zxid)
				came()
			}
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case ctx.Err() == nil:
			if err := c.send(jute.XidPing, jute.OpPing, nil); err != nil {
				return err
			}
		}
	}
}

// whole takes the next frame out of the buffer once all of it is there. Answers to pings and events are small.
func (c *conn) whole() ([]byte, error) {
	head, err := c.r.Peek(4)
	if err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(head)))
	if n < 0 || n+4 > c.r.Size() {
		return nil, fmt.Errorf("an unasked answer of %d bytes", n)
	}
	b, err := c.r.Peek(4 + n)
	if err != nil {
		return nil, err
	}
	out := append([]byte(nil), b[4:]...)
	_, _ = c.r.Discard(4 + n)
	return out, nil
}
