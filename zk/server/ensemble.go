package server

import (
	"errors"

	"github.com/pelton-broker/pelton/zk/ensemble"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/session"
	"github.com/pelton-broker/pelton/zk/tree"
	"github.com/pelton-broker/pelton/zk/txnlog"
)

var (
	errNoLeader = errors.New("zk/server: there is no leader")
	errLost     = errors.New("zk/server: the leader changed while requests were under way")
	errReplaced = errors.New("zk/server: the whole state came from the leader")
)

// together is the loop's side of an ensemble: its clients' requests go to the member, and what the member tells comes back as
// answers. It is nil on a server alone.
type together struct {
	l      *loop
	member *ensemble.Member
	// writes and syncs are the connections that wait for an answer, by the number that the member gave.
	writes map[int64]*peer
	syncs  map[int64]*peer
	// serving is what the member said last; silentMs is since when it is not.
	// again are the connections whose session is asked for again as soon as there is a leader.
	again    []*peer
	serving  bool
	silentMs int64
	// servingMs is since when it is.
	servingMs int64
	closedMs  int64 // when the connections that wait for a leader were closed; 0 when they were not
}

// joinEnsemble starts the member on the loop.
func (l *loop) joinEnsemble(m *ensemble.Member, rec *txnlog.Recovered, log *txnlog.Log) error {
	e := &together{l: l, member: m, writes: map[int64]*peer{}, syncs: map[int64]*peer{}, silentMs: l.nowMs}
	l.ens = e
	l.prop = replicated{m}
	o := ensemble.Options{Nonce: l.wallMs << 20, NowMs: l.nowMs, WallMs: l.wallMs, Tree: l.tree, Sessions: rec.Sessions, SkipACL: l.o.SkipACL, Sink: e}
	if err := m.Start(o, l.disk, log, l.net.Wake); err != nil {
		return err
	}
	l.tree, l.sessions = m.Tree, m.Sessions
	if secret := m.Agreed(); secret != nil {
		l.secret = secret
	}
	return nil
}

// turn lets the member work. Its writes may complete at once, and what they lead to need not wait for the next turn.
func (e *together) turn() {
	for range 3 {
		e.member.Turn(e.l.nowMs, e.l.wallMs)
		e.l.disk.Flush()
		if !e.l.reapMember() {
			break
		}
	}
	if !e.serving && e.closedMs == 0 && e.l.nowMs-e.silentMs > int64(e.l.o.TickTimeMs) {
		// Whoever waits for a leader here may find one elsewhere.
		e.closedMs = e.l.nowMs
		e.closeAll(errNoLeader)
	}
}

// reapMember takes completions; true when there were any.
func (l *loop) reapMember() bool {
	l.reaped = l.disk.Reap(l.reaped[:0])
	for _, op := range l.reaped {
		l.prop.OnDisk(op)
	}
	return len(l.reaped) > 0
}

func (e *together) closeAll(cause error) {
	for p := range e.l.peers {
		p.c.Close(cause)
	}
}

// Applied implements ensemble.Sink.
func (e *together) Applied(x *tree.Txn, res *tree.Result, n int64) {
	l := e.l
	l.carriedOut(x)
	p := e.writes[n]
	delete(e.writes, n)
	if x.Op == jute.OpCloseSession {
		if n == 0 && x.Cxid == 0 && e.member.Role() == "leader" {
			l.stats.expired++
		}
		l.sessionClosed(x.Session, p)
	}
	if p != nil {
		p.applied(x, res, n)
	}
}

// Resumed implements ensemble.Sink.
func (e *together) Resumed(n int64, ok bool) {
	p := e.writes[n]
	delete(e.writes, n)
	if p == nil || !p.waits() {
		return
	}
	p.pop()
	if !ok {
		e.l.refuse(p)
		return
	}
	s := e.l.sessions.Get(p.caller.Session)
	if s == nil {
		s = e.l.sessions.Add(p.caller.Session, p.connect.TimeoutMs, e.l.nowMs)
	}
	s.TimeoutMs, s.Owner = p.connect.TimeoutMs, p
	p.sess = s
	e.l.sessionOpened(p)
	p.drain()
}

// Synced implements ensemble.Sink.
func (e *together) Synced(id int64) {
	p := e.syncs[id]
	delete(e.syncs, id)
	if p == nil || !p.waits() {
		return
	}
	for i := p.head; i < len(p.queue); i++ {
		if p.queue[i].key == -id {
			p.queue[i].key = 0 // it is a read now
			break
		}
	}
	p.drain()
}

// Lost implements ensemble.Sink: whether what was asked will happen is unknown, and the client must be told so.
func (e *together) Lost() {
	for _, p := range e.writes {
		if p.state == opening && len(p.queue)-p.head == 1 && !p.c.Closed() {
			// Opening a session may be asked for twice: one that nobody got expires.
			p.pop()
			e.again = append(e.again, p)
			continue
		}
		p.c.Close(errLost)
	}
	for _, p := range e.syncs {
		p.c.Close(errLost)
	}
	clear(e.writes)
	clear(e.syncs)
}

// Serving implements ensemble.Sink. Without a leader nothing is read from clients; most elections are over before they notice.
func (e *together) Serving(on bool) {
	if e.serving == on {
		return
	}
	e.serving = on
	e.silentMs, e.closedMs = e.l.nowMs, 0
	if on {
		e.servingMs = e.l.nowMs
	}
	for p := range e.l.peers {
		if !on {
			p.c.Pause()
		} else if p.state != ending && len(p.queue)-p.head < queueMax {
			p.c.Resume()
		}
	}
	if on {
		again := e.again
		e.again = nil
		for _, p := range again {
			e.reopen(p)
		}
	}
}

// reopen asks for a session once more.
func (e *together) reopen(p *peer) {
	switch {
	case p.c.Closed():
	case p.connect.SessionID != 0:
		e.resume(p)
	default:
		e.submit(p, 0, jute.OpCreateSession, ensemble.Request{Session: p.caller.Session, Op: jute.OpCreateSession, TimeoutMs: p.connect.TimeoutMs})
	}
}

// Moved implements ensemble.Sink.
func (e *together) Moved(id int64) {
	if s := e.l.sessions.Get(id); s != nil {
		if p, ok := s.Owner.(*peer); ok {
			p.c.Close(errTakenOver)
		}
	}
}

// Secret implements ensemble.Sink.
func (e *together) Secret(secret []byte) { e.l.secret = secret }

// Replaced implements ensemble.Sink: watches and sessions were of the old tree.
func (e *together) Replaced() {
	l := e.l
	e.closeAll(errReplaced)
	l.snap.end()
	l.snap.since = 0
	l.tree, l.sessions = e.member.Tree, e.member.Sessions
}

// submit sends a request of p's on its way; its answer waits in p's queue.
func (e *together) submit(p *peer, xid, op int32, r ensemble.Request) {
	n := e.member.Submit(r)
	e.writes[n] = p
	p.push(waiting{key: n, xid: xid, op: op})
}

// write forwards a write, unless it cannot be parsed: that takes no place in the order, but its answer waits for its turn.
func (e *together) write(p *peer, xid, op int32, body []byte) {
	if !tree.Parses(op, body) {
		if p.waits() {
			p.push(waiting{xid: xid, op: op, code: jute.MarshallingError})
			return
		}
		e.l.replyCode(p, xid, jute.MarshallingError, e.l.nowMs)
		return
	}
	e.submit(p, xid, op, ensemble.Request{Session: p.caller.Session, Xid: xid, Op: op, Body: append([]byte(nil), body...), IDs: p.caller.IDs})
}

// resume asks the leader whether the session may go on here.
func (e *together) resume(p *peer) {
	id := p.connect.SessionID
	p.caller.Session, p.state = id, opening
	p.sess = &session.Session{ID: id, TimeoutMs: p.connect.TimeoutMs}
	n := e.member.Resume(id, p.connect.TimeoutMs)
	e.writes[n] = p
	p.push(waiting{key: n, op: jute.OpCreateSession})
}

// replicated is the order of an ensemble, as far as the loop needs to see it.
type replicated struct{ *ensemble.Member }

func (replicated) NextZxid() int64   { return 0 }
func (replicated) Propose(*tree.Txn) {}
func (replicated) Turn()             {}
func (replicated) Final() int64      { return -1 }
