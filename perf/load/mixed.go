package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelton-broker/pelton/internal/task"
)

// Consumed is the consumers' side of a run that produces too.
type Consumed struct {
	Consumers int     `json:"consumers"`
	Records   int64   `json:"records"`
	Bytes     int64   `json:"bytes"`
	Seconds   float64 `json:"seconds"`
	MB        float64 `json:"mb_per_second"`
}

// mixed produces, and meanwhile each of the consumers reads everything that comes.
func (s *stage) mixed(ctx context.Context) (*Result, error) {
	o := s.o
	work, perRequest, err := s.produceWork()
	if err != nil {
		return nil, err
	}
	producers, err := NewRig(work)
	if err != nil {
		return nil, err
	}
	defer producers.Close()
	m := &mix{o: o, perRequest: perRequest, producers: producers}
	defer m.close()
	for range o.Consumers {
		w := s.fetchWork(len(s.partitions)) // a tail holds its connection
		w.Arrived, w.MaxWaitMs = m.take, 100
		for _, p := range s.partitions {
			w.From[p] = s.ends[p]
		}
		c, err := NewRig(w)
		if err != nil {
			return nil, err
		}
		m.consumers = append(m.consumers, c)
	}
	r := newResult(o)
	if err := r.watch(ctx, producers.live, func() (Outcome, error) { return m.run(ctx) }); err != nil {
		return nil, err
	}
	r.Consumed = m.consumed()
	if !o.Verify || o.acks() == 0 {
		return r, nil
	}
	err = s.compareAcked(r.out.Acked)
	for i, out := range m.outcomes {
		if out.Records != r.out.Records {
			err = errors.Join(err, fmt.Errorf("%w: %d records were acknowledged, %d came to consumer %d", ErrCounts, r.out.Records, out.Records, i))
		}
	}
	return r, err
}

// mix is producers and consumers at work together.
type mix struct {
	o          Options
	perRequest float64
	producers  *Rig
	consumers  []*Rig
	outcomes   []Outcome // of each consumer
	seen       atomic.Int64
	produced   atomic.Int64 // -1 while they produce
	mu         sync.Mutex
	lastSeen   int64
	since      time.Time
}

func (m *mix) take(batch []byte) {
	m.seen.Add(int64(binary.BigEndian.Uint32(batch[batchCount:])))
}

// complete is true when everything has come to everybody, or nothing more comes for a while.
func (m *mix) complete() bool {
	all := m.produced.Load()
	if all < 0 {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.seen.Load()
	if n != m.lastSeen || m.since.IsZero() {
		m.lastSeen, m.since = n, time.Now()
	}
	return n >= all*int64(len(m.consumers)) || time.Since(m.since) > m.o.patience
}

func (m *mix) run(ctx context.Context) (Outcome, error) {
	m.produced.Store(-1)
	m.outcomes = make([]Outcome, len(m.consumers))
	errs := make([]error, len(m.consumers))
	group := task.NewGroup()
	defer group.Stop()
	var wg sync.WaitGroup
	for i, c := range m.consumers {
		wg.Add(1)
		group.Go("consumers", func(context.Context) {
			defer wg.Done()
			m.outcomes[i], errs[i] = c.until(ctx, func(int64) bool { return !m.complete() })
		})
	}
	out, err := work(ctx, m.o, m.producers, m.perRequest)
	m.produced.Store(out.Records)
	if err != nil {
		for _, c := range m.consumers {
			c.abort()
		}
	}
	wg.Wait()
	return out, errors.Join(append(errs, err)...)
}

func (m *mix) consumed() *Consumed {
	c := &Consumed{Consumers: len(m.consumers)}
	for _, out := range m.outcomes {
		c.Records, c.Bytes, c.Seconds = c.Records+out.Records, c.Bytes+out.Bytes, max(c.Seconds, out.Elapsed.Seconds())
	}
	c.MB = float64(c.Bytes) / 1e6 / max(c.Seconds, 1e-9)
	return c
}

func (m *mix) close() {
	for _, c := range m.consumers {
		c.Close()
	}
}
