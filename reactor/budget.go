package reactor

import "github.com/pelton-broker/pelton/internal/invariant"

// Budget bounds the bytes of requests that a shard has in flight. It belongs to the shard's thread.
//
// Beside the bound there is one lane: a request of more than a quarter of it may use the lane when the rest is taken, one at a time, so that
// the largest frame is never starved by a stream of small ones. used + lane is what is out.
type Budget struct {
	limit int64 // <= 0: no bound
	used  int64
	lane  int64 // bytes of the request in the lane, 0 when it is free
}

// NewBudget bounds to limit bytes; zero is no bound.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Take takes n bytes, or nothing and is false.
func (b *Budget) Take(n int64) bool {
	if b.limit <= 0 || b.used+n <= b.limit {
		b.used += n
		return true
	}
	if b.lane == 0 && n > b.limit/4 {
		b.lane = n
		return true
	}
	return false
}

// Give returns what one Take took. Two requests of the same size may change places in the lane; the sum is the same.
func (b *Budget) Give(n int64) {
	if n > 0 && b.lane == n {
		b.lane = 0
		return
	}
	if b.used -= n; b.used < 0 {
		invariant.Broken("reactor: budget given back twice", n, b.used)
	}
}

// InUse is what is taken.
func (b *Budget) InUse() int64 { return b.used + b.lane }
