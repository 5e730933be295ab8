package task

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrStopped is returned by Pool.Do when the pool's group has been stopped.
var ErrStopped = errors.New("task: the pool is stopped")

// Pool runs jobs on a bounded number of goroutines in the order they came.
type Pool struct {
	group *Group
	mu    struct {
		sync.Mutex
		queue   []func()
		stopped bool
	}
	wake *sync.Cond
}

// NewPool starts workers goroutines named name-N in g.
func NewPool(g *Group, name string, workers int) *Pool {
	p := &Pool{group: g}
	p.wake = sync.NewCond(&p.mu.Mutex)
	for i := range workers {
		g.Go(fmt.Sprintf("%s-%d", name, i), p.work)
	}
	g.Go(name+"-stop", func(ctx context.Context) {
		<-ctx.Done()
		p.mu.Lock()
		p.mu.stopped = true
		p.mu.Unlock()
		p.wake.Broadcast()
	})
	return p
}

// Do queues job. It never blocks; jobs queued before the stop still run.
func (p *Pool) Do(job func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		return ErrStopped
	}
	p.mu.queue = append(p.mu.queue, job)
	p.wake.Signal()
	return nil
}

// Queued is the number of jobs that wait for a worker.
func (p *Pool) Queued() int { p.mu.Lock(); defer p.mu.Unlock(); return len(p.mu.queue) }

func (p *Pool) work(context.Context) {
	for {
		p.mu.Lock()
		for len(p.mu.queue) == 0 && !p.mu.stopped {
			p.wake.Wait()
		}
		if len(p.mu.queue) == 0 {
			p.mu.Unlock()
			return
		}
		job := p.mu.queue[0]
		p.mu.queue = p.mu.queue[1:]
		p.mu.Unlock()
		job()
	}
}
