package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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
	m := &mix{o: o, perRequest: perRequest, producers: producers, tailing: tailing{patience: o.patience}}
	defer m.close()
	for range o.Consumers {
		c, err := NewRig(s.tailWork(m.take))
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
	tailing
}

func (m *mix) take(batch []byte) {
	m.seen.Add(int64(binary.BigEndian.Uint32(batch[batchCount:])))
}

func (m *mix) run(ctx context.Context) (out Outcome, err error) {
	var errs []error
	out, m.outcomes, errs = m.tailing.run(ctx, m.consumers, func() (Outcome, error) { return work(ctx, m.o, m.producers, m.perRequest) })
	return out, errors.Join(errs...)
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
