package task

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGroupStopWaitsForAll(t *testing.T) {
	g := NewGroup()
	var ended atomic.Int32
	for range 3 {
		g.Go("waiter", func(ctx context.Context) { <-ctx.Done(); ended.Add(1) })
	}
	if n := g.Names(); len(n) != 1 || n[0] != "waiter" {
		t.Fatalf("names = %v", n)
	}
	g.Stop()
	if ended.Load() != 3 {
		t.Fatalf("Stop returned after %d of 3 goroutines", ended.Load())
	}
	if g.Go("late", func(context.Context) { t.Error("ran after Stop") }) {
		t.Fatal("a stopped group took a goroutine")
	}
}

func TestPoolRunsWhatWasQueuedBeforeTheStop(t *testing.T) {
	g := NewGroup()
	p := NewPool(g, "worker", 2)
	var ran atomic.Int32
	for range 100 {
		if err := p.Do(func() { ran.Add(1) }); err != nil {
			t.Fatal(err)
		}
	}
	g.Stop()
	if ran.Load() != 100 {
		t.Fatalf("%d of 100 jobs ran", ran.Load())
	}
	if err := p.Do(func() {}); !errors.Is(err, ErrStopped) {
		t.Fatalf("Do after Stop: %v", err)
	}
}
