package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/task"
)

// Kind is what a workload's connections do.
type Kind uint8

// The kinds of work.
const (
	Produce Kind = iota
	Fetch
	Message // fixed-size messages to the ping-pong floor
)

// Workload is work for a number of connections, all alike.
type Workload struct {
	Addr         string
	Floor        bool // Addr is a floor program, which gets the same frames
	Kind         Kind
	Connections  int
	InFlight     int // closed loop: requests outstanding on each connection
	Topic        string
	Partitions   []int32  // produce: all connections take them in turn; fetch: connection i reads every n-th from the i-th on
	OwnPartition bool     // produce: connection i writes only to the i-th, modulo
	Leaders      []string // by partition number; empty: everything is at Addr
	Acks         int16
	Batch        []byte
	Pool         []Pooled // instead of Batch and Partitions' turns: batches with a partition each
	Idempotent   bool
	MaxBytes     int32 // fetch
	MaxWaitMs    int32
	Rewind       bool            // fetch: start over at the end
	Arrived      func([]byte)    // fetch: gets every batch, on the connection's goroutine
	Stay         bool            // fetch: read the first stretch again and again
	From, To     map[int32]int64 // fetch: offsets of each partition; To missing: follow the tail
	MessageBytes int
	WarmNs       int64 // open loop: latencies of the first stretch are discarded
	HoldNs       int64 // open loop: a request's first record waits so long for its last one

	plans []*replayPlan // of a replay: what each connection does
}

// Rig is the connections of a workload, ready to go: everything that allocates has happened.
type Rig struct {
	w     Workload
	clk   clock.Clock
	mu    sync.Mutex // guards wires against an abort that comes with the end
	wires []*wire
	loops []*loop
	live  *live
}

// Outcome is what a run did and how long it took.
type Outcome struct {
	*Stats
	Elapsed time.Duration
}

// NewRig connects and prepares.
func NewRig(w Workload) (*Rig, error) {
	r := &Rig{w: w, clk: clock.NewReal(), live: &live{}}
	for i := range max(w.Connections, 1) {
		if err := r.add(i); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

func (r *Rig) add(i int) error {
	ex, addr, err := r.exchange(i)
	if err != nil {
		return err
	}
	wire, err := dial(addr)
	if err != nil {
		return err
	}
	r.wires = append(r.wires, wire)
	l := newLoop(wire, ex, r.clk, newStats(r.w.Partitions))
	l.live = r.live
	r.loops = append(r.loops, l)
	return nil
}

func (r *Rig) exchange(i int) (ex exchange, addr string, err error) {
	w, addr := r.w, r.w.Addr
	switch w.Kind {
	case Message:
		return newMessage(w.MessageBytes), addr, nil
	case Fetch:
		spec := FetchSpec{Topic: w.Topic, MaxBytes: w.MaxBytes, MinBytes: 1, MaxWaitMs: w.MaxWaitMs, Rewind: w.Rewind, Stay: w.Stay, Arrived: w.Arrived}
		for n := i % len(w.Partitions); n < len(w.Partitions); n += max(w.Connections, 1) {
			s := Stretch{Partition: w.Partitions[n], From: w.From[w.Partitions[n]], To: -1}
			if to, ok := w.To[s.Partition]; ok {
				s.To = to
			}
			spec.Stretches = append(spec.Stretches, s)
		}
		addr = w.leader(spec.Stretches[0].Partition)
		ex, err = newFetch(spec)
	case Produce:
		if w.plans != nil {
			return w.plans[i].ex, w.plans[i].addr, nil
		}
		if len(w.Pool) > 0 {
			ex, addr, err = w.series(i)
			break
		}
		mine := w.led(i)
		addr = w.leader(mine[0])
		spec := ProduceSpec{Topic: w.Topic, Partitions: mine, Acks: w.Acks, Batch: w.Batch, ProducerID: -1}
		if w.Idempotent {
			if spec.ProducerID, spec.Epoch, err = producerID(addr); err != nil {
				return nil, "", err
			}
		}
		ex, err = newProduce(spec)
	}
	if err == nil && w.Floor {
		ex = &floor{exchange: ex}
	}
	return ex, addr, err
}

func (w Workload) leader(p int32) string {
	if int(p) < len(w.Leaders) {
		return w.Leaders[p]
	}
	return w.Addr
}

// led is the partitions of connection i: those that share a leader with its first one, from that one on.
func (w Workload) led(i int) []int32 {
	first := i % len(w.Partitions)
	if w.OwnPartition {
		return w.Partitions[first : first+1]
	}
	var mine []int32
	for n := range w.Partitions {
		p := w.Partitions[(first+n)%len(w.Partitions)]
		if w.leader(p) == w.leader(w.Partitions[first]) {
			mine = append(mine, p)
		}
	}
	return mine
}

func producerID(addr string) (int64, int16, error) {
	c, err := DialControl(addr)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	return c.ProducerID()
}

// Closed sends that many requests at full speed, shared evenly by the connections, and takes all
// answers. When ctx ends the connections are cut.
func (r *Rig) Closed(ctx context.Context, requests int64) (Outcome, error) {
	n := int64(len(r.loops))
	return r.run(ctx, func(i int, l *loop) error {
		quota := requests / n
		if int64(i) < requests%n {
			quota++
		}
		quota += l.tail
		return l.closed(max(r.w.InFlight, 1), func(sent int64) bool { return sent < quota && !ended(l.ex) })
	})
}

// Aim gives connection i of a produce rig other partitions.
func (r *Rig) Aim(i int, partitions []int32) {
	if p, ok := r.loops[i].ex.(*produce); ok {
		p.partitions, p.sequences = partitions, make([]int32, len(partitions))
	}
}

// Knock sends that many ApiVersions requests on connection i, one by one, between runs: a broker
// that counts requests by shard then shows where the connection lives.
func (r *Rig) Knock(i, times int) error {
	c := &Control{w: r.wires[i]}
	for range times {
		if _, err := c.Do(kmsg.NewPtrApiVersionsRequest()); err != nil {
			return err
		}
	}
	return nil
}

// ClosedFor does the same until the time is over.
func (r *Rig) ClosedFor(ctx context.Context, length time.Duration) (Outcome, error) {
	until := r.clk.Mono() + int64(length)
	return r.run(ctx, func(_ int, l *loop) error {
		return l.closed(max(r.w.InFlight, 1), func(int64) bool { return r.clk.Mono() < until && !ended(l.ex) })
	})
}

// until runs the connections one request at a time for as long as goOn, told the records that a
// connection has got, says so, and its exchange has something left to do.
func (r *Rig) until(ctx context.Context, goOn func(records int64) bool) (Outcome, error) {
	return r.run(ctx, func(_ int, l *loop) error {
		return l.closed(max(r.w.InFlight, 1), func(int64) bool { return goOn(l.stats.Records) && !ended(l.ex) })
	})
}

// Forget drops latencies and counts so far, except what was acknowledged in each partition.
func (r *Rig) Forget() {
	for _, l := range r.loops {
		acked := l.stats.Acked
		l.stats = newStats(nil)
		l.stats.Acked = acked
	}
	r.live.take(0)
}

// Open sends perSecond requests a second in all for that long, or until ctx ends.
func (r *Rig) Open(ctx context.Context, perSecond float64, length time.Duration) (Outcome, error) {
	n := float64(len(r.loops))
	interval := int64(n / perSecond * 1e9)
	if interval < 1 {
		return Outcome{}, fmt.Errorf("a rate of %v a second is not one", perSecond)
	}
	start := r.clk.Mono() + 5e6
	return r.run(ctx, func(i int, l *loop) error {
		l.warmUntil, l.hold = start+r.w.WarmNs, r.w.HoldNs
		first := start + interval*int64(i)/int64(n)
		return l.open(first, interval, start+int64(length))
	})
}

func ended(ex exchange) bool {
	f, ok := ex.(*fetch)
	return ok && f.ended
}

func (r *Rig) run(ctx context.Context, work func(i int, l *loop) error) (Outcome, error) {
	group := task.NewGroup()
	defer group.Stop()
	halt := context.AfterFunc(ctx, r.abort)
	defer halt()
	var wg sync.WaitGroup
	var once sync.Once
	var cause error
	began := time.Now()
	for i, l := range r.loops {
		wg.Add(1)
		group.Go("connection", func(context.Context) {
			defer wg.Done()
			precise()
			if err := work(i, l); err != nil {
				// The others must not run on alone; what their broken sockets say is not the cause.
				once.Do(func() { cause = fmt.Errorf("connection %d: %w", i, err) })
				r.abort()
			}
		})
	}
	wg.Wait()
	out := Outcome{Stats: newStats(r.w.Partitions), Elapsed: time.Since(began)}
	for _, l := range r.loops {
		out.Merge(l.stats)
	}
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	return out, cause
}

// abort ends all connections; the loops come back with an error.
func (r *Rig) abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.wires {
		w.Abort()
	}
}

// Close ends the connections.
func (r *Rig) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.wires {
		w.Close()
	}
	r.wires = nil
}
