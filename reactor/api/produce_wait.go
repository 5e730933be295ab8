package api

import (
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// parked is a produce request that waits for a partition that the cluster has given to this
// broker but that is not open yet (C-71): answering an error would let the batch behind it
// overtake this one.
type parked struct {
	req      *produce
	waiting  bool
	deadline int64 // on the shard's monotonic clock; 0 before the first wait
	timer    reactor.Timer
}

// assignedNotOpen tells whether a partition that was not found is being opened here right now.
func (p *produce) assignedNotOpen(route *Route) bool {
	pending := p.local.broker.pending.Load()
	if pending == nil || pending.Version == route.Image.Version {
		return false
	}
	for i := range p.parts {
		switch wire.Code(p.parts[i].res.Err) {
		case wire.UnknownTopicOrPartition, wire.UnknownTopicID, wire.NotLeaderOrFollower:
		default:
			continue
		}
		t := &p.req.Topics[p.req.Parts[i].Topic]
		topic := pending.Topics[string(t.Name)]
		if p.version >= 13 {
			topic = pending.ByID[t.ID]
		}
		if topic != nil && p.parts[i].res.Index >= 0 && int(p.parts[i].res.Index) < len(topic.Partitions) {
			return true
		}
	}
	return false
}

// park makes the request, and what its connection sent behind it, wait for the next image.
// False: it has waited for its whole timeout already.
func (p *produce) park() bool {
	k := &p.parked
	now := p.local.shard.Now()
	if k.deadline == 0 {
		k.deadline = now + int64(p.req.TimeoutMs)*1e6
	}
	if now >= k.deadline {
		return false
	}
	k.waiting = true
	p.local.parked = append(p.local.parked, k)
	p.hold()
	p.local.shard.Arm(&k.timer, k.deadline-now)
	return true
}

// hold makes the frames behind this request wait until it is dispatched.
func (p *produce) hold() {
	if !p.held {
		p.held = true
		p.sess.raise()
	}
}

// fire ends the wait at the request's timeout.
func (k *parked) fire(s *reactor.Shard) {
	localOf(s).set.Add(perf.PurgatoryExpired, 1)
	k.resume()
}

// resume routes the request again.
func (k *parked) resume() {
	k.req.local.unpark(k)
	k.req.start()
}

// unpark takes a request off the list of those that wait.
func (l *Local) unpark(k *parked) {
	k.waiting = false
	l.shard.Disarm(&k.timer)
	for i := range l.parked {
		if l.parked[i] == k {
			l.parked = append(l.parked[:i], l.parked[i+1:]...)
			return
		}
	}
}

// resumeParked lets every waiting request look at the new image.
func (l *Local) resumeParked() {
	waiting := l.parked
	l.parked = nil
	for _, k := range waiting {
		l.shard.Disarm(&k.timer)
		k.waiting = false
		k.req.start()
	}
}

// checkElsewhere validates the records in the pool, since decompressing them would hold up the
// shard. False: the pool is stopped, check here.
func (p *produce) checkElsewhere() bool {
	nowMs := p.local.shard.WallMs()
	err := p.local.broker.checks.Do(func() {
		for i := range p.parts {
			if part := &p.parts[i]; part.res.Err == 0 {
				part.check(p.req.Parts[i].Records, nowMs)
			}
		}
		p.local.shard.Post((*checked)(p))
	})
	if err != nil {
		return false
	}
	p.local.shard.WokeGoroutine()
	p.hold()
	return true
}

// checked is a produce request on its way back from the pool.
type checked produce

// Deliver implements reactor.Message on the connection's shard.
func (c *checked) Deliver(*reactor.Shard) { (*produce)(c).dispatch() }
