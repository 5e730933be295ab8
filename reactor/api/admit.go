package api

import (
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/reactor"
)

// smallFrame is the size up to which a request is decoded at once: while large ones wait for memory, nobody else notices.
const smallFrame = 4 << 10

// admit takes what a request may cost once decoded from its shard's budget; false: see afford.
func (s *Session) admit(r *Request, f netpoll.Frame, row *Row) (ok bool) {
	if len(f.B) <= smallFrame {
		return true
	}
	r.cost, ok = s.afford(r.Key, f, int64(len(f.B))*row.Expand)
	return ok
}

// afford takes memory for a request from its shard's budget. False: there is no room, and the frame waits, with what its connection sent
// behind it, until other requests have been answered; as bytes it is cheap.
func (s *Session) afford(key int16, f netpoll.Frame, cost int64) (taken int64, ok bool) {
	if taken, s.prepaid = s.prepaid, 0; taken > 0 {
		return taken, true
	}
	if s.local.decoded.Take(cost) {
		return cost, true
	}
	s.starvedOf = cost
	s.precede(f)
	s.local.starved = append(s.local.starved, s)
	s.local.countRequests(key, -1, f.B) // it is counted when it comes again
	return 0, false
}

// giveBack returns what admit took, at the latest with the answer.
func (r *Request) giveBack() {
	r.session.local.give(r.cost)
	r.cost = 0
}

// give returns what afford took. Whoever waits for it is looked at in this turn, or the next one begins at once: memory also comes back
// while a turn ends.
func (l *Local) give(cost int64) {
	if cost == 0 {
		return
	}
	l.decoded.Give(cost)
	if len(l.starved) > 0 && !l.feeding {
		l.feeding = true
		l.shard.Send(l.shard, fed{})
	}
}

// fed is a shard's reminder to itself.
type fed struct{}

// Deliver implements reactor.Message.
func (fed) Deliver(s *reactor.Shard) {
	l := localOf(s)
	l.feeding = false
	l.feedStarved()
}

// producePartBytes is what a partition of a produce request costs beside its records, fewParts what needs no asking.
const (
	producePartBytes = 400
	fewParts         = 64
)

// affordParts takes memory for the partitions of a produce request: a frame of empty ones would cost fifty times its size.
func (p *produce) affordParts(f netpoll.Frame) (ok bool) {
	n := len(p.req.Parts)
	if n <= fewParts {
		return true
	}
	p.cost, ok = p.sess.afford(keyProduce, f, int64(n)*producePartBytes)
	return ok
}

// feedStarved lets the sessions that wait for memory go on, in the order they came, as long as there is room.
func (l *Local) feedStarved() {
	for len(l.starved) > 0 {
		s := l.starved[0]
		if !s.closed && !l.decoded.Take(s.starvedOf) {
			return
		}
		l.starved = l.starved[1:]
		if !s.closed {
			s.prepaid = s.starvedOf
			s.lower()
		}
	}
	l.starved = nil
}
