package quota

import "sync"

// Meter is what one client has used of one kind. Connections of the client may lie on any shard, so that the meter is shared and guarded:
// it is met only by who has a quota, for a few additions.
type Meter struct {
	tag Tag
	w   Windows
	mu  struct {
		sync.Mutex
		rate   Rate
		bucket Bucket
		usedMs int64
	}
	users int // sessions that hold the meter; the book's mutex guards it
}

// Charge adds what was used and returns how many milliseconds the client has to wait for that.
func (m *Meter) Charge(bound, value float64, nowMs int64) (waitMs int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.usedMs = nowMs
	m.mu.rate.Record(m.w, value, nowMs)
	return m.mu.rate.Wait(m.w, bound, nowMs)
}

// Add adds what was used and asks for nothing; a value below zero takes back what was charged and did not happen.
func (m *Meter) Add(value float64, nowMs int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.usedMs = nowMs
	m.mu.rate.Record(m.w, value, nowMs)
}

// Most is how much may be used in one window of full length: a fetch asks for no more at once.
func (m *Meter) Most(bound float64) float64 {
	return bound * float64(m.w.Num-1) * float64(m.w.Ms) / 1000
}

// WindowMs is the length of one window.
func (m *Meter) WindowMs() int64 { return m.w.Ms }

// Owed is how many milliseconds pass until tokens may be taken again; 0 for at once.
func (m *Meter) Owed(bound float64, nowMs int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.bucket.Wait(m.w, bound, nowMs)
}

// Take takes tokens and returns how many milliseconds the client has to wait for that. A strict one takes nothing while tokens are owed.
func (m *Meter) Take(bound, tokens float64, strict bool, nowMs int64) (waitMs int64, taken bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.usedMs = nowMs
	if strict {
		if owed := m.mu.bucket.Wait(m.w, bound, nowMs); owed > 0 {
			return owed, false
		}
		m.mu.bucket.Take(m.w, bound, tokens, nowMs)
		return 0, true
	}
	m.mu.bucket.Take(m.w, bound, tokens, nowMs)
	return m.mu.bucket.Wait(m.w, bound, nowMs), true
}
