package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"time"
)

// record reads a topic's batches and writes their times and shapes into a file.
func (s *stage) record(ctx context.Context) (*Result, error) {
	o := s.o
	t := &Trace{TraceHead: TraceHead{traceVersion, o.Topic, len(s.partitions)}}
	var mu sync.Mutex
	var rigs []*Rig
	defer func() {
		for _, r := range rigs {
			r.Close()
		}
	}()
	for _, p := range s.partitions {
		w := s.fetchWork(1)
		w.Partitions, w.Connections, w.MaxWaitMs = []int32{p}, 1, 100
		w.From[p], w.To[p] = s.starts[p], s.ends[p]
		if o.From == "end" {
			w.From[p] = s.ends[p]
			delete(w.To, p)
		}
		w.Arrived = func(b []byte) {
			mu.Lock()
			defer mu.Unlock()
			t.Entries = append(t.Entries, TraceEntry{AtUs: int64(binary.BigEndian.Uint64(b[batchMaxTime:])) * 1000, Partition: p,
				Records: int(binary.BigEndian.Uint32(b[batchCount:])), Bytes: len(b)})
		}
		rig, err := NewRig(w)
		if err != nil {
			return nil, err
		}
		rigs = append(rigs, rig)
	}
	r := newResult(o)
	err := r.watch(ctx, rigs[0].live, func() (Outcome, error) { return together(ctx, rigs, o.Duration) })
	if err != nil {
		return nil, err
	}
	t.settle()
	r.Notes = append(r.Notes, fmt.Sprintf("%d batches of %d partitions in %s", len(t.Entries), t.Partitions, o.File))
	if n := len(t.Entries); n > 1 && t.Entries[n-1].AtUs == 0 {
		r.Notes = append(r.Notes, "every batch carries the same time: a replay will send them all at once")
	}
	return r, toFile(o.File, t.Write)
}

// together runs rigs at once, each until it has ended or the time is over, and adds up what they did.
func together(ctx context.Context, rigs []*Rig, length time.Duration) (Outcome, error) {
	sum := Outcome{Stats: newStats(nil)}
	errs := make([]error, len(rigs))
	outs := make([]Outcome, len(rigs))
	var wg sync.WaitGroup
	began := time.Now()
	for i, r := range rigs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			outs[i], errs[i] = r.until(ctx, func(int64) bool { return length == 0 || time.Since(began) < length })
		}()
	}
	wg.Wait()
	for _, o := range outs {
		if o.Stats != nil {
			sum.Merge(o.Stats)
		}
	}
	sum.Elapsed = time.Since(began)
	return sum, errors.Join(errs...)
}

// shape is what distinguishes the batches of a replay.
type shape struct{ records, bytes int }

// shapeOf rounds a batch's bytes to a thirty-second of their power of two: so few different batches are prepared, and none is more than
// 2 % off.
func shapeOf(e TraceEntry) shape {
	unit := 1 << max(0, bits.Len(uint(e.Bytes))-6)
	return shape{e.Records, (e.Bytes + unit/2) / unit * unit}
}

// batch builds a batch of about that shape: records of one size that do not compress, so that as many bytes move as then, whatever was
// in them.
func (s shape) batch(nowMs int64) ([]byte, error) {
	each := max(0, (s.bytes-batchRecords)/s.records-recordOverhead)
	return BuildBatch(BatchSpec{Records: s.records, RecordBytes: each, Random: 1, TimeMs: nowMs})
}

const maxShapeBytes = 512 << 20

// replay sends the batches of a recorded workload at their times.
func (s *stage) replay(ctx context.Context) (*Result, error) {
	o := s.o
	t, err := LoadTrace(o.File)
	if err != nil {
		return nil, err
	}
	plans, err := s.replayPlans(t)
	if err != nil {
		return nil, err
	}
	rig, err := NewRig(Workload{Kind: Produce, Connections: len(plans), plans: plans})
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	r := newResult(o)
	if err := r.watch(ctx, rig.live, func() (Outcome, error) { return rig.replay(ctx, plans) }); err != nil {
		return nil, err
	}
	if last := t.Entries[len(t.Entries)-1].AtUs; last > 0 {
		var records int64
		for _, e := range t.Entries {
			records += int64(e.Records)
		}
		r.AskedPerSecond = float64(records) / (float64(last) / 1e6 / o.Speed)
	}
	if o.Verify && o.acks() != 0 {
		err = s.compareAcked(r.out.Acked)
	}
	return r, err
}

// replayPlan is one connection's part of a replay.
type replayPlan struct {
	addr string
	ex   *series
	at   []int64 // ns from the start, for each step
}

// replayPlans shares the entries out: a partition's batches stay on one connection, so that they stay in order.
func (s *stage) replayPlans(t *Trace) ([]*replayPlan, error) {
	o := s.o
	type home struct {
		leader string
		n      int
	}
	plans, frames := map[home]*replayPlan{}, map[home]map[shape]*prepared{}
	built, total := map[shape][]byte{}, 0
	var order []*replayPlan
	now := time.Now().UnixMilli()
	for _, e := range t.Entries {
		p := e.Partition % int32(len(s.partitions))
		h := home{s.leaders[p], int(p) % o.Connections}
		plan := plans[h]
		if plan == nil {
			plan = &replayPlan{addr: h.leader, ex: &series{acks: o.acks(), producerID: -1, sequences: map[int32]int32{}}}
			plans[h], frames[h], order = plan, map[shape]*prepared{}, append(order, plan)
		}
		k := shapeOf(e)
		f := frames[h][k]
		if f == nil {
			var err error
			if built[k] == nil {
				if built[k], err = k.batch(now); err != nil {
					return nil, err
				}
			}
			if total += len(built[k]); total > maxShapeBytes {
				return nil, fmt.Errorf("%w %s: its batches have too many shapes: more than %d MB would have to be prepared", ErrTrace, o.File, maxShapeBytes>>20)
			}
			if f, err = prepare(o.Topic, o.acks(), 0, built[k]); err != nil {
				return nil, err
			}
			frames[h][k] = f
		}
		plan.ex.steps = append(plan.ex.steps, step{f, p})
		plan.at = append(plan.at, int64(float64(e.AtUs)*1000/o.Speed))
	}
	for _, plan := range order {
		if !o.Idempotent {
			continue
		}
		var err error
		if plan.ex.producerID, plan.ex.epoch, err = producerID(plan.addr); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// lateNs is how much later than its time a batch of a replay may leave before it counts as late.
const lateNs = int64(time.Millisecond)

// replay sends each plan's steps at their times.
func (r *Rig) replay(ctx context.Context, plans []*replayPlan) (Outcome, error) {
	start := r.clk.Mono() + 5e6
	return r.run(ctx, func(i int, l *loop) error {
		n := 0
		return l.paced(lateNs, func() (int64, bool) {
			if n == len(plans[i].at) {
				return 0, false
			}
			n++
			return start + plans[i].at[n-1], true
		})
	})
}
