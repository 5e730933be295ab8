package clock

import "time"

// Clock tells wall and monotonic time.
type Clock interface {
	// WallMs is the unix time in milliseconds; it may jump.
	WallMs() int64
	// Mono is a monotonic count in nanoseconds from an arbitrary start.
	Mono() int64
}

// Real is the machine's clock.
type Real struct{ start time.Time }

// NewReal returns the machine's clock, its monotonic count starting now.
func NewReal() *Real { return &Real{start: time.Now()} }

// WallMs implements Clock.
func (*Real) WallMs() int64 { return time.Now().UnixMilli() }

// Mono implements Clock.
func (r *Real) Mono() int64 { return int64(time.Since(r.start)) }
