package load

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"

	"github.com/pelton-broker/pelton/internal/task"
)

// nullSink answers every frame with its correlation id, and forgets it: what is left is the generator's own cost. To consumers it sends
// the same bytes each time.
type nullSink struct {
	l     net.Listener
	group *task.Group
}

func newNullSink(answer []byte) (*nullSink, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &nullSink{l: l, group: task.NewGroup()}
	s.group.Go("accept", func(ctx context.Context) {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			s.group.Go("connection", func(ctx context.Context) {
				stop := context.AfterFunc(ctx, func() { c.Close() })
				defer stop()
				defer c.Close()
				_ = swallow(c, answer)
			})
		}
	})
	return s, nil
}

func (s *nullSink) addr() string { return s.l.Addr().String() }

func (s *nullSink) close() error {
	err := s.l.Close()
	s.group.Stop()
	return err
}

// swallow reads frames until the peer is done; answers are written when no whole frame is waiting.
func swallow(c io.ReadWriter, answer []byte) error {
	in, out := bufio.NewReaderSize(c, 256<<10), bufio.NewWriterSize(c, 64<<10)
	for {
		head, err := in.Peek(12)
		if err != nil {
			return err
		}
		size := 4 + int(binary.BigEndian.Uint32(head))
		if size < 12 {
			return errors.New("load: a frame without a header")
		}
		ack := [8]byte{4: head[8], 5: head[9], 6: head[10], 7: head[11]}
		binary.BigEndian.PutUint32(ack[:], uint32(4+len(answer)))
		if _, err := in.Discard(size); err != nil {
			return err
		}
		if _, err := out.Write(ack[:]); err != nil {
			return err
		}
		if _, err := out.Write(answer); err != nil {
			return err
		}
		if in.Buffered() < 12 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

// selfTest drives the null sink with the workload of the options.
func selfTest(ctx context.Context, o Options) (*Result, error) {
	batch, err := o.batch(0)
	if err != nil {
		return nil, err
	}
	return againstNull(ctx, o, nil, Workload{Kind: Produce, Connections: o.Connections, InFlight: o.InFlight, Acks: 1, Batch: batch})
}

// selfTestOfConsuming has consumers read answers of so many bytes from it.
func selfTestOfConsuming(ctx context.Context, o Options, bytes int) (*Result, error) {
	return againstNull(ctx, o, make([]byte, bytes), Workload{Kind: Fetch, Connections: o.Connections, InFlight: 1, MaxBytes: int32(o.FetchBytes), Stay: true})
}

func againstNull(ctx context.Context, o Options, answer []byte, w Workload) (r *Result, err error) {
	sink, err := newNullSink(answer)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sink.close()) }()
	w.Addr, w.Floor, w.Topic, w.Partitions = sink.addr(), true, o.Topic, []int32{0}
	rig, err := NewRig(w)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	if err := warmUp(ctx, o, rig, float64(o.perBatch())); err != nil {
		return nil, err
	}
	r = newResult(o)
	if err := r.watch(ctx, rig.live, func() (Outcome, error) { return work(ctx, o, rig, float64(o.perBatch())) }); err != nil {
		return nil, err
	}
	return r, nil
}

// nearLimit is the share of the generator's own limit from which a result says more about it than about the broker.
const nearLimit = 0.8

// ownLimit measures how fast this process could have gone at full speed, and notes when that is close. A replay and a group have no limit of
// that kind: their pace is the recording's, and mostly waiting.
func (r *Result) ownLimit(ctx context.Context, o Options) error {
	mode := o.Mode
	o.BatchBytes = o.perBatch() * (o.RecordSize + o.KeySize + recordOverhead)
	o.Mode, o.Records, o.Duration, o.Warmup, o.Rate, o.Linger, o.Progress, o.Admin = ModeSelfTest, 0, 400e6, 100e6, 0, 0, nil, ""
	switch {
	case mode == ModeConsume && o.Group == "" && r.Requests > 0 && r.Bytes > 0:
		limit, err := selfTestOfConsuming(ctx, o, int(r.Bytes/r.Requests))
		if err != nil {
			return err
		}
		r.LimitPerSecond = limit.MBPerSecond * 1e6 * float64(r.Records) / float64(r.Bytes)
	case mode == ModeProduce || mode == ModeMixed || mode == ModeSelfTest:
		limit, err := selfTest(ctx, o)
		if err != nil {
			return err
		}
		r.LimitPerSecond = limit.RecordsPerSecond
	default:
		return nil
	}
	r.noteLimit()
	return nil
}

func (r *Result) noteLimit() {
	if r.RecordsPerSecond > nearLimit*r.LimitPerSecond {
		r.Notes = append(r.Notes, "the load generator itself can do no more than "+plain(r.LimitPerSecond)+" records/s here: this result is within 80 % of that, and says little about the broker")
	}
}
