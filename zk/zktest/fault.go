package zktest

import (
	"strings"

	"github.com/go-zookeeper/zk"
)

type loss struct {
	match   string
	applied bool
}

type refusal struct {
	match string
	err   error
}

// Expire ends a session as its timeout would; the client learns of it and gets a new one at once, or, while the server
// is down, when it is up again.
func (s *Server) Expire(session int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mu.conns[session]
	s.endLocked(session)
	if c == nil {
		return
	}
	if s.mu.down {
		s.mu.orphans = append(s.mu.orphans, c)
		return
	}
	c.events(zk.Event{Type: zk.EventSession, State: zk.StateDisconnected})
	s.renewLocked(c)
}

// renewLocked tells a client that its session is over and gives it the next one.
func (s *Server) renewLocked(c *Conn) {
	c.events(zk.Event{Type: zk.EventSession, State: zk.StateExpired})
	s.openLocked(c)
}

// Crash makes a client's process die: it gets no more answers, its session stays until Bury.
func (s *Server) Crash(session int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.mu.conns[session]; c != nil {
		c.closed.Store(true)
		c.watches = map[watch]bool{}
	}
}

// Bury ends the session of a crashed client.
func (s *Server) Bury(session int64) { s.mu.Lock(); defer s.mu.Unlock(); s.endLocked(session) }

// Lose breaks the connection at the next write whose log entry contains match, after carrying it out or before.
func (s *Server) Lose(match string, applied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lose = append(s.mu.lose, loss{match, applied})
}

// Refuse answers the next write whose log entry contains match with err.
func (s *Server) Refuse(match string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.refuse = append(s.mu.refuse, refusal{match, err})
}

// Hold delays every request until the returned function is called.
func (s *Server) Hold() (release func()) {
	s.held.Lock()
	return s.held.Unlock
}

// Down makes the server unreachable for new connections and requests.
func (s *Server) Down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.down = true
	for _, c := range s.mu.conns {
		c.events(zk.Event{Type: zk.EventSession, State: zk.StateDisconnected})
	}
}

// Up ends Down. The sessions live still, except those that Expire ended meanwhile: their clients learn it now.
func (s *Server) Up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.down = false
	for _, c := range s.mu.orphans {
		s.renewLocked(c)
	}
	s.mu.orphans = nil
	for _, c := range s.mu.conns {
		c.events(zk.Event{Type: zk.EventSession, State: zk.StateHasSession})
	}
}

func (s *Server) lostLocked(name string) (lost, applied bool) {
	for i, l := range s.mu.lose {
		if name != "" && strings.Contains(name, l.match) {
			s.mu.lose = append(s.mu.lose[:i], s.mu.lose[i+1:]...)
			return true, l.applied
		}
	}
	return false, false
}

func (s *Server) refusedLocked(name string) error {
	for i, r := range s.mu.refuse {
		if name != "" && strings.Contains(name, r.match) {
			s.mu.refuse = append(s.mu.refuse[:i], s.mu.refuse[i+1:]...)
			return r.err
		}
	}
	return nil
}
