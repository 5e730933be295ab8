// Produce, versions 0 to 13.
//
//   - Versions 0 to 2 bring message sets of the old formats, or new batches: some clients did, and Kafka takes them. They are checked,
//     and converted to the topic's format, in the pool, as is everything for a topic whose format or compression.type wants it otherwise.
//   - acks 0 answers nothing and closes the connection when a partition refused, as Kafka does;
//     1 and -1 answer after the write; any other value is INVALID_REQUIRED_ACKS.
//   - The connection's shard checks CRC, sizes and records; the owner's shard checks epoch and sequence.
//   - A large compressed batch is checked in a pool; what the connection sent behind it waits.
//   - A partition that is assigned here but not open yet waits up to the request's timeout (C-71).
//   - Transactional batches are taken as idempotent ones; transactions come later.

package api

import (
	"errors"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/wire"
)

const keyProduce = 0

// errAcksZero closes a connection that asked for no answers when there is an error to tell.
var errAcksZero = errors.New("api: a partition refused records of a producer with acks=0")

// produce is one request under way. It is reused by its shard.
type produce struct {
	slot    slot
	sess    *Session
	local   *Local
	frame   netpoll.Frame
	version int16
	corr    int32
	startNs int64
	req     wire.ProduceRequest
	parts   []producePart
	left    int
	failed  bool
	// held: what the connection sent behind this request waits for it.
	held   bool
	out    wire.Writer
	parked parked
	phases phases // of the first partition's way
	// begunNs and usedNs measure what the request costs; throttleMs is how long its client has to wait.
	begunNs, usedNs int64
	throttleMs      int32
	cost            int64 // what it holds of the shard's memory for decoded requests
}

// producePart is one partition's share; it travels to the owner's shard and back.
type producePart struct {
	append logstore.Append
	info   batch.Info
	req    *produce
	host   *Hosted
	topic  *topicRoute
	back   bool
	res    wire.ProduceResult
	// adapted is memory for records that were brought into the topic's form.
	adapted   []byte
	converted int64 // bytes of it that were, not counted yet
	// refused are the records that the answer names, from res.BadRecords on.
	refused []batch.RecordError
	askedNs int64 // when the log was asked, on the owner's clock
}

// mark notes a phase if this is the part that is followed.
func (part *producePart) mark(l *Local, phase perf.Phase) {
	if part == &part.req.parts[0] {
		part.req.phases.mark(l.shard, phase)
	}
}

func (l *Local) takeProduce() *produce {
	if n := len(l.freeProduce); n > 0 {
		p := l.freeProduce[n-1]
		l.freeProduce = l.freeProduce[:n-1]
		return p
	}
	p := &produce{local: l}
	p.parked.req = p
	p.parked.timer.Fire = p.parked.fire
	return p
}

// onProduce takes a Produce request on its connection's shard.
func (b *Broker) onProduce(s *Session, f netpoll.Frame, h wire.Header, body *wire.Reader) {
	l := s.local
	p := l.takeProduce()
	p.sess, p.frame, p.version, p.corr, p.startNs, p.failed = s, f, h.Version, h.Corr, l.shard.Now(), false
	p.parked.deadline = 0
	p.phases.begin(l)
	p.phases.mark(l.shard, perf.PhaseRead)
	if err := p.req.Parse(body, h.Version); err != nil {
		p.free()
		b.refuse(s, h, err)
		return
	}
	if !p.affordParts(f) {
		p.frame = netpoll.Frame{} // it waits
		p.free()
		return
	}
	l.frameBytes += int64(len(f.B))
	s.enter(&p.slot, p)
	l.set.Add(perf.PurgatoryProduce, 1)
	s.crowd()
	if cap(p.parts) < len(p.req.Parts) {
		p.parts = make([]producePart, len(p.req.Parts))
	}
	p.parts = p.parts[:len(p.req.Parts)]
	p.start()
}

// start routes and checks every partition, then sends each to its owner.
func (p *produce) start() {
	route := p.local.broker.route.Load()
	p.begunNs, p.usedNs = p.sess.clocked(), 0
	p.left = len(p.parts) + 1 // one for this function: nothing ends before all have left
	heavy := false
	for i := range p.parts {
		part := &p.parts[i]
		part.req, part.back = p, false
		part.res = wire.ProduceResult{Index: p.req.Parts[i].Index, BaseOffset: -1, LogAppendTimeMs: -1, LogStart: -1}
		part.refused = nil
		if code := p.locate(part, i, route); code != wire.None {
			part.res.Err = int16(code)
			continue
		}
		if part.adapts() {
			heavy = true
			if part.adapted == nil {
				part.adapted = p.local.spares.take()
			}
		}
		heavy = heavy || tooHeavy(p.req.Parts[i].Records)
	}
	if p.transactionWithoutID() {
		for i := range p.parts {
			p.parts[i].res.Err = int16(wire.TransactionalIDAuthorization)
		}
	}
	if p.assignedNotOpen(route) && p.park() {
		return
	}
	if heavy && p.checkElsewhere() {
		return
	}
	for i := range p.parts {
		if part := &p.parts[i]; part.res.Err == 0 {
			part.check(p.req.Parts[i].Records, p.local.shard.WallMs())
		}
	}
	p.dispatch()
}

// transactionWithoutID tells whether a batch belongs to a transaction and the request names none: nobody may write to that one,
// and the whole request is refused.
func (p *produce) transactionWithoutID() bool {
	if len(p.req.TransactionalID) > 0 {
		return false
	}
	for i := range p.req.Parts {
		if h, err := batch.ParseHeader(p.req.Parts[i].Records); err == nil && h.IsTransactional() {
			return true
		}
	}
	return false
}

// heavyBytes is the size from which a compressed batch is checked off the shards (design 2.3).
const heavyBytes = 16 << 10

// tooHeavy tells whether checking the records would hold up the shard.
func tooHeavy(records []byte) bool {
	if len(records) <= heavyBytes {
		return false
	}
	h, err := batch.ParseHeader(records)
	return err == nil && h.Codec() != batch.None
}

// locate finds the partition's topic and log.
func (p *produce) locate(part *producePart, i int, route *Route) wire.Code {
	t := &p.req.Topics[p.req.Parts[i].Topic]
	part.host, part.topic = nil, nil
	row := p.local.broker.table.row(keyProduce)
	switch {
	case p.req.Acks < -1 || p.req.Acks > 1:
		return wire.InvalidRequiredAcks
	case p.version >= 13:
		if part.topic = route.byID[meta.ID(t.ID)]; part.topic == nil {
			return wire.UnknownTopicID
		}
		if !authorize(p.sess, row, part.topic.topic.Name) {
			return wire.TopicAuthorizationFailed
		}
	case !authorize(p.sess, row, t.Name):
		return wire.TopicAuthorizationFailed
	default:
		if part.topic = route.byName(t.Name); part.topic == nil {
			return wire.UnknownTopicOrPartition
		}
	}
	if part.host = part.topic.host(part.res.Index); part.host == nil {
		return part.topic.missing(part.res.Index, p.local.broker.Options().BrokerID)
	}
	return wire.None
}

// check validates the records on the connection's shard or in the pool.
func (part *producePart) check(records []byte, nowMs int64) {
	lim := part.topic.limits
	lim.NowMs = nowMs
	if part.adapts() {
		part.adapt(records, lim)
		return
	}
	lim.RefuseZstd = part.req.version < 7
	if err := batch.Validate(records, lim, &part.info); err != nil {
		part.fail(err)
	}
	part.append.Bytes = records
}

func (part *producePart) fail(err error) {
	part.res.Err = int16(codeOf(err))
	part.res.Message = messageOf(err)
	if errors.Is(err, batch.ErrDecompress) {
		// The checksum was right, so these bytes are what the producer made: a code that it repeats would make it repeat for ever.
		part.res.Err = int16(wire.InvalidRecord)
	}
	if showsLogStart(err, part.req.version) {
		part.res.LogStart = part.host.Log.Start()
	}
	var record *batch.InvalidRecordError
	var stamp *batch.InvalidTimestampError
	part.refused = nil
	switch {
	case errors.As(err, &record):
		part.refused = record.Records
	case errors.As(err, &stamp):
		part.refused = stamp.Records
	}
	part.res.BadRecords = len(part.refused)
}

// showsLogStart tells whether the log's start goes beside an error: Kafka tells it when the log refused what was otherwise a batch,
// and not when there was no batch to look at.
func showsLogStart(err error, version int16) bool {
	switch codeOf(err) {
	case wire.UnsupportedCompressionType:
		return version >= 7 // before, the request itself could not ask for it
	case wire.CorruptMessage:
		return errors.Is(err, batch.ErrDecompress)
	case wire.UnknownTopicOrPartition, wire.NotLeaderOrFollower, wire.MessageTooLarge, wire.RecordListTooLarge, wire.KafkaStorageError:
		return false
	}
	return !errors.Is(err, batch.ErrNotOneBatch)
}

// dispatch sends every partition that passed to its owner.
func (p *produce) dispatch() {
	l := p.local
	p.phases.mark(l.shard, perf.PhaseParse)
	if l.migrates {
		p.sess.went(p.owner())
	}
	for i := range p.parts {
		part := &p.parts[i]
		if part.res.Err != 0 || len(part.info.Batches) == 0 { // a set without a whole message is taken, and there is nothing to write
			p.partDone(part)
			continue
		}
		a := &part.append
		a.Info, a.Owner = &part.info, part
		if part.host.shard == l.shard {
			part.submit(l)
		} else {
			l.shard.Send(part.host.shard, part)
		}
	}
	if p.held {
		p.held = false
		p.sess.lower()
	}
	if p.begunNs != 0 {
		p.usedNs = p.sess.clocked() - p.begunNs
	}
	p.oneLess()
}

// owner is the shard that all partitions of the request belong to, for Session.went.
func (p *produce) owner() int {
	to := reactor.Nowhere
	for i := range p.parts {
		if part := &p.parts[i]; part.res.Err == 0 {
			switch id := part.host.shard.ID; to {
			case reactor.Nowhere:
				to = id
			case id:
			default:
				return reactor.Several
			}
		}
	}
	return to
}

// Deliver implements reactor.Message: on the owner's shard on the way out, on the connection's on the way back.
func (part *producePart) Deliver(s *reactor.Shard) {
	if part.back {
		part.req.partDone(part)
		return
	}
	part.submit(localOf(s))
}

// submit hands the records to the log, on the owner's shard.
func (part *producePart) submit(l *Local) {
	h, a := part.host, &part.append
	part.mark(l, perf.PhaseHop)
	part.askedNs = l.shard.Now()
	if code := h.admits(part.req.req.Acks); code != wire.None {
		part.res.Err = int16(code)
		part.home(l)
		return
	}
	a.LeaderEpoch, a.AppendTimeMs, a.Durable = h.role.Epoch(), l.shard.WallMs(), h.durable
	if part.req.phases.on && part == &part.req.parts[0] {
		l.followed = append(l.followed, part)
	}
	h.Log.Append(a)
	l.touch(h)
}

// admits tells whether the partition takes records now.
func (h *Hosted) admits(acks int16) wire.Code {
	if h.gone {
		return wire.UnknownTopicOrPartition
	}
	if h.Log.DirFailed() {
		return wire.KafkaStorageError // whoever leads by now
	}
	return codeOf(h.role.Admits(acks == -1, h.minISR))
}

// appended implements appendOwner, on the owner's shard.
func (part *producePart) appended(l *Local, h *Hosted, a *logstore.Append) {
	if len(l.followed) > 0 {
		l.unfollow(part) // refused, or a repeat: no disk was asked
	}
	if a.Durable {
		part.mark(l, perf.PhaseSync)
		l.set.Observe(perf.SyncSeconds, l.shard.Now()-part.askedNs)
	} else {
		part.mark(l, perf.PhaseDevice)
	}
	if a.Err != nil {
		part.fail(a.Err)
	} else {
		part.res.BaseOffset, part.res.LogStart = a.Base, a.LogStart
		part.res.LogAppendTimeMs = a.LogAppendTime
		l.countAppend(h, a)
	}
	part.home(l)
}

// home brings the partition's result back to the connection's shard.
func (part *producePart) home(l *Local) {
	if part.req.local == l {
		part.req.partDone(part)
		return
	}
	part.back = true
	l.shard.Reply(part.req.local.shard, part)
}

func (p *produce) partDone(part *producePart) {
	if part.res.Err != 0 {
		p.failed = true
		part.res.Err = oldStorageError(part.res.Err, p.version > 3)
	}
	p.oneLess()
}

func (p *produce) oneLess() {
	if p.left--; p.left == 0 {
		p.local.observe(keyProduce, p.local.shard.Now()-p.startNs)
		p.local.set.Add(perf.PurgatoryProduce, -1)
		p.phases.mark(p.local.shard, perf.PhaseHop)
		if p.failed {
			p.countErrors()
		}
		p.charge()
		if p.req.Acks != 0 {
			p.encode()
			p.phases.mark(p.local.shard, perf.PhaseEncode)
		}
		p.local.frameBytes -= int64(len(p.frame.B))
		p.releaseFrame() // the answer may wait long behind others of its connection
		p.sess.settle(&p.slot)
	}
}

func (p *produce) releaseFrame() {
	if p.frame.Buf != nil {
		p.frame.Buf.Release()
	}
	p.frame = netpoll.Frame{}
}

// send implements reply.
func (p *produce) send(s *Session) {
	switch {
	case p.req.Acks != 0:
		s.local.countAnswer(keyProduce, int64(len(p.out.B)))
		p.phases.mark(s.local.shard, perf.PhaseQueue)
		p.phases.observe(s.local, perf.ClassProduce)
		copy(s.conn.Out().Append(len(p.out.B)), p.out.B)
	case p.failed:
		s.conn.CloseAfterFlush(errAcksZero) // answers of requests before this one still go out
	}
	p.free()
}

func (p *produce) encode() {
	w := &p.out
	w.B = w.B[:0]
	wire.ProduceHead(w, p.version, p.corr, len(p.req.Topics))
	for i := range p.req.Topics {
		t := &p.req.Topics[i]
		wire.ProduceTopicHead(w, p.version, t.Name, t.ID, t.Count)
		for j := t.First; j < t.First+t.Count; j++ {
			part := &p.parts[j]
			wire.ProducePartition(w, p.version, &part.res)
			for k := range part.refused {
				wire.ProduceBadRecord(w, p.version, part.refused[k].Index, part.refused[k].Msg)
			}
			wire.ProducePartitionTail(w, p.version, &part.res)
		}
		wire.ProduceTopicTail(w, p.version)
	}
	wire.ProduceTail(w, p.version, p.throttleMs, 0)
}

// drop implements reply.
func (p *produce) drop(*Session) { p.free() }

// abandon implements reply: appends under way end by themselves; one that waits for its partition ends now.
func (p *produce) abandon(*Session) {
	if p.parked.waiting {
		p.local.unpark(&p.parked)
		for i := range p.parts {
			p.parts[i].res.Err = int16(wire.RequestTimedOut)
		}
		p.dispatch()
	}
}

// free gives the frame back to the arena and the request to its shard.
func (p *produce) free() {
	p.releaseFrame()
	p.local.give(p.cost)
	p.sess, p.cost = nil, 0
	for i := range p.parts {
		p.parts[i].append.Bytes, p.parts[i].host, p.parts[i].topic = nil, nil, nil
		p.parts[i].res.Message, p.parts[i].refused = "", nil
		if p.parts[i].adapted != nil {
			p.parts[i].countAdapted(p.local)
		}
	}
	if cap(p.parts) <= keptParts {
		p.local.freeProduce = append(p.local.freeProduce, p)
	}
}
