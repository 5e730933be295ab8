package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// stampBytes is the mark at the start of a value: the run, and the intended moment of sending.
const stampBytes = 16

// stamper is an exchange that writes the intended time into what it sends.
type stamper interface{ stamp(at int64) }

// marked is a produce exchange of one-record batches whose value begins with the mark.
type marked struct {
	*produce
	valueAt int
	run     uint64
}

// newMarked finds the value of the batch's only record.
func newMarked(p *produce, run uint64) *marked {
	return &marked{produce: p, valueAt: valueOf(p.batch), run: run}
}

// valueOf is where the value of an uncompressed batch's first record stands; behind the batch's end
// when it cannot be read.
func valueOf(batch []byte) int {
	r := reader{b: batch[batchRecords:]}
	r.varint() // the record's length
	r.skip(1)  // attributes
	r.varint() // timestamp
	r.varint() // offset
	r.skip(max(0, r.varint()))
	r.varint() // the value's length
	if r.bad {
		return len(batch)
	}
	return len(batch) - len(r.b)
}

func (m *marked) stamp(at int64) {
	binary.BigEndian.PutUint64(m.batch[m.valueAt:], m.run)
	binary.BigEndian.PutUint64(m.batch[m.valueAt+8:], uint64(at))
	m.sealer.changed(m.batch) // next seals it
	m.sealedMs = 0
}

// endToEnd produces at a fixed rate and consumes at the tail, both in this process and on one clock.
func (s *stage) endToEnd(ctx context.Context) (*Result, error) {
	o := s.o
	work, _, err := s.produceWork()
	if err != nil {
		return nil, err
	}
	producers, err := NewRig(work)
	if err != nil {
		return nil, err
	}
	defer producers.Close()
	run := uint64(time.Now().UnixNano())
	for _, l := range producers.loops {
		l.ex = newMarked(l.ex.(*produce), run)
	}
	tail := &tail{o: o, run: run, clk: producers.clk, stats: newStats(nil), live: producers.live, tailing: tailing{patience: o.patience}}
	consumers, err := NewRig(s.tailWork(tail.take))
	if err != nil {
		return nil, err
	}
	defer consumers.Close()
	consumers.clk = producers.clk
	r := newResult(o)
	if err := r.watch(ctx, producers.live, func() (Outcome, error) { return tail.follow(ctx, producers, consumers) }); err != nil {
		return nil, err
	}
	if lost := r.out.Records - tail.seen.Load(); lost != 0 {
		err = fmt.Errorf("%w: %d records were acknowledged, %d came back", ErrCounts, r.out.Records, tail.seen.Load())
	}
	r.out.Latency = tail.stats.Latency
	return r, err
}

// tail is the consumers' side of an end-to-end run.
type tail struct {
	o     Options
	run   uint64
	clk   interface{ Mono() int64 }
	from  atomic.Int64 // intended times before it belong to the warm-up
	mu    sync.Mutex   // consumers of several partitions meet in one histogram
	stats *Stats
	live  *live
	tailing
}

// take measures a batch that has come.
func (t *tail) take(batch []byte) {
	now := t.clk.Mono()
	at := valueOf(batch)
	if len(batch) < at+stampBytes || binary.BigEndian.Uint64(batch[at:]) != t.run {
		return // somebody else's record
	}
	t.seen.Add(1)
	sent := int64(binary.BigEndian.Uint64(batch[at+8:]))
	if sent < t.from.Load() {
		return
	}
	t.live.observe(now - sent)
	t.live.count(int64(len(batch)))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.observe(now - sent)
}

// follow runs the producers, and the consumers behind them.
func (t *tail) follow(ctx context.Context, producers, consumers *Rig) (Outcome, error) {
	t.from.Store(t.clk.Mono() + int64(t.o.Warmup))
	length := t.o.Warmup + t.o.Duration
	if t.o.Records > 0 {
		length = t.o.Warmup + time.Duration(float64(t.o.Records)/t.o.Rate*1e9)
	}
	for _, l := range producers.loops {
		l.live = nil // the heat map shows what the consumers saw
	}
	out, _, errs := t.tailing.run(ctx, []*Rig{consumers}, func() (Outcome, error) { return producers.Open(ctx, t.o.Rate, length) })
	return out, errors.Join(errs...)
}
