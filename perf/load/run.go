package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// Run does what the options say, prints the final table (or JSON) to out and returns the result.
// A result comes with an error when the work was done but its counts do not agree.
func Run(ctx context.Context, o Options, out io.Writer) (*Result, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	r, err := measure(ctx, o)
	if r == nil {
		return nil, err
	}
	if err == nil && o.Mode != ModeSelfTest && o.Around == nil {
		err = r.ownLimit(ctx, o)
	}
	print := r.table
	if o.JSON {
		print = r.json
	}
	err = errors.Join(err, print(out))
	if o.HTML != "" {
		err = errors.Join(err, toFile(o.HTML, r.html))
	}
	if o.HDR != "" {
		err = errors.Join(err, toFile(o.HDR, r.hdr))
	}
	return r, err
}

func measure(ctx context.Context, o Options) (*Result, error) {
	switch o.Mode {
	case ModeSelfTest:
		return selfTest(ctx, o)
	case ModeConsume:
		return onStage(o, func(s *stage) (*Result, error) { return s.consume(ctx) })
	case ModeLatency:
		return onStage(o, func(s *stage) (*Result, error) { return s.endToEnd(ctx) })
	case ModeMixed:
		return onStage(o, func(s *stage) (*Result, error) { return s.mixed(ctx) })
	case ModeRecord:
		return onStage(o, func(s *stage) (*Result, error) { return s.record(ctx) })
	case ModeReplay:
		return onStage(o, func(s *stage) (*Result, error) { return s.replay(ctx) })
	}
	return onStage(o, func(s *stage) (*Result, error) { return s.produce(ctx) })
}

func toFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// stage is a run's topic: where its partitions are and what they hold.
type stage struct {
	o          Options
	control    *Control
	made       bool
	partitions []int32
	leaders    []string
	starts     map[int32]int64
	ends       map[int32]int64
}

func newStage(o Options) (*stage, error) {
	c, err := DialControl(o.Bootstrap)
	if err != nil {
		return nil, err
	}
	s := &stage{o: o, control: c}
	if err := s.open(); err != nil {
		c.Close()
		return nil, err
	}
	return s, nil
}

func (s *stage) open() error {
	if s.o.Partitions > 0 {
		made, err := s.control.CreateTopic(s.o.Topic, s.o.Partitions, nil)
		if err != nil {
			return err
		}
		s.made = made
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		// Leaders of a new topic take their place a moment after it is known.
		if err := s.look(); err == nil || !s.made || time.Now().After(end) {
			return err
		}
	}
}

// look learns where the partitions are and what they hold.
func (s *stage) look() (err error) {
	if s.leaders, err = s.control.Leaders(s.o.Topic); err != nil {
		return err
	}
	s.partitions = s.partitions[:0]
	for p := range s.leaders {
		s.partitions = append(s.partitions, int32(p))
	}
	if s.starts, err = s.offsets(AtStart); err != nil {
		return err
	}
	s.ends, err = s.offsets(AtEnd)
	return err
}

// offsets asks each partition's leader.
func (s *stage) offsets(at int64) (map[int32]int64, error) {
	byLeader := map[string][]int32{}
	for _, p := range s.partitions {
		byLeader[s.leaders[p]] = append(byLeader[s.leaders[p]], p)
	}
	all := map[int32]int64{}
	for addr, partitions := range byLeader {
		c, err := DialControl(addr)
		if err != nil {
			return nil, err
		}
		offsets, err := c.Offsets(s.o.Topic, partitions, at)
		c.Close()
		if err != nil {
			return nil, err
		}
		for p, n := range offsets {
			all[p] = n
		}
	}
	return all, nil
}

func (s *stage) close() error {
	defer s.control.Close()
	if s.made && !s.o.Keep {
		return s.control.DeleteTopic(s.o.Topic)
	}
	return nil
}

// produceWork is the producers' work and the records of one request, on average.
func (s *stage) produceWork() (w Workload, perRequest float64, err error) {
	o, now := s.o, time.Now().UnixMilli()
	w = Workload{Addr: o.Bootstrap, Kind: Produce, Connections: o.Connections, InFlight: o.InFlight, Topic: o.Topic,
		Partitions: s.partitions, Leaders: s.leaders, Acks: o.acks(), Idempotent: o.Idempotent, HoldNs: o.holdNs()}
	if !o.pooled() {
		w.Batch, err = o.batch(now)
		perRequest = 1
		if err == nil {
			perRequest = float64(binary.BigEndian.Uint32(w.Batch[batchCount:]))
		}
		return w, perRequest, err
	}
	if w.Pool, err = o.pool(len(s.partitions), now); err != nil {
		return w, 0, err
	}
	for _, u := range w.Pool {
		perRequest += float64(binary.BigEndian.Uint32(u.Batch[batchCount:]))
	}
	return w, perRequest / float64(len(w.Pool)), nil
}

// fetchWork reads with one connection per partition when partitions have several leaders.
func (s *stage) fetchWork(connections int) Workload {
	for _, l := range s.leaders {
		if l != s.leaders[0] {
			connections = len(s.leaders)
		}
	}
	return Workload{Addr: s.o.Bootstrap, Kind: Fetch, Connections: min(connections, len(s.partitions)), InFlight: 1, Topic: s.o.Topic, Partitions: s.partitions,
		Leaders: s.leaders, MaxBytes: int32(s.o.FetchBytes), MaxWaitMs: 500, From: map[int32]int64{}, To: map[int32]int64{}}
}

// onStage runs a measurement on the options' topic and clears up behind it, however it ended.
func onStage(o Options, run func(s *stage) (*Result, error)) (*Result, error) {
	s, err := newStage(o)
	if err != nil {
		return nil, err
	}
	r, err := run(s)
	return r, errors.Join(err, s.close())
}

func (s *stage) produce(ctx context.Context) (*Result, error) {
	o := s.o
	w, perRequest, err := s.produceWork()
	if err != nil {
		return nil, err
	}
	rig, err := NewRig(w)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	if err := warmUp(ctx, o, rig, perRequest); err != nil {
		return nil, err
	}
	r := newResult(o)
	if err := r.watch(ctx, rig.live, func() (Outcome, error) { return work(ctx, o, rig, perRequest) }); err != nil {
		return nil, err
	}
	if o.Verify && o.acks() != 0 {
		err = s.compareAcked(r.out.Acked)
	}
	return r, err
}

// warmUp does the same work for a while and forgets it.
func warmUp(ctx context.Context, o Options, rig *Rig, perRequest float64) (err error) {
	if o.Warmup <= 0 {
		return nil
	}
	if o.Rate > 0 {
		_, err = rig.Open(ctx, o.Rate/perRequest, o.Warmup)
	} else {
		_, err = rig.ClosedFor(ctx, o.Warmup)
	}
	rig.Forget()
	return err
}

// work does what counts.
func work(ctx context.Context, o Options, rig *Rig, perRequest float64) (Outcome, error) {
	requests := int64(math.Ceil(float64(o.Records) / perRequest))
	switch {
	case o.Rate > 0:
		length := o.Duration
		if o.Records > 0 {
			length = time.Duration(float64(o.Records) / o.Rate * 1e9)
		}
		return rig.Open(ctx, o.Rate/perRequest, length)
	case requests > 0:
		return rig.Closed(ctx, requests)
	}
	return rig.ClosedFor(ctx, o.Duration)
}

// compareAcked checks that each partition grew by exactly what was acknowledged, warm-up included.
func (s *stage) compareAcked(acked map[int32]int64) error {
	now, err := s.offsets(AtEnd)
	if err != nil {
		return err
	}
	for _, p := range s.partitions {
		if grown := now[p] - s.ends[p]; grown != acked[p] {
			err = errors.Join(err, fmt.Errorf("%w: %s-%d grew by %d records, %d were acknowledged", ErrCounts, s.o.Topic, p, grown, acked[p]))
		}
	}
	return err
}

func (s *stage) consume(ctx context.Context) (*Result, error) {
	o := s.o
	if o.Group != "" {
		return s.consumeInGroup(ctx)
	}
	w := s.fetchWork(o.Connections)
	var want int64
	for _, p := range s.partitions {
		w.From[p], w.To[p] = s.starts[p], s.ends[p]
		if o.From == "end" {
			w.From[p] = s.ends[p]
			delete(w.To, p)
		}
		want += s.ends[p] - s.starts[p]
	}
	w.Rewind = o.From == "beginning" && (o.Records > 0 || o.Duration > 0)
	rig, err := NewRig(w)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	if o.Warmup > 0 {
		if _, err := rig.ClosedFor(ctx, o.Warmup); err != nil {
			return nil, err
		}
		rig.Forget()
	}
	r := newResult(o)
	err = r.watch(ctx, rig.live, func() (Outcome, error) {
		switch {
		case o.Duration > 0:
			return rig.ClosedFor(ctx, o.Duration)
		case o.Records > 0:
			return rig.until(ctx, func(records int64) bool { return records < o.Records/int64(w.Connections) })
		}
		return rig.until(ctx, func(int64) bool { return true })
	})
	if err != nil {
		return nil, err
	}
	if o.Verify && !w.Rewind && o.From == "beginning" && r.out.Records != want {
		err = fmt.Errorf("%w: %d records came, the log holds %d", ErrCounts, r.out.Records, want)
	}
	return r, err
}
