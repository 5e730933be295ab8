package reactor

import "github.com/pelton-broker/pelton/netpoll"

// MoveHook is implemented by Hooks whose connections may move to another shard.
type MoveHook interface {
	// OnArrive gets a connection that another shard sent with MoveConn, with what that one sent along, before anything else of it.
	OnArrive(s *Shard, c *netpoll.Conn, with any)
}

// move carries a connection to its new shard.
type move struct {
	conn *netpoll.Conn
	with any
}

// MoveConn gives a connection to another shard; false: it stays (netpoll.Net.Detach says when), or the server stops. Not to be called from
// within an up-call of the connection; Hooks.OnTurn is the place. Whatever else of the host's belongs to the connection goes along as with.
func (s *Shard) MoveConn(c *netpoll.Conn, to *Shard, with any) bool {
	if to == s || s.server.stopping.Load() || !s.Net.Detach(c) {
		return false
	}
	to.coming.Add(1)
	to.load.seats.Add(-1)
	s.Send(to, &move{conn: c, with: with})
	return true
}

// Deliver implements Message.
func (m *move) Deliver(s *Shard) {
	s.adopted++
	s.Net.Attach(m.conn)
	if hook, ok := s.h.(MoveHook); ok {
		hook.OnArrive(s, m.conn, m.with)
	}
	if s.halt.begun {
		m.conn.Close(netpoll.ErrClosed)
	}
}

// dropMoves ends connections that were on their way to a shard, or from it, when the loops ended.
func (s *Shard) dropMoves() {
	drop := func(m Message) {
		if m, ok := m.(*move); ok {
			m.conn.Drop(s.server.o.Net.Limiter)
		}
	}
	for i := range s.out {
		for late := &s.out[i].late; late.len() > 0; {
			drop(late.pop())
		}
	}
	for _, r := range s.in {
		if r == nil {
			continue
		}
		for r.waiting() > 0 {
			drop(r.take())
		}
	}
}
