package task

import (
	"context"
	"sort"
	"sync"
)

// Group is a set of named goroutines with one owner and one end.
type Group struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     struct {
		sync.Mutex
		running map[string]int
		stopped bool
	}
}

// NewGroup returns an empty group.
func NewGroup() *Group {
	g := &Group{}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.mu.running = map[string]int{}
	return g
}

// Go runs fn in a goroutine of the group. fn must return soon after its context ends.
// After Stop it does nothing and returns false.
func (g *Group) Go(name string, fn func(ctx context.Context)) bool {
	g.mu.Lock()
	if g.mu.stopped {
		g.mu.Unlock()
		return false
	}
	g.mu.running[name]++
	g.wg.Add(1)
	g.mu.Unlock()
	go func() {
		defer g.wg.Done()
		defer g.ended(name)
		fn(g.ctx)
	}()
	return true
}

func (g *Group) ended(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.running[name]--; g.mu.running[name] == 0 {
		delete(g.mu.running, name)
	}
}

// Names lists what runs now, sorted; for a stop that hangs.
func (g *Group) Names() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := make([]string, 0, len(g.mu.running))
	for n := range g.mu.running {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Context ends when the group is stopped.
func (g *Group) Context() context.Context { return g.ctx }

// Stop ends the group's context and waits for every goroutine. It may be called more than once.
func (g *Group) Stop() {
	g.mu.Lock()
	g.mu.stopped = true
	g.mu.Unlock()
	g.cancel()
	g.wg.Wait()
}
