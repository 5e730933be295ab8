package api

import (
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
)

// drainAfter is how many requests a connection that is to move may send without a pause between answers; then it is not read until all of
// them are answered. A client that keeps requests in flight never has such a pause by itself.
const drainAfter = 64

// leaving is a session's way to another shard. The zero value: it stays.
type leaving struct {
	to *reactor.Shard
	// spared: its requests stay here; it goes since this shard has too much to do.
	spared bool
	// since counts the requests since it was decided.
	since int
	// listed: in its shard's list of those that may be ready to go.
	listed bool
	// draining: not read until it goes.
	draining bool
}

// went notes to which shard's partitions a request goes: reactor.Several and reactor.Nowhere are no shard.
func (s *Session) went(to int) {
	l := s.local
	if !l.migrates {
		return
	}
	now := l.shard.Now()
	verdict := s.lean.Went(l.shard.ID, to, now)
	if s.leaving.to != nil {
		if to != reactor.Nowhere && to != s.leaving.to.ID && !s.leaving.spared {
			s.stay()
			return
		}
		if s.leaving.since++; s.leaving.since >= drainAfter && !s.leaving.draining {
			s.drain()
		}
		return
	}
	if verdict == reactor.Content || s.closed {
		return
	}
	target, rate := l.broker.server.Shards()[to], s.lean.Rate(now)
	if verdict == reactor.AtHome {
		target = l.shard.Relief(rate)
	} else if !l.shard.Welcomes(target, rate) {
		target = nil
	}
	if target == nil {
		s.lean.Stayed()
		return
	}
	s.leaving = leaving{to: target, spared: verdict == reactor.AtHome, listed: s.leaving.listed}
}

// drain stops reading, so that the answers come to an end.
func (s *Session) drain() {
	s.leaving.draining = true
	if !s.paused {
		s.paused = true
		s.conn.Pause()
	}
	s.local.revisit(s)
}

// stay gives the move up.
func (s *Session) stay() {
	s.leaving.to = nil
	s.lean.Stayed()
	if s.leaving.draining {
		s.leaving.draining = false
		s.local.revisit(s)
	}
}

// mayGo looks at a session that is to move once nothing of it is under way.
func (s *Session) mayGo() {
	if s.leaving.to != nil && !s.leaving.listed && !s.closed {
		s.leaving.listed = true
		s.local.parting = append(s.local.parting, s)
	}
}

// rests tells whether nothing of the session is under way: no request, no frame that waits, no client that is made to wait.
func (s *Session) rests() bool {
	return s.inFlight == 0 && s.barrier == 0 && len(s.held) == 0 && s.prepaid == 0 && s.usage.mutedNs == 0 && (!s.paused || s.leaving.draining)
}

// part sends the sessions off that are to move and rest, once their last answer is out. It is called when a turn ends.
func (l *Local) part() {
	if len(l.parting) == 0 {
		return
	}
	kept := l.parting[:0]
	for _, s := range l.parting {
		s.leaving.listed = false
		if s.closed || s.leaving.to == nil || !s.rests() {
			continue // its next answer lists it again
		}
		s.conn.Flush()
		if s.conn.OutBytes() > 0 && !s.conn.Closed() {
			s.leaving.listed = true
			kept = append(kept, s)
			continue
		}
		l.sendOff(s)
	}
	clear(l.parting[len(kept):])
	l.parting = kept
}

// luggage is what a session takes along.
type luggage struct {
	session *Session
	fetches []*fetchSession
}

// sendOff gives a session and its connection to the other shard. From then on nothing here refers to it.
func (l *Local) sendOff(s *Session) {
	to := s.leaving.to
	s.lean.Moved(l.shard.Now())
	if s.leaving.draining {
		s.paused, s.full = false, false
		s.conn.Resume()
	}
	s.leaving = leaving{}
	if s.listed {
		l.unlist(s)
	}
	with := &luggage{session: s, fetches: l.takeFetchSessions(s)}
	if !l.shard.MoveConn(s.conn, to, with) {
		l.putFetchSessions(with.fetches) // closed, or more has come meanwhile: it stays and may try again
		return
	}
	l.set.Add(perf.ConnectionsMoved, 1)
}

// unlist takes a session off the list of those that are looked at again.
func (l *Local) unlist(s *Session) {
	s.listed = false
	for i := range l.paused {
		if l.paused[i] == s {
			l.paused = append(l.paused[:i], l.paused[i+1:]...)
			return
		}
	}
}

// OnArrive implements reactor.MoveHook.
func (b *Broker) OnArrive(s *reactor.Shard, _ *netpoll.Conn, with any) {
	l, w := localOf(s), with.(*luggage)
	w.session.local = l
	l.putFetchSessions(w.fetches)
}

// takeFetchSessions takes the fetch sessions that were used through a connection last from the shard's.
func (l *Local) takeFetchSessions(s *Session) (taken []*fetchSession) {
	for id, f := range l.fetchSessions.byID {
		if f.user == s.conn.ID {
			taken = append(taken, f)
			delete(l.fetchSessions.byID, id)
		}
	}
	l.countSessions()
	return taken
}

// putFetchSessions adds them to the shard's. Their ids name the shard that made them, so that they meet none of the others.
func (l *Local) putFetchSessions(list []*fetchSession) {
	for _, f := range list {
		if l.fetchSessions.byID[f.id] == nil { // millions of sessions ago its id was here before: the client makes a new one
			l.fetchSessions.byID[f.id] = f
		}
	}
	l.countSessions()
}
