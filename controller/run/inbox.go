package run

import (
	"context"
	"sync"
	"time"

	"github.com/pelton-broker/pelton/zk/client"
)

// inbox is what waits for the loop. It never blocks a writer: events come from the connection's goroutine.
type inbox struct {
	mu struct {
		sync.Mutex
		events   []client.Event
		commands []*command
		closed   bool
	}
	wake chan struct{}
}

// command is a request of some goroutine, carried out by the loop.
type command struct {
	ctx  context.Context
	run  func(ctx context.Context) error
	done chan error // buffered

	anyMember bool // not only the active controller may carry it out
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

func (b *inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *inbox) event(ev client.Event) {
	b.mu.Lock()
	b.mu.events = append(b.mu.events, ev)
	b.mu.Unlock()
	b.signal()
}

// command queues c; false after close.
func (b *inbox) command(c *command) bool {
	b.mu.Lock()
	open := !b.mu.closed
	if open {
		b.mu.commands = append(b.mu.commands, c)
	}
	b.mu.Unlock()
	b.signal()
	return open
}

func (b *inbox) takeEvents() []client.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	ev := b.mu.events
	b.mu.events = nil
	return ev
}

func (b *inbox) takeCommands() []*command {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.mu.commands
	b.mu.commands = nil
	return c
}

// wait returns when something may have come, or after retry when that is above 0, or when ctx ends.
func (b *inbox) wait(ctx context.Context, retry time.Duration) {
	var after <-chan time.Time
	if retry > 0 {
		t := time.NewTimer(retry)
		defer t.Stop()
		after = t.C
	}
	select {
	case <-b.wake:
	case <-after:
	case <-ctx.Done():
	}
}

// stop refuses later commands and wakes the loop, which then ends.
func (b *inbox) stop() {
	b.mu.Lock()
	b.mu.closed = true
	b.mu.Unlock()
	b.signal()
}

func (b *inbox) stopped() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.mu.closed }
