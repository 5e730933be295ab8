package server

import (
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// request takes one frame of an open connection. True when it keeps the frame.
func (l *loop) request(p *peer, f netpoll.Frame) (kept bool) {
	r := jute.NewReader(f.B)
	xid, op := r.Int(), r.Int()
	if r.Err() != nil {
		p.c.Close(errBadFrame)
		return false
	}
	l.sessions.Touch(p.sess, l.nowMs)
	if op != jute.OpAuth && op != jute.OpSASL && !l.proven(p, xid) {
		return false
	}
	if l.ens != nil {
		l.ens.member.Touch(p.sess.ID)
	}
	switch op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL, jute.OpDelete, jute.OpSetData, jute.OpSetACL,
		jute.OpMulti, jute.OpReconfig, jute.OpDeleteContainer:
		l.write(p, xid, op, &r)
	case jute.OpCloseSession:
		l.closeSession(p, xid)
	case jute.OpAuth:
		l.auth(p, xid, &r)
	case jute.OpSASL:
		l.sasl(p, xid, &r)
	case jute.OpPing, jute.OpExists, jute.OpGetData, jute.OpGetACL, jute.OpGetChildren, jute.OpGetChildren2, jute.OpSync, jute.OpSetWatches,
		jute.OpSetWatches2, jute.OpCheckWatches, jute.OpRemoveWatches, jute.OpGetEphemerals, jute.OpGetAllChildrenNumber,
		jute.OpMultiRead, jute.OpAddWatch, jute.OpWhoAmI:
		if l.ens != nil && op == jute.OpSync {
			id := l.ens.member.Sync()
			l.ens.syncs[id] = p
			p.push(waiting{key: -id, xid: xid, op: op, frame: f, body: r.Rest()})
			return true
		}
		if p.waits() {
			p.push(waiting{xid: xid, op: op, frame: f, body: r.Rest()})
			return true
		}
		l.answerRead(p, xid, op, r.Rest(), l.nowMs)
	default:
		l.unknown(p, xid)
	}
	return false
}

// unknown operations end the connection.
func (l *loop) unknown(p *peer, xid int32) {
	l.send(p, jute.AppendReplyHeader(l.begin(), xid, -1, jute.Unimplemented))
	p.hangUp(errUnknownOp)
}

// write checks a write and gives it its place in the order.
func (l *loop) write(p *peer, xid, op int32, r *jute.Reader) {
	if l.ens != nil {
		l.ens.write(p, xid, op, r.Rest())
		return
	}
	x := l.newTxn(p.caller.Session, xid)
	if err := l.prep.Request(op, r, p.who(), x); err != nil {
		// What cannot be parsed takes no place in the order, but its answer waits for its turn.
		if p.waits() {
			p.push(waiting{xid: xid, op: op, code: jute.MarshallingError})
			return
		}
		l.replyCode(p, xid, jute.MarshallingError, l.nowMs)
		return
	}
	p.push(waiting{key: x.Zxid, xid: xid, op: op})
	l.propose(x, p)
}

// answerWrite encodes the result of an applied write.
func (l *loop) answerWrite(p *peer, w *waiting, x *tree.Txn, res *tree.Result) {
	code := res.Err
	if w.op == jute.OpMulti && x.Op == jute.OpMulti {
		code = jute.OK
	}
	b := jute.AppendReplyHeader(l.begin(), w.xid, l.tree.Zxid, code)
	if code == jute.OK {
		switch w.op {
		case jute.OpCreate:
			b = jute.AppendText(b, res.Path)
		case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
			b = jute.AppendStat(jute.AppendText(b, res.Path), &res.Stat)
		case jute.OpSetData, jute.OpSetACL:
			b = jute.AppendStat(b, &res.Stat)
		case jute.OpMulti:
			b = appendMulti(b, res.Sub)
		case jute.OpReconfig:
			b = jute.AppendStat(jute.AppendBuffer(b, x.Data), &res.Stat)
		}
	}
	l.send(p, b)
	l.m.writes++
	l.m.update.add(l.nowMs - w.ms)
	l.m.propagation.add(l.nowMs - w.ms)
	l.stats.answered(l.nowMs - w.ms)
	p.stats.answered(l.nowMs-w.ms, l.nowMs, w.xid, l.tree.Zxid)
	p.stats.lastOp = opName(w.op)
	if w.op == jute.OpCloseSession {
		p.hangUp(errClosedByClient)
	}
}

func appendMulti(b []byte, subs []tree.Result) []byte {
	for i := range subs {
		s := &subs[i]
		switch s.Op {
		case jute.OpError:
			b = jute.AppendMultiHeader(b, jute.OpError, false, int32(s.Err))
			b = jute.AppendInt(b, int32(s.Err))
		case jute.OpCreate:
			b = jute.AppendMultiHeader(b, jute.OpCreate, false, 0)
			b = jute.AppendText(b, s.Path)
		case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
			b = jute.AppendMultiHeader(b, jute.OpCreate2, false, 0)
			b = jute.AppendStat(jute.AppendText(b, s.Path), &s.Stat)
		case jute.OpSetData:
			b = jute.AppendMultiHeader(b, jute.OpSetData, false, 0)
			b = jute.AppendStat(b, &s.Stat)
		default:
			b = jute.AppendMultiHeader(b, s.Op, false, 0)
		}
	}
	return jute.AppendMultiHeader(b, -1, true, -1)
}
