// Fetch, versions 0 to 18.
//
//   - Below version 4 records of newer formats are converted, in the pool and in chunks: no headers, no markers. A consumer that reaches
//     markers at a partition's end waits for what comes behind them (C-72).
//   - Versions 0 to 2 take the bound of a partition at its word: a message that is larger comes cut off.
//   - compression.type=zstd is UNSUPPORTED_COMPRESSION_TYPE below version 10, zstd records below version 4.
//   - Sessions (KIP-227), topic ids from 13, rack ignored, follower fetching later.
//   - Records leave by sendfile from the page cache; what is not cached is read ahead through the
//     disk first, so that a cold reader never holds up a hot one.
//   - min and max bytes over all partitions and per partition; at least one batch goes out when
//     there is one, however large.
//   - An offset outside the log is OFFSET_OUT_OF_RANGE for its partition alone, the log start
//     filled in from version 5 (Kafka 3.9 answers -1 there: docs/DIFFERENCES.md).
//   - A request of a replica (replica id >= 0) is answered as a consumer's until replication comes.

package api

import (
	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/wire"
)

const keyFetch = 1

// fetch is one request under way. It is reused by its shard. Its asks are at home or with their
// owners; the parts of an ask belong to whoever has the ask.
type fetch struct {
	slot    slot
	sess    *Session
	local   *Local
	version int16
	corr    int32
	startNs int64
	req     wire.FetchRequest
	parts   []fetchPart
	session *fetchSession // nil: sessionless
	full    bool          // every partition is answered, not only those that changed
	code    wire.Code     // for the whole request
	sid     int32         // session id of the answer

	asks    []*ask // one per owner shard, by shard id; nil where none was ever needed
	away    int    // asks with their owners
	waited  bool   // the request waits for records
	expired bool   // the wait is over: answer what there is
	sent    bool   // the answer is in the outbox
	cold    bool   // an owner had to read from the disk
	unsent  int    // spans the socket has not taken yet
	timer   reactor.Timer
	out     wire.Writer
	cuts    []int // where in out.B the records of each part with a span go
	phases  phases
	// begunNs and usedNs measure what the request costs; throttleMs is how long its client has to wait: then nothing else is told.
	begunNs, usedNs int64
	throttleMs      int32
	cost            int64 // what it holds of the shard's memory for decoded requests

	// made are the converted records; converting: the pool has the request; converted: they count in what the shard holds of such memory.
	made       []byte
	room       int
	converting bool
	converted  bool
}

// fetchPart is one partition of a request.
type fetchPart struct {
	f        *fetch
	name     string
	id       meta.ID
	host     *Hosted
	entry    *fetchEntry // its place in the session, nil without one
	offset   int64
	max      int32
	epoch    int32
	lastRead int32
	res      wire.FetchResult
	span     logstore.Span
	has      bool // span holds a reference
	// warming: span holds a reference while its bytes are read ahead; warmed counts how often they were for this request.
	warming bool
	warmed  int8
	send    int64 // bytes of the span that go out
	told    bool

	// down is the format that the records are converted to, noConversion for none. from and to are their place in fetch.made, next the
	// offset behind what was converted.
	down     int8
	from, to int
	next     int64
}

func (l *Local) takeFetch() *fetch {
	if n := len(l.freeFetch); n > 0 {
		f := l.freeFetch[n-1]
		l.freeFetch = l.freeFetch[:n-1]
		return f
	}
	f := &fetch{local: l, asks: make([]*ask, len(l.broker.server.Shards()))}
	f.timer.Fire = f.expire
	return f
}

// onFetch takes a Fetch request on its connection's shard.
func (b *Broker) onFetch(s *Session, frame netpoll.Frame, h wire.Header, body *wire.Reader) {
	l := s.local
	cost := int64(0)
	if len(frame.B) > smallFrame {
		var ok bool
		if cost, ok = s.afford(keyFetch, frame, int64(len(frame.B))*b.table.row(keyFetch).Expand); !ok {
			return
		}
	}
	f := l.takeFetch()
	f.cost = cost
	f.sess, f.version, f.corr, f.startNs = s, h.Version, h.Corr, l.shard.Now()
	f.code, f.sid, f.session, f.full = wire.None, 0, nil, true
	f.waited, f.expired, f.sent, f.cold, f.converting, f.converted = false, false, false, false, false, false
	f.phases.begin(l)
	f.phases.mark(l.shard, perf.PhaseRead)
	if err := f.req.Parse(body, h.Version); err != nil {
		frame.Buf.Release()
		f.free()
		b.refuse(s, h, err)
		return
	}
	f.begunNs, f.usedNs = s.clocked(), 0
	f.boundByQuota()
	s.enter(&f.slot, f)
	route := b.route.Load()
	f.resolve(route)
	if f.code == wire.None && unknownIsolation(f.req.Isolation) {
		f.refuseIsolation()
	}
	frame.Buf.Release() // names were views; parts hold the route's strings
	f.phases.mark(l.shard, perf.PhaseParse)
	if f.code != wire.None {
		f.answer()
		return
	}
	f.begin()
}

// begin asks every owner for its partitions.
func (f *fetch) begin() {
	f.spread()
	wait := int64(f.req.MaxWaitMs) * 1e6
	if wait > 0 && f.req.MinBytes > 0 {
		f.local.shard.Arm(&f.timer, wait)
	} else {
		f.expired = true
	}
	owners := 0
	for _, a := range f.asks {
		if a != nil && len(a.parts) > 0 {
			owners++
		}
	}
	if f.local.migrates {
		f.sess.went(f.owner(owners))
	}
	f.away = owners + 1 // one for this function
	followed := !f.phases.on
	for _, a := range f.asks {
		if a == nil || len(a.parts) == 0 {
			continue
		}
		a.want = 0
		a.followed = !followed
		followed = true
		if owners == 1 && !f.expired && !f.failed() {
			a.want = int64(f.req.MinBytes)
		}
		a.depart()
	}
	if f.begunNs != 0 {
		f.usedNs = f.sess.clocked() - f.begunNs
	}
	f.oneHome()
}

// owner is the shard that all partitions of the request belong to, for Session.went.
func (f *fetch) owner(owners int) int {
	switch owners {
	case 0:
		return reactor.Nowhere
	case 1:
		for _, a := range f.asks {
			if a != nil && len(a.parts) > 0 {
				return a.owner.ID
			}
		}
	}
	return reactor.Several
}

// failed tells whether a partition has an error that is told at once. One that the cluster does not know is told when the others
// are, as Kafka does: a consumer that goes on asking for it would not wait any more otherwise.
func (f *fetch) failed() bool {
	for i := range f.parts {
		switch p := &f.parts[i]; {
		case p.res.Err == 0:
		case p.host == nil && (p.res.Err == int16(wire.UnknownTopicOrPartition) || p.res.Err == int16(wire.UnknownTopicID)):
		default:
			return true
		}
	}
	return false
}

// spread hands the partitions to the asks of their owners.
func (f *fetch) spread() {
	for _, a := range f.asks {
		if a != nil {
			a.parts = a.parts[:0]
		}
	}
	for i := range f.parts {
		p := &f.parts[i]
		if p.res.Err != 0 || p.host == nil {
			continue
		}
		id := p.host.shard.ID
		if f.asks[id] == nil {
			f.asks[id] = &ask{f: f, owner: p.host.shard}
			f.asks[id].recall.ask = f.asks[id]
		}
		f.asks[id].parts = append(f.asks[id].parts, p)
	}
}

// oneHome notes that an ask has come back and decides once all have. The others are called home: what one brought may be enough.
func (f *fetch) oneHome() {
	if f.away--; f.away > 0 {
		if f.waited || f.expired {
			f.recallAll()
		}
		return
	}
	f.allHome()
}

// allHome answers, or waits on.
func (f *fetch) allHome() {
	if f.sent {
		f.maybeFree()
		return
	}
	total, asked := int64(0), false
	for i := range f.parts {
		total += f.parts[i].span.Len * b2i(f.parts[i].has)
		asked = asked || f.parts[i].host != nil
	}
	if !asked || f.failed() || total >= int64(f.req.MinBytes) || f.expired || f.sess.closed {
		if f.converts() && !f.sess.closed {
			f.convert()
			return
		}
		f.answer()
		return
	}
	f.wait(int64(f.req.MinBytes) - total)
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// wait sends the asks back to their owners until one has missing more bytes. With nothing hosted here only the timer ends it.
func (f *fetch) wait(missing int64) {
	f.waited = true
	owners := 0
	for _, a := range f.asks {
		if a != nil && len(a.parts) > 0 {
			owners++
		}
	}
	if owners == 0 {
		return
	}
	if owners > 1 {
		missing = 1 // no owner sees what the others get: each tells of its first new record, and the sum is taken here
	}
	f.away = owners + 1 // one for this function
	for _, a := range f.asks {
		if a != nil && len(a.parts) > 0 {
			a.want = a.bytes() + missing
			a.depart()
		}
	}
	f.away--
	switch f.away {
	case owners:
	case 0:
		f.allHome()
	default: // one of this shard has come home before the others had left
		f.recallAll()
	}
}

// expire ends the wait at the request's max wait.
func (f *fetch) expire(*reactor.Shard) {
	if f.sent || f.expired {
		return
	}
	f.expired = true
	f.local.set.Add(perf.PurgatoryExpired, 1)
	if f.converting {
		return
	}
	if f.away == 0 {
		f.answer()
		return
	}
	f.recallAll()
}

// recallAll calls every ask home that waits with its owner.
func (f *fetch) recallAll() {
	for _, a := range f.asks {
		if a != nil && a.out {
			a.callHome()
		}
	}
}

// abandon implements reply: the connection is gone, so nothing waits for records any more.
func (f *fetch) abandon(*Session) { f.expire(f.local.shard) }

// answer trims to the request's bound, in the request's order, and takes the reply's turn.
func (f *fetch) answer() {
	f.local.shard.Disarm(&f.timer)
	f.expired = true
	budget := int64(min(f.req.MaxBytes, f.local.broker.Options().FetchMaxBytes))
	first := true
	for i := range f.parts {
		p := &f.parts[i]
		p.send = 0
		if !p.has || p.span.Len == 0 {
			continue
		}
		switch {
		case p.down != noConversion:
			p.send = int64(p.to - p.from)
		case f.version <= 2:
			p.send = min(p.span.Len, int64(max(p.max, 0)), budget)
		case p.span.Len <= budget:
			p.send = p.span.Len
		case first:
			p.send = p.span.FirstLen
		case p.span.FirstLen <= budget:
			p.send = p.span.FirstLen
		}
		if p.send > 0 {
			first = false
			budget = max(0, budget-p.send)
		}
	}
	f.charge()
	f.local.observe(keyFetch, f.local.shard.Now()-f.startNs)
	if f.version <= 5 {
		f.oldErrors()
	}
	f.countErrors()
	f.phases.mark(f.local.shard, perf.PhasePurgatory)
	f.sess.settle(&f.slot)
}

// drop implements reply.
func (f *fetch) drop(*Session) {
	f.sent = true
	f.releaseSpans()
}

// releaseSpans gives the segment references back to their owners, then frees the request.
func (f *fetch) releaseSpans() {
	f.away = 1
	for _, a := range f.asks {
		if a == nil || !a.holds() {
			continue
		}
		f.away++
		a.releasing, a.followed = true, false
		a.depart()
	}
	f.oneHome()
}

// maybeFree ends the request when nothing of it is on the way.
func (f *fetch) maybeFree() {
	if f.unsent > 0 || f.away > 0 {
		return
	}
	for _, a := range f.asks {
		if a != nil && a.recall.onWay {
			return // it comes back and asks again
		}
	}
	f.free()
}

// keptParts bounds the partitions that a request kept for reuse has room for.
const keptParts = 4096

func (f *fetch) free() {
	for i := range f.parts {
		f.parts[i].host, f.parts[i].entry = nil, nil
	}
	f.parts, f.sess, f.session = f.parts[:0], nil, nil
	f.local.give(f.cost)
	f.cost = 0
	if f.version <= 3 {
		f.dropConverted()
	}
	if cap(f.parts) > keptParts {
		return // a request of unusual size is the collector's
	}
	f.local.freeFetch = append(f.local.freeFetch, f)
}
