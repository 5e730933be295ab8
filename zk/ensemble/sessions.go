package ensemble

import (
	"github.com/pelton-broker/pelton/zk/jute"
)

// Sessions are the leader's: it alone lets them expire. The other members know which there are, and tell it whom they heard of.

// OpenSessions are the sessions that a snapshot holds, with their timeouts: those that are ordered and not yet applied may never be.
func (c *Core) OpenSessions() map[int64]int32 {
	open := c.Sessions.Timeouts()
	for id := range c.unborn {
		delete(open, id)
	}
	return open
}

// Touch says that a session's client was heard.
func (c *Core) Touch(session int64) {
	if !c.leading {
		c.touched[session] = struct{}{}
	}
}

func (c *Core) flushTouches() {
	if len(c.touched) == 0 || !c.serving || c.leading {
		return
	}
	b := jute.AppendInt([]byte{kindTouch}, int32(len(c.touched)))
	for _, id := range c.sortedTouched() {
		b = jute.AppendLong(b, id)
	}
	clear(c.touched)
	c.send(c.lead, b)
}

func (c *Core) onTouch(from uint64, r *jute.Reader) {
	for range r.Count(8) {
		id := r.Long()
		if s := c.Sessions.Get(id); s != nil && c.leading && c.owns(from, id) {
			c.Sessions.Touch(s, c.nowMs)
		}
	}
}

// owns says whether a member's clients may speak for a session: it is theirs, or nobody's since this leader began.
func (c *Core) owns(member uint64, session int64) bool {
	owner, known := c.owners[session]
	if !known && c.Sessions.Get(session) != nil {
		c.owners[session] = member
		return true
	}
	return !known || owner == member
}

// resumeAtLeader moves a session to the member that asks.
func (c *Core) resumeAtLeader(from uint64, gen, n int64, req *Request) {
	s := c.Sessions.Get(req.Session)
	ok := s != nil && !s.Closing
	if ok {
		s.TimeoutMs = req.TimeoutMs
		c.Sessions.Touch(s, c.nowMs)
		if owner, known := c.owners[req.Session]; known && owner != from {
			c.tellMoved(owner, req.Session)
		}
		c.owners[req.Session] = from
	}
	if from == c.o.ID {
		c.answered(n)
		c.sink.Resumed(n, ok)
		return
	}
	c.send(from, jute.AppendBool(jute.AppendLong(jute.AppendLong([]byte{kindResumed}, gen), n), ok))
}

func (c *Core) tellMoved(owner uint64, session int64) {
	if owner == c.o.ID {
		c.sink.Moved(session)
		return
	}
	c.send(owner, jute.AppendLong([]byte{kindMoved}, session))
}

func (c *Core) onMoved(from uint64, r *jute.Reader) {
	if id := r.Long(); r.Err() == nil && from == c.lead {
		delete(c.touched, id)
		c.sink.Moved(id)
	}
}

func (c *Core) onResumed(from uint64, r *jute.Reader) {
	gen, n, ok := r.Long(), r.Long(), r.Bool()
	if r.Err() != nil || from != c.lead || gen != c.requests.gen {
		return
	}
	c.answered(n)
	c.sink.Resumed(n, ok)
}

// expire ends the sessions that nobody was heard of.
func (c *Core) expire() {
	if c.nowMs < c.Sessions.NextMs() {
		return
	}
	for _, s := range c.Sessions.Due(c.nowMs, nil) {
		c.log.Info("zk session expired", "session", s.ID, "took", s.TimeoutMs)
		x := c.newTxn(s.ID, 0)
		c.Sessions.Close(s)
		c.prep.CloseSession(x)
		c.place(0, 0, 0, x)
	}
}
