package perf

import (
	"fmt"
	"io"
	"sync/atomic"
)

// Event is what a trace entry tells.
type Event uint8

// Events of a trace.
const (
	EventTurn Event = iota + 1
	EventSlowTurn
	EventSlowDisk
	EventSlowMail
	EventPause
	EventRoll
)

// String names the event.
func (e Event) String() string {
	return nth(int(e)-1, "turn", "slow-turn", "slow-disk", "slow-mail", "pause", "roll")
}

const traceWords = 4

// Trace is a ring of the shard's most recent events, written by the shard and dumped when a
// promise broke. A dump that runs beside the shard may show its oldest line half overwritten.
type Trace struct {
	words []int64 // per entry: time, event, nanoseconds, detail
	next  int64   // entries written in all
}

// NewTrace makes a ring of n entries.
func NewTrace(n int) *Trace { return &Trace{words: make([]int64, n*traceWords)} }

// Note keeps an event: when (monotonic ns), how long it took, and one number about it.
func (t *Trace) Note(at int64, e Event, tookNs, detail int64) {
	i := int(t.next%int64(len(t.words)/traceWords)) * traceWords
	store(&t.words[i], at)
	store(&t.words[i+1], int64(e))
	store(&t.words[i+2], tookNs)
	store(&t.words[i+3], detail)
	store(&t.next, t.next+1)
}

// Dump writes the kept events, oldest first.
func (t *Trace) Dump(w io.Writer) error {
	size := int64(len(t.words) / traceWords)
	end := atomic.LoadInt64(&t.next)
	for n := max(0, end-size); n < end; n++ {
		i := int(n%size) * traceWords
		_, err := fmt.Fprintf(w, "at=%d event=%s took=%d detail=%d\n", atomic.LoadInt64(&t.words[i]),
			Event(atomic.LoadInt64(&t.words[i+1])), atomic.LoadInt64(&t.words[i+2]), atomic.LoadInt64(&t.words[i+3]))
		if err != nil {
			return err
		}
	}
	return nil
}
