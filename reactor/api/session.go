package api

import (
	"errors"

	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/reactor"
)

// maxInFlight bounds the requests of one connection that are being worked on; more stay in the socket.
const maxInFlight = 256

// errProtocol closes a connection whose bytes cannot be understood.
var errProtocol = errors.New("api: the request cannot be decoded")

// reply is the answer of one request, held until the requests before it have been answered.
type reply interface {
	// send encodes the answer into the connection's outbox and frees itself.
	send(s *Session)
	// drop frees the answer of a connection that is gone.
	drop(s *Session)
	// abandon tells a request that still waits that its connection is gone, so that it ends now.
	abandon(s *Session)
}

// slot is a request's place in its connection's order of replies. It is embedded in the
// request, so that a place costs no allocation.
type slot struct {
	next  *slot
	reply reply
	done  bool
}

// Session is what a connection's shard knows of it.
type Session struct {
	conn  *netpoll.Conn
	local *Local
	// first..last are the requests not answered yet, in the order they came. Invariant:
	// inFlight is their number; a done slot is never first when settle returns.
	first, last *slot
	inFlight    int
	// barrier > 0: frames wait in held until a request that must keep its order has passed.
	barrier int
	// alone: the first held frame waits until everything before it has been answered.
	alone  bool
	held   []netpoll.Frame
	paused bool
	closed bool
	full   bool // paused for the number of its requests
	listed bool // in the shard's list of paused sessions
	// starvedOf is the memory that the first held frame waits for; prepaid is it, once it was had.
	starvedOf, prepaid int64
	// listener is the index of the listener that accepted the connection.
	listener int
	// clientSoftware is what ApiVersions v3 told; for metrics and the log only.
	clientSoftware string
	usage          usage
	lean           reactor.Lean
	leaving        leaving
}

// enter gives a request its place.
func (s *Session) enter(sl *slot, r reply) {
	sl.next, sl.reply, sl.done = nil, r, false
	if s.last == nil {
		s.first = sl
	} else {
		s.last.next = sl
	}
	s.last = sl
	s.inFlight++
	s.throttle()
}

// settle marks a request as answered and sends every answer whose turn has come.
func (s *Session) settle(sl *slot) {
	sl.done = true
	for s.first != nil && s.first.done {
		head := s.first
		s.first = head.next
		if s.first == nil {
			s.last = nil
		}
		s.inFlight--
		head.next = nil
		if s.closed || s.conn.Closed() { // closed in this turn, and not told yet
			head.reply.drop(s)
		} else {
			head.reply.send(s)
		}
	}
	if s.alone && s.inFlight == 0 {
		s.alone = false
		s.lower()
	}
	if s.paused {
		s.local.revisit(s)
	}
	if s.leaving.to != nil && s.inFlight == 0 {
		s.mayGo()
	}
}

// throttle stops reading from a connection that has too much under way; one whose answers pile up is netpoll's to stop.
func (s *Session) throttle() {
	if s.paused || s.closed {
		return
	}
	if s.inFlight >= maxInFlight {
		s.paused, s.full = true, true
		s.conn.Pause()
		s.local.revisit(s)
	}
}

// crowd stops reading from a connection that produces while its shard holds more bytes of produce requests than it may: a disk that stands
// still must not fill the memory.
func (s *Session) crowd() {
	if s.local.frameBytes > s.local.broker.Options().DecodedBytes && !s.paused && !s.closed {
		s.paused = true
		s.conn.Pause()
		s.local.revisit(s)
	}
}

// relax resumes reading once the connection is below its bounds; false: look again later.
func (s *Session) relax() bool {
	if s.closed || !s.paused {
		return true
	}
	if s.leaving.draining {
		return false
	}
	most := maxInFlight - 1
	if s.full {
		most = maxInFlight / 2 // so that it is worth it
	}
	if s.inFlight > most || s.barrier > 0 || s.local.frameBytes > s.local.broker.Options().DecodedBytes/2 {
		return false
	}
	s.paused, s.full = false, false
	s.conn.Resume()
	return true
}

// raise makes the frames behind the current request wait. Reading stops with the first of them.
func (s *Session) raise() { s.barrier++ }

// hold keeps a frame that came behind a barrier.
func (s *Session) hold(f netpoll.Frame) {
	s.held = append(s.held, f)
	if !s.paused {
		s.paused = true
		s.conn.Pause()
	}
}

// precede puts a frame that was taken too early back in front of those that wait, behind a barrier of its own.
func (s *Session) precede(f netpoll.Frame) {
	s.held = append([]netpoll.Frame{f}, s.held...)
	s.raise()
}

// lower lets the frames behind a barrier go on.
func (s *Session) lower() {
	s.barrier--
	for s.barrier == 0 && len(s.held) > 0 && !s.closed {
		f := s.held[0]
		s.held = s.held[1:]
		s.local.broker.onFrame(s, f)
	}
	if len(s.held) == 0 {
		s.held = nil
	}
	s.local.revisit(s)
}

// close ends every request that still waits; those under way are dropped when they come back.
func (s *Session) close() {
	s.closed = true
	s.dropUsage()
	for _, f := range s.held {
		f.Buf.Release()
	}
	s.held = nil
	var waiting []reply // collected first: abandon settles, and settling unlinks
	for sl := s.first; sl != nil; sl = sl.next {
		if !sl.done {
			waiting = append(waiting, sl.reply)
		}
	}
	for _, r := range waiting {
		r.abandon(s)
	}
}
