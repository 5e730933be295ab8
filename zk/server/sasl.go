package server

import (
	"errors"
	"slices"

	"github.com/pelton-broker/pelton/zk/jute"
)

// errNotProven ends connections that must prove who they are first.
var errNotProven = errors.New("zk/server: the connection has not authenticated as this server demands")

// sasl carries an exchange on by one token. Like auth it is answered at once.
func (l *loop) sasl(p *peer, xid int32, r *jute.Reader) {
	token := r.Buffer()
	if r.Err() != nil || token == nil {
		p.c.Close(errBadFrame)
		return
	}
	if len(l.o.SASLUsers) == 0 {
		// A server without users answers with no token; the client decides what that means to it.
		b := jute.AppendReplyHeader(l.begin(), xid, 0, jute.OK)
		l.send(p, jute.AppendBuffer(b, nil))
		return
	}
	if p.sasl == nil {
		p.sasl = &digestMD5{users: l.o.SASLUsers}
	}
	answer, err := p.sasl.step(token, l.o.Random)
	code := jute.OK
	if err != nil {
		answer = nil
		l.stats.authFailed++
		l.o.Log.Warn("zk client failed to authenticate", "err", err)
		if l.o.AllowFailedSASL && !slices.Contains(l.o.RequiredSchemes, "sasl") {
			p.sasl = nil
		} else if code = jute.AuthFailed; slices.Contains(l.o.RequiredSchemes, "sasl") {
			code = jute.SessionClosedRequireSASL
		}
	}
	if p.sasl != nil && p.sasl.done {
		p.addID(jute.ID{Scheme: "sasl", ID: p.sasl.user})
		if l.o.SuperUser != "" && p.sasl.user == l.o.SuperUser {
			p.addID(jute.ID{Scheme: "super"})
		}
	}
	l.send(p, jute.AppendBuffer(jute.AppendReplyHeader(l.begin(), xid, 0, code), answer))
	if code != jute.OK {
		p.hangUp(errSASL)
	}
}

// proven says whether the connection may ask anything; when not, it is answered and ended.
func (l *loop) proven(p *peer, xid int32) bool {
	if len(l.o.RequiredSchemes) == 0 {
		return true
	}
	for _, id := range p.caller.IDs {
		if slices.Contains(l.o.RequiredSchemes, id.Scheme) {
			return true
		}
	}
	l.send(p, jute.AppendReplyHeader(l.begin(), xid, 0, jute.SessionClosedRequireSASL))
	p.hangUp(errNotProven)
	return false
}
