package api

import (
	"errors"
	"syscall"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// ask is the share of a fetch that one owner shard answers. It travels: at any moment the
// connection's shard or the owner has it, and its parts with it.
type ask struct {
	f     *fetch
	owner *reactor.Shard
	parts []*fetchPart
	// want > 0: the owner keeps the ask until it has so many bytes, or an error, or is called home.
	want int64
	// releasing: the owner gives back the segment references and nothing else.
	releasing bool
	// out: the ask is with its owner; known at home only.
	out    bool
	recall recall
	// followed: this ask's way is what the request's phases are measured on.
	followed bool

	// Only the owner touches these.
	waiting   bool
	recalled  bool
	base      int64 // bytes that the partitions had appended when the wait began
	op        disk.Op
	reading   bool
	back      bool
	nextPart  int
	scheduled bool
	cold      bool  // something had to be read from the disk first
	coldNs    int64 // when the read that is under way began
}

// mark notes a phase if this is the ask that is followed; whoever has the ask.
func (a *ask) mark(s *reactor.Shard, phase perf.Phase) {
	if a.followed {
		a.f.phases.mark(s, phase)
	}
}

// recall calls a waiting ask home. It is a message of its own, since the ask is elsewhere.
type recall struct {
	ask   *ask
	onWay bool
	// again: the ask was called while an earlier call's echo was still on the way, so that call must be repeated.
	again bool
}

// depart sends the ask to its owner.
func (a *ask) depart() {
	a.out, a.back, a.recall.again = true, false, false
	if a.owner == a.f.local.shard {
		a.arrive(a.f.local)
		return
	}
	a.f.local.shard.Send(a.owner, a)
}

// callHome asks the owner to give up waiting.
func (a *ask) callHome() {
	if a.want == 0 {
		return // it does not wait
	}
	if a.owner == a.f.local.shard {
		a.giveUp(a.f.local)
		return
	}
	if a.recall.onWay {
		a.recall.again = true
		return
	}
	a.recall.onWay = true
	a.f.local.shard.Send(a.owner, &a.recall)
}

// Deliver implements reactor.Message: on the owner's shard first, then its echo at home, which
// keeps the message from being sent twice at once.
func (r *recall) Deliver(s *reactor.Shard) {
	home := r.ask.f.local.shard
	if s == home {
		again := r.again && r.ask.out
		r.onWay, r.again = false, false
		switch {
		case again:
			r.ask.callHome()
		case r.ask.f.sent:
			r.ask.f.maybeFree()
		}
		return
	}
	r.ask.giveUp(localOf(s))
	s.Reply(home, r)
}

// giveUp ends the wait on the owner's shard. What the ask had found was released when the wait began, so it reads once more.
func (a *ask) giveUp(l *Local) {
	a.recalled = true // it may be on its way here, or reading
	if a.waiting {
		a.leave(l)
		a.nextPart = 0
		a.read(l)
	}
}

// Deliver implements reactor.Message.
func (a *ask) Deliver(s *reactor.Shard) {
	if a.back {
		a.home()
		return
	}
	a.arrive(localOf(s))
}

// home takes the ask back on the connection's shard.
func (a *ask) home() {
	a.out = false
	a.f.cold = a.f.cold || a.cold
	a.mark(a.f.local.shard, perf.PhaseHop)
	a.f.oneHome()
}

// arrive starts the owner's work.
func (a *ask) arrive(l *Local) {
	a.recalled, a.nextPart, a.cold = false, 0, false
	a.mark(l.shard, perf.PhaseHop)
	a.release()
	if a.releasing {
		a.releasing = false
		a.finish(l)
		return
	}
	a.read(l)
}

// release gives back the segment references of an earlier pass.
func (a *ask) release() {
	for _, p := range a.parts {
		if p.has {
			p.span.Release()
			p.has, p.span.Len = false, 0
		}
	}
}

// holds tells whether the ask's parts keep segments alive.
func (a *ask) holds() bool {
	for _, p := range a.parts {
		if p.has {
			return true
		}
	}
	return false
}

// bytes is what the ask's parts have found.
func (a *ask) bytes() (n int64) {
	for _, p := range a.parts {
		if p.has {
			n += p.span.Len
		}
	}
	return n
}

// read answers the parts from where it stopped; bytes that are not cached are read ahead first.
func (a *ask) read(l *Local) {
	for ; a.nextPart < len(a.parts); a.nextPart++ {
		p := a.parts[a.nextPart]
		if need := p.read(); need.Len > 0 {
			l.set.Add(perf.ColdReads, 1)
			l.set.Add(perf.ColdReadBytes, int64(need.Len))
			a.cold, a.coldNs = true, l.shard.Now()
			a.op = disk.Op{Kind: disk.ReadAhead, File: need.File, Off: need.Pos, ReadLen: need.Len + l.ahead, Owner: a} // the file's end is not an error
			a.reading = true
			l.shard.Disk.Submit(&a.op)
			return
		}
	}
	a.decide(l)
}

// diskDone implements diskOwner: it goes on after the disk has brought the bytes in.
func (a *ask) diskDone(l *Local) {
	a.reading = false
	l.set.Observe(perf.ColdReadSeconds, l.shard.Now()-a.coldNs)
	if a.op.Err != nil {
		p := a.parts[a.nextPart]
		p.cool()
		if !p.host.gone && !errors.Is(a.op.Err, syscall.EBADF) { // a header read holds no reference: its file may have been deleted meanwhile
			p.host.Log.Fail(a.op.Err)
		}
		p.deny(wire.KafkaStorageError)
		a.nextPart++
	}
	a.op.File = nil
	a.read(l)
}

// decide sends the ask home or lets it wait for records.
func (a *ask) decide(l *Local) {
	if a.want == 0 || a.recalled || a.bytes() >= a.want {
		a.finish(l)
		return
	}
	for _, p := range a.parts {
		if p.res.Err != 0 || p.host.gone {
			a.finish(l)
			return
		}
	}
	a.waiting, a.base = true, a.appended()-a.bytes()
	a.mark(l.shard, perf.PhaseDevice)
	l.set.Add(perf.PurgatoryFetch, 1)
	a.release()
	for _, p := range a.parts {
		p.host.waiters = append(p.host.waiters, a)
	}
}

func (a *ask) appended() (n int64) {
	for _, p := range a.parts {
		n += p.host.appended
	}
	return n
}

// leave takes the ask off its partitions' lists.
func (a *ask) leave(l *Local) {
	a.waiting = false
	a.mark(l.shard, perf.PhasePurgatory)
	l.set.Add(perf.PurgatoryFetch, -1)
	for _, p := range a.parts {
		h := p.host
		for i, w := range h.waiters {
			if w == a {
				last := len(h.waiters) - 1
				copy(h.waiters[i:], h.waiters[i+1:])
				h.waiters[last] = nil
				h.waiters = h.waiters[:last]
				break
			}
		}
	}
}

// wakeWaiters looks at the asks that wait for this partition: at most once per turn each.
func (l *Local) wakeWaiters(h *Hosted) {
	for _, a := range h.waiters {
		if !a.scheduled && (h.gone || a.appended()-a.base >= a.want) {
			a.scheduled = true
			l.woken = append(l.woken, a)
		}
	}
}

// finishWoken reads for every ask that was woken in this turn.
func (l *Local) finishWoken() {
	for i := 0; i < len(l.woken); i++ {
		a := l.woken[i]
		a.scheduled = false
		if a.waiting {
			a.leave(l)
			a.nextPart = 0
			a.read(l)
		}
	}
	clear(l.woken)
	l.woken = l.woken[:0]
}

// finish sends the ask home.
func (a *ask) finish(l *Local) {
	a.mark(l.shard, perf.PhaseDevice)
	if a.f.local == l {
		a.home()
		return
	}
	a.back = true
	l.shard.Reply(a.f.local.shard, a)
}

// read answers one partition on its owner's shard. A Need that is not empty names bytes to bring
// into the cache first.
func (p *fetchPart) read() (need logstore.Need) {
	h := p.host
	res := &p.res
	res.Err, res.HighWatermark, res.LastStable, res.LogStart = 0, -1, -1, -1
	res.HasAborted, res.Aborted = false, res.Aborted[:0]
	res.LeaderID, res.LeaderEpoch, res.DivergingEpoch, res.DivergingEnd = -1, -1, -1, -1
	if code := h.fence(p.epoch); code != wire.None {
		return p.deny(code)
	}
	p.cool()
	committed := p.f.req.Isolation == 1
	upTo := h.Log.HighWatermark()
	if committed {
		upTo = min(upTo, h.Log.LastStable())
	}
	need, err := h.Log.Read(p.offset, p.max, upTo, true, &p.span)
	if err != nil {
		return p.refuse(err)
	}
	if need.Len > 0 {
		return need
	}
	p.has = p.span.Len > 0
	if p.has && !p.span.Recent && p.warmed < warmings && !h.shard.Disk.Cached(p.span.File, p.span.Pos, p.span.Len) {
		p.warmed++
		p.has, p.warming = false, true // the reference stays, so that the file outlives the read
		return logstore.Need{File: p.span.File, Pos: p.span.Pos, Len: int(p.span.Len)}
	}
	res.HighWatermark, res.LastStable, res.LogStart = h.Log.HighWatermark(), h.Log.LastStable(), h.Log.Start()
	if committed {
		p.aborted()
	}
	return logstore.Need{}
}

// warmings is how often a span is read ahead before it is sent as it is: under memory pressure its pages may be gone again each time.
const warmings = 2

// cool gives back the reference that a span kept while it was read ahead.
func (p *fetchPart) cool() {
	if p.warming {
		p.warming = false
		p.span.Release()
	}
}

// aborted lists the aborted transactions that overlap what is returned.
func (p *fetchPart) aborted() {
	p.res.HasAborted = true
	if !p.has {
		return
	}
	l := localOf(p.host.shard)
	l.aborted = p.host.Log.AbortedIn(p.offset, p.host.Log.End(), l.aborted[:0])
	for _, t := range l.aborted {
		p.res.Aborted = append(p.res.Aborted, wire.Aborted{ProducerID: t.ProducerID, FirstOffset: t.FirstOffset})
	}
}

func (p *fetchPart) deny(code wire.Code) (none logstore.Need) {
	p.res.Err = int16(code)
	return none
}

func (p *fetchPart) refuse(err error) (none logstore.Need) {
	p.res.Err = int16(codeOf(err))
	if errors.Is(err, logstore.ErrOffsetOutOfRange) {
		p.res.LogStart = p.host.Log.Start()
	}
	return none
}
