package sim

import (
	"encoding/binary"
	"fmt"

	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/replica"
)

// Kind is what a partition is used for.
type Kind uint8

// The kinds of partition: kept for ever, deleted from its start, compacted.
const (
	Keeps Kind = iota
	Deletes
	Compacts
)

// Part is a partition with its owner's side: role, appends under way, jobs under way.
type Part struct {
	tp      logstore.TopicPartition
	id      [16]byte
	kind    Kind
	opt     logstore.Options
	log     *logstore.Log
	role    *replica.Partition
	model   *Model
	epoch   int32
	clients []*client
	flight  []*send
	jobs    []*job
	acksAll bool
	tight   bool // its directory was full and it has not taken a record since
	stopped bool // damage was noticed, as it should
	moves   moves
}

// job is a blocking job: taken, then run, then applied.
type job struct {
	work logstore.Work
	ran  bool
	busy bool // it runs now
}

// send is one append.
type send struct {
	part   *Part
	client *client
	kept   Kept
	raw    []byte // as it was built
	a      logstore.Append
	info   batch.Info
	want   verdict
	again  *send // the one that it repeats while that is under way
	bad    bool  // sent on purpose to be refused or to be a repeat
	ended  bool
}

// verdict is what an append must be answered with.
type verdict uint8

const (
	anything verdict = iota
	written
	repeated
	repeatedOrOut // known before a restart: the files may have forgotten it
	outOfOrder
	fenced
)

// client is one idempotent producer; transactional ones begin and end transactions too.
type client struct {
	pid    int64
	epoch  int16
	next   int32
	flight []*send
	retry  []*send
	txn    bool
	inTxn  bool
	owes   bool // an abort marker before anything else
}

// build makes a batch of n records.
func (w *World) build(p *Part, c *client, n int) []byte {
	bd := batch.NewBuilder(batch.Codec(w.rand.Of(0, 0, 0, 1, 2, 3, 4)))
	if c != nil {
		bd.ProducerID, bd.ProducerEpoch, bd.BaseSequence, bd.Transactional = c.pid, c.epoch, c.next, c.inTxn
	}
	for range n {
		w.serial++
		key, value := []byte(nil), fmt.Appendf(nil, "v%d-%0*d", w.serial, w.rand.Intn(200), 0)
		if p.kind == Compacts {
			key = fmt.Appendf(nil, "k%d", w.rand.Intn(12))
			if w.rand.Percent(15) {
				value = nil
			}
		}
		bd.Add(w.clk.WallMs()-int64(w.rand.Intn(50)), key, value)
	}
	return bd.Bytes()
}

// send hands a batch to the log.
func (w *World) send(p *Part, c *client, raw []byte, origin logstore.Origin, want verdict) *send {
	s := &send{part: p, client: c, raw: raw, kept: keep(raw, w.clk.WallMs()), want: want}
	b := append([]byte(nil), raw...)
	if err := batch.Validate(b, batch.Limits{AllowControl: true}, &s.info); err != nil {
		w.broken("a batch that was built is not valid: %v", err)
		return s
	}
	s.a = logstore.Append{
		Bytes: b, Info: &s.info, LeaderEpoch: p.epoch, AppendTimeMs: w.clk.WallMs(), Durable: p.opt.FlushMessages == 1, Origin: origin, Owner: s,
	}
	p.flight = append(p.flight, s)
	if c != nil {
		c.flight = append(c.flight, s)
	}
	p.log.Append(&s.a)
	return s
}

// expect is the model's judgement of a batch that client c sends while nothing of it is under way. A retry has the epoch it was made in.
func (p *Part) expect(c *client, epoch int16, first, last int32) verdict {
	st := p.model.prod[c.pid]
	switch {
	case st == nil:
		return written
	case epoch < st.epoch:
		return fenced
	case epoch > st.epoch && first != 0:
		return outOfOrder
	case epoch > st.epoch, first == st.lastSeq+1:
		return written
	}
	for i := len(st.batches) - 1; i >= 0 && i >= len(st.batches)-5; i-- {
		k := &st.batches[i]
		if k.Seq == first && k.Seq+int32(k.Last-k.Base) == last {
			if i == len(st.batches)-1 || k.Fresh {
				return repeated
			}
			return repeatedOrOut
		}
	}
	return outOfOrder
}

// turn is the end of a shard's turn for a partition: its log goes on, and what ended is answered.
func (w *World) turn(p *Part) {
	if p.log == nil {
		return
	}
	p.log.Turn(w.clk.WallMs())
	w.drain(p)
}

func (w *World) drain(p *Part) {
	for a := p.log.TakeDone(); a != nil; a = p.log.TakeDone() {
		if w.vol.Dead() {
			continue
		}
		w.answer(p, a.Owner.(*send))
	}
	if w.vol.Dead() {
		return
	}
	if hw := p.role.Appended(p.log.End()); hw > p.log.HighWatermark() {
		p.log.SetHighWatermark(hw)
	}
	for work := p.log.TakeWork(); work != nil; work = p.log.TakeWork() {
		p.jobs = append(p.jobs, &job{work: work})
	}
}

func remove(list []*send, s *send) []*send {
	for i := range list {
		if list[i] == s {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// answer holds the outcome of an append against what it must be.
func (w *World) answer(p *Part, s *send) {
	s.ended = true
	p.flight = remove(p.flight, s)
	c := s.client
	if c != nil {
		c.flight = remove(c.flight, s)
	}
	a := &s.a
	switch {
	case a.Err == nil && a.Duplicate:
		w.repeatAnswered(p, s)
	case a.Err == nil:
		w.wrote(p, s)
	case a.Err == logstore.ErrOutOfOrderSequence, a.Err == logstore.ErrInvalidProducerEpoch:
		w.refused(p, s)
	default:
		w.failed(p, s)
	}
}

func (w *World) wrote(p *Part, s *send) {
	a, m := &s.a, p.model
	if a.Base != m.Next || a.Last != a.Base+s.kept.Last-s.kept.Base {
		w.broken("%s: offsets %d to %d were given, %d is next", p.tp, a.Base, a.Last, m.Next)
		return
	}
	if s.want > written {
		w.broken("%s: producer %d epoch %d sequence %d was written, want %d", p.tp, s.kept.PID, s.kept.PEpoch, s.kept.Seq, s.want)
		return
	}
	k := s.kept
	n := k.Last - k.Base
	k.Base, k.Last, k.CRC, k.Epoch, k.Fresh = a.Base, a.Base+n, crcOf(a.Bytes), a.LeaderEpoch, true
	if p.opt.LogAppendTime {
		for i := range k.Times {
			k.Times[i] = a.AppendTimeMs
		}
	}
	m.add(k)
	if a.Durable {
		m.Durable = max(m.Durable, k.Last+1)
	}
	w.Acked++
	w.say("step %d: %s wrote %d to %d of producer %d/%d sequence %d, durable %v", w.step, p.tp, k.Base, k.Last, k.PID, k.PEpoch, k.Seq, a.Durable)
	p.tight = w.vol.full[p.log.Dir()]
}

func (w *World) repeatAnswered(p *Part, s *send) {
	if s.again != nil {
		if s.a.Base != s.again.a.Base || s.again.a.Err != nil {
			w.broken("%s: a repeat got offset %d, its first %d", p.tp, s.a.Base, s.again.a.Base)
		}
		return
	}
	i := p.model.at(s.a.Base)
	known := i < len(p.model.Log) && p.model.Log[i].Base == s.a.Base && p.model.Log[i].PID == s.kept.PID && p.model.Log[i].Seq == s.kept.Seq
	if s.want == outOfOrder && known { // a recovery that read the whole log knows more of a producer than the model, which counts on snapshots
		return
	}
	if s.want == written || s.want == outOfOrder || s.want == fenced {
		w.broken("%s: producer %d sequence %d was taken for a repeat of offset %d, want %d (bad %v)", p.tp, s.kept.PID, s.kept.Seq, s.a.Base, s.want, s.bad)
		return
	}
	if !known {
		w.broken("%s: a repeat of producer %d sequence %d was answered with offset %d, where another batch is", p.tp, s.kept.PID, s.kept.Seq, s.a.Base)
	}
}

func (w *World) refused(p *Part, s *send) {
	want := outOfOrder
	if s.a.Err == logstore.ErrInvalidProducerEpoch {
		want = fenced
	}
	if s.want != want && s.want != anything && !(s.want == repeatedOrOut && want == outOfOrder) {
		w.broken("%s: producer %d epoch %d sequence %d: %v, want %d", p.tp, s.kept.PID, s.kept.PEpoch, s.kept.Seq, s.a.Err, s.want)
		return
	}
	if c := s.client; c != nil && !s.bad { // as clients do: a new epoch, and what is not answered is given up
		c.restart()
	}
}

func (c *client) restart() {
	c.owes = c.owes || c.inTxn
	c.epoch, c.next, c.retry, c.inTxn = c.epoch+1, 0, nil, false
}

// failed is an error of the disk: the batch may come back after a crash.
func (w *World) failed(p *Part, s *send) {
	w.collectFaults()
	dir := p.log.Dir()
	switch {
	case s.a.Err == logstore.ErrNoSpace && (p.tight || w.vol.full[dir]):
	case s.a.Err == logstore.ErrOffline && (w.sick[dir] || w.sick[p.moves.dir] || w.sick[p.moves.from] || p.hurt()): // it may have failed before the log moved
	default:
		w.broken("%s: append failed without a cause: %v", p.tp, s.a.Err)
	}
	p.maybe(s)
	if s.client != nil && !s.bad {
		s.client.retry = append(s.client.retry, s)
	}
}

// maybe notes a batch that the files may hold although nobody was told so.
func (p *Part) maybe(s *send) {
	k := s.kept
	k.CRC, k.Epoch = crcOf(s.a.Bytes), p.epoch
	k.Base = int64(binary.BigEndian.Uint64(s.a.Bytes))
	k.Last = k.Base + int64(len(k.Times)-1)
	if p.opt.LogAppendTime {
		for i := range k.Times {
			k.Times[i] = s.a.AppendTimeMs
		}
	}
	p.model.Maybe = append(p.model.Maybe, k)
}

func (p *Part) hurt() bool { return p.model.Hurt >= 0 || p.model.HurtSide }
