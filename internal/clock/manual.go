package clock

import (
	"sync"
	"time"
)

// Manual is a clock that moves only when told to.
type Manual struct {
	mu struct {
		sync.Mutex
		wallMs int64
		mono   int64
	}
}

// NewManual returns a clock that shows wallMs and a monotonic count of 1.
func NewManual(wallMs int64) *Manual {
	m := &Manual{}
	m.mu.wallMs, m.mu.mono = wallMs, 1
	return m
}

// WallMs implements Clock.
func (m *Manual) WallMs() int64 { m.mu.Lock(); defer m.mu.Unlock(); return m.mu.wallMs }

// Mono implements Clock.
func (m *Manual) Mono() int64 { m.mu.Lock(); defer m.mu.Unlock(); return m.mu.mono }

// Advance moves both times forward by d.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.wallMs += d.Milliseconds()
	m.mu.mono += int64(d)
}

// Jump moves the wall time alone, as an operator or NTP would.
func (m *Manual) Jump(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.wallMs += d.Milliseconds()
}
