package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelton-broker/pelton/internal/task"
)

// tailing is a run whose consumers follow producers: they go on until everything that was produced has come, or nothing more comes
// for a while.
type tailing struct {
	patience time.Duration
	seen     atomic.Int64 // records that have come, to all consumers together
	produced atomic.Int64 // records that must come; -1 while they are produced

	mu       sync.Mutex
	lastSeen int64
	since    time.Time
}

// complete is asked by every consumer between two requests.
func (t *tailing) complete() bool {
	all := t.produced.Load()
	if all < 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.seen.Load()
	if n != t.lastSeen || t.since.IsZero() {
		t.lastSeen, t.since = n, time.Now()
	}
	return n >= all || time.Since(t.since) > t.patience
}

// run produces while the consumers follow; each must come to each of them. It gives back what each consumer did.
func (t *tailing) run(ctx context.Context, consumers []*Rig, produce func() (Outcome, error)) (out Outcome, consumed []Outcome, errs []error) {
	t.produced.Store(-1)
	consumed, errs = make([]Outcome, len(consumers)), make([]error, len(consumers)+1)
	group := task.NewGroup()
	defer group.Stop()
	var wg sync.WaitGroup
	for i, c := range consumers {
		wg.Add(1)
		group.Go("consumers", func(context.Context) {
			defer wg.Done()
			consumed[i], errs[i] = c.until(ctx, func(int64) bool { return !t.complete() })
		})
	}
	out, err := produce()
	t.produced.Store(out.Records * int64(len(consumers)))
	if errs[len(consumers)] = err; err != nil {
		for _, c := range consumers {
			c.abort()
		}
	}
	wg.Wait()
	return out, consumed, errs
}

// tailWork reads everything that comes from now on; a tail holds its connection.
func (s *stage) tailWork(arrived func(batch []byte)) Workload {
	w := s.fetchWork(len(s.partitions))
	w.Arrived, w.MaxWaitMs = arrived, 100
	for _, p := range s.partitions {
		w.From[p] = s.ends[p]
	}
	return w
}
