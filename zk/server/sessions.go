package server

import (
	"github.com/pelton-broker/pelton/zk/ensemble"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/session"
	"github.com/pelton-broker/pelton/zk/tree"
)

// openSession takes the first frame of a connection: a new session, or one taken up again.
func (l *loop) openSession(p *peer, b []byte) {
	r := jute.NewReader(b)
	req := r.ConnectRequest()
	if r.Err() != nil {
		p.c.Close(errBadConnect)
		return
	}
	l.m.connects++
	if req.LastZxid > l.tree.Zxid {
		p.c.Close(errAhead)
		return
	}
	given := req.Password
	req.Password = nil
	req.TimeoutMs = min(max(req.TimeoutMs, int32(l.o.MinSessionTimeoutMs)), int32(l.o.MaxSessionTimeoutMs))
	p.connect = req
	if req.SessionID != 0 {
		l.resumeSession(p, given)
		return
	}
	id := l.nextID
	l.nextID++
	if l.ens != nil {
		p.sess = &session.Session{ID: id, TimeoutMs: req.TimeoutMs} // it is one when the ensemble says so
	} else {
		p.sess = l.sessions.Add(id, req.TimeoutMs, l.nowMs)
		p.sess.Owner = p
	}
	p.caller.Session = id
	p.state = opening
	if l.ens != nil {
		l.ens.submit(p, 0, jute.OpCreateSession, ensemble.Request{Session: id, Op: jute.OpCreateSession, TimeoutMs: req.TimeoutMs})
		return
	}
	x := l.newTxn(id, 0)
	l.prep.CreateSession(x, req.TimeoutMs)
	p.push(waiting{key: x.Zxid, op: jute.OpCreateSession})
	l.propose(x, p)
}

// sessionOpened tells the client its session, once that is durable.
func (l *loop) sessionOpened(p *peer) {
	if p.state == opening {
		p.state = live
	}
	b := jute.AppendConnectResponse(l.begin(), p.sess.TimeoutMs, p.sess.ID, password(l.secret, p.sess.ID), p.connect.HasReadOnly, false)
	l.send(p, b)
}

// resumeSession moves a session to this connection. Whatever connection it had is closed first, even when the
// password is wrong, as ZooKeeper does.
func (l *loop) resumeSession(p *peer, given []byte) {
	id := p.connect.SessionID
	s := l.sessions.Get(id)
	if s != nil {
		if old, ok := s.Owner.(*peer); ok && old != p {
			old.c.Close(errTakenOver)
			s.Owner = nil
		}
	}
	if l.ens != nil && rightPassword(l.secret, id, given) {
		l.ens.resume(p)
		return
	}
	if s == nil || s.Closing || !rightPassword(l.secret, id, given) {
		l.refuse(p)
		return
	}
	s.TimeoutMs = p.connect.TimeoutMs
	l.sessions.Touch(s, l.nowMs)
	s.Owner = p
	p.sess, p.caller.Session, p.state = s, id, live
	l.sessionOpened(p)
}

// refuse answers a connect request for a session that is gone.
func (l *loop) refuse(p *peer) {
	b := jute.AppendConnectResponse(l.begin(), 0, 0, make([]byte, 16), p.connect.HasReadOnly, false)
	l.send(p, b)
	l.stats.refused++
	p.hangUp(errRefused)
}

// closeSession is the client's wish.
func (l *loop) closeSession(p *peer, xid int32) {
	if l.ens != nil {
		l.ens.submit(p, xid, jute.OpCloseSession, ensemble.Request{Session: p.sess.ID, Xid: xid, Op: jute.OpCloseSession})
		p.state = ending
		return
	}
	x := l.newTxn(p.sess.ID, xid)
	l.sessions.Close(p.sess)
	l.prep.CloseSession(x)
	p.push(waiting{key: x.Zxid, xid: xid, op: jute.OpCloseSession})
	p.state = ending
	l.propose(x, p)
}

// expire ends a session whose time is over.
func (l *loop) expire(s *session.Session) {
	l.o.Log.Info("zk session expired", "session", s.ID, "took", s.TimeoutMs)
	l.stats.expired++
	x := l.newTxn(s.ID, 0)
	l.sessions.Close(s)
	l.prep.CloseSession(x)
	l.propose(x, nil)
}

// sessionClosed follows the transaction that ended a session; by is the connection that asked for it.
func (l *loop) sessionClosed(id int64, by *peer) {
	s := l.sessions.Get(id)
	l.sessions.Remove(id)
	if s == nil {
		return
	}
	if p, ok := s.Owner.(*peer); ok && p != by {
		p.hangUp(errExpired)
	}
}

// gone is true when the session's end is ordered already: its writes are refused from then on.
func (p *peer) who() *tree.Caller {
	p.caller.Gone = p.sess.Closing
	return &p.caller
}
