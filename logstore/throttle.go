package logstore

import (
	"sync"

	"github.com/pelton-broker/pelton/internal/clock"
)

// throttle holds all cleaners together to a number of bytes a second, read and written ones alike: whoever has moved bytes waits until they
// are paid for.
type throttle struct {
	clk   clock.Clock
	pause func(ns int64)
	mu    sync.Mutex
	free  int64 // monotonic time from which on nothing is owed
}

// Limits of the waiting.
const (
	noRate      = 1e15      // a rate from here on is none
	shortestNap = 5_000_000 // less is added up, so that small batches do not cost a sleep each
	longestNap  = 100_000_000
)

// spend waits as the rate demands for n bytes, until stop says that the work is for nothing.
func (t *throttle) spend(n int64, rate float64, stop func() bool) {
	if t == nil || t.pause == nil || rate <= 0 || rate >= noRate {
		return
	}
	t.mu.Lock()
	now := t.clk.Mono()
	t.free = max(t.free, now) + int64(float64(n)/rate*1e9)
	wait := t.free - now
	t.mu.Unlock()
	if wait < shortestNap {
		return
	}
	for wait > 0 && !stop() {
		nap := min(wait, longestNap)
		t.pause(nap)
		wait -= nap
	}
}

// Dirtiness is the share of a log that was never cleaned, of a job that cleans; ok is false for any other job. A host that has fewer threads
// than such jobs takes the dirtiest first, and never lets another job wait for one.
func Dirtiness(w Work) (ratio float64, ok bool) {
	if g, is := w.(gated); is {
		w = g.job
	}
	c, ok := w.(*compactWork)
	if !ok {
		return 0, false
	}
	return c.ratio, true
}
