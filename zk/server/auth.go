package server

import (
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

// auth adds an identity to the connection. It is answered at once, also ahead of earlier requests that still wait.
func (l *loop) auth(p *peer, xid int32, r *jute.Reader) {
	r.Int()
	scheme, credential := r.String(), r.Buffer()
	if r.Err() != nil {
		p.c.Close(errBadFrame)
		return
	}
	code := jute.OK
	switch {
	case credential == nil:
		code = jute.AuthFailed
	case scheme == "digest":
		id := DigestID(string(credential))
		if l.o.SuperDigest != "" && id == l.o.SuperDigest {
			p.addID(jute.ID{Scheme: "super"})
		}
		p.addID(jute.ID{Scheme: "digest", ID: id})
	case scheme == "ip":
		p.addID(jute.ID{Scheme: "ip", ID: p.c.Remote.Addr().Unmap().String()})
	default:
		code = jute.AuthFailed
	}
	l.send(p, jute.AppendReplyHeader(l.begin(), xid, 0, code))
	if code != jute.OK {
		l.stats.authFailed++
		p.hangUp(errAuthFailed)
	}
}

func (p *peer) addID(id jute.ID) {
	if !slices.Contains(p.caller.IDs, id) {
		p.caller.IDs = append(p.caller.IDs, id)
	}
}

// DigestID is the identity of somebody who knows credential, user:password.
func DigestID(credential string) string {
	sum := sha1.Sum([]byte(credential))
	user, _, _ := strings.Cut(credential, ":")
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}
