package api

import "github.com/pelton-broker/pelton/netpoll"

// smallFrame is the size up to which a request is decoded at once: while large ones wait for memory, nobody else notices.
const smallFrame = 4 << 10

// admit takes what a request may cost once decoded from its shard's budget. False: there is no room, and the frame waits, with what its
// connection sent behind it, until other requests have been answered; as bytes it is cheap.
func (s *Session) admit(r *Request, f netpoll.Frame, row *Row) bool {
	if len(f.B) <= smallFrame {
		return true
	}
	r.cost, s.prepaid = s.prepaid, 0
	if r.cost > 0 {
		return true
	}
	cost := int64(len(f.B)) * row.Expand
	if s.local.decoded.Take(cost) {
		r.cost = cost
		return true
	}
	s.starvedOf = cost
	s.precede(f)
	s.local.starved = append(s.local.starved, s)
	s.local.countRequests(r.Key, -1, f.B) // it is counted when it comes again
	return false
}

// giveBack returns what admit took, at the latest with the answer.
func (r *Request) giveBack() {
	if r.cost > 0 {
		r.session.local.decoded.Give(r.cost)
		r.cost = 0
	}
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
