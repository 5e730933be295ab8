package quota

import "math"

// Bucket gives out tokens at a rate and keeps those of all windows: a burst may use them at once. Taking more than there are is allowed,
// and paid back before the next. The zero value is full.
type Bucket struct {
	begun  bool
	tokens float64
	lastMs int64
}

// refill brings the bucket to nowMs and returns what it holds at most.
func (b *Bucket) refill(w Windows, perSecond float64, nowMs int64) (burst float64) {
	burst = float64(w.Num) * float64(w.Ms) / 1000 * perSecond
	if !b.begun {
		b.begun, b.tokens, b.lastMs = true, burst, nowMs
	}
	b.tokens = min(burst, b.tokens+perSecond*float64(nowMs-b.lastMs)/1000)
	b.lastMs = nowMs
	return burst
}

// Take takes n tokens, whether there are so many or not.
func (b *Bucket) Take(w Windows, perSecond, n float64, nowMs int64) {
	burst := b.refill(w, perSecond, nowMs)
	b.tokens = min(burst, b.tokens-n)
}

// Wait is how many milliseconds pass until nothing is owed any more; 0 when nothing is.
func (b *Bucket) Wait(w Windows, perSecond float64, nowMs int64) int64 {
	b.refill(w, perSecond, nowMs)
	if b.tokens >= 0 {
		return 0
	}
	return round(-b.tokens * 1000 / perSecond)
}

// round is the nearest whole number, halves upward, within what an answer's field can carry.
func round(ms float64) int64 {
	if math.IsNaN(ms) || ms > math.MaxInt32 {
		return math.MaxInt32
	}
	return int64(math.Floor(ms + 0.5))
}
