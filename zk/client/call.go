package client

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// pipelined is how many requests Each keeps in flight.
const pipelined = 64

// call runs fn, which blocks without knowing contexts, and gives up waiting when ctx ends.
func call[T any](ctx context.Context, c *Client, fn func() (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	ch := make(chan answer, 1)
	if !c.group.Go("zk-call", func(context.Context) { v, err := fn(); ch <- answer{v, err} }) {
		return zero, ErrClosed
	}
	select {
	case a := <-ch:
		return a.v, translate(a.err)
	case <-ctx.Done():
		return zero, ctx.Err()
	}
}

func translate(err error) error {
	switch {
	case errors.Is(err, zk.ErrSessionExpired):
		return ErrSessionExpired
	case errors.Is(err, zk.ErrClosing):
		return ErrClosed
	}
	return err
}

// again prepares the next attempt of a call that began in session life and lost its connection.
func (c *Client) again(ctx context.Context, life uint64) error {
	for {
		c.mu.Lock()
		now, connected, closed, changed := c.mu.life, c.mu.connected, c.mu.closed, c.mu.changed
		c.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case now != life:
			return ErrSessionExpired
		case connected:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.group.Context().Done():
			return ErrClosed
		}
	}
}

func (c *Client) life() uint64 { c.mu.Lock(); defer c.mu.Unlock(); return c.mu.life }

// read repeats fn, which changes nothing, until it gets an answer in the session in which it began.
func read[T any](ctx context.Context, c *Client, fn func() (T, error)) (T, error) {
	for life := c.life(); ; {
		v, err := call(ctx, c, fn)
		if !connectionLost(err) {
			return v, err
		}
		if err := c.again(ctx, life); err != nil {
			return v, err
		}
	}
}

// write repeats fn in the same way. lost tells whether an earlier attempt may have been carried out.
func write[T any](ctx context.Context, c *Client, fn func() (T, error)) (v T, lost bool, err error) {
	for life := c.life(); ; {
		v, err = call(ctx, c, fn)
		if !connectionLost(err) {
			return v, lost, err
		}
		lost = true
		if err := c.again(ctx, life); err != nil {
			return v, lost, err
		}
	}
}

// Each calls fn for 0 to n-1 from several goroutines, so that the requests of all are in flight together, and returns
// the error of each. The order among them is not fixed.
func (c *Client) Each(ctx context.Context, n int, fn func(ctx context.Context, i int) error) []error {
	errs := make([]error, n)
	var next atomic.Int64
	workers := min(n, pipelined)
	done := make(chan struct{}, workers)
	work := func(context.Context) {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			errs[i] = fn(ctx, i)
		}
		done <- struct{}{}
	}
	started := 0
	for range workers {
		if c.group.Go("zk-each", work) {
			started++
		}
	}
	for range started {
		<-done
	}
	if started == 0 && n > 0 {
		for i := range errs {
			errs[i] = ErrClosed
		}
	}
	return errs
}
