package conformance

import (
	"encoding/binary"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/zk/jute"
)

// answer is one frame that is no event.
type answer struct {
	xid    int32
	zxid   int64
	err    int32
	body   []byte
	closed bool
}

func frame(xid, op int32, body []byte) []byte {
	b := jute.AppendInt(nil, int32(8+len(body)))
	b = jute.AppendInt(jute.AppendInt(b, xid), op)
	return append(b, body...)
}

func (p *player) send(l *link, xid, op int32, body []byte) {
	if _, err := l.c.Write(frame(xid, op, body)); err != nil {
		l.closed = true
	}
}

func (p *player) read(l *link) ([]byte, error) {
	_ = l.c.SetReadDeadline(time.Now().Add(patience))
	var n [4]byte
	if _, err := io.ReadFull(l.c, n[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	_, err := io.ReadFull(l.c, b)
	return b, err
}

// reply reads up to the next frame that is no event; events are written as they come.
func (p *player) reply(l *link, show bool) answer {
	for {
		b, err := p.read(l)
		if err != nil {
			l.closed = true
			if show {
				p.say("%s closed", l.name)
			}
			return answer{closed: true}
		}
		r := jute.NewReader(b)
		a := answer{xid: r.Int(), zxid: r.Long(), err: r.Int(), body: r.Rest()}
		if a.xid != jute.XidWatch {
			l.lastZxid = max(l.lastZxid, a.zxid)
			return a
		}
		ev := jute.NewReader(a.body)
		kind, state, path := ev.Int(), ev.Int(), ev.String()
		if show {
			p.say("%s event %s state %d %s zxid %s", l.name, eventName(kind), state, tilde(path), p.zxid(a.zxid))
		}
	}
}

func eventName(k int32) string {
	switch k {
	case jute.EventCreated:
		return "created"
	case jute.EventDeleted:
		return "deleted"
	case jute.EventDataChanged:
		return "data"
	case jute.EventChildrenChanged:
		return "children"
	}
	return fmt.Sprint(k)
}

func tilde(path string) string {
	if path == "/t" || strings.HasPrefix(path, "/t/") {
		return "~" + path[2:]
	}
	return fmt.Sprintf("%+q", path)
}

// connect sends the connect request and shows the answer.
func (p *player) connect(l *link, a args, show bool) {
	l.timeout = int32(a.num("timeout", 30000))
	b := jute.AppendInt(nil, int32(a.num("protocol", 0)))
	b = jute.AppendLong(b, a.num("seen", 0))
	b = jute.AppendInt(b, l.timeout)
	b = jute.AppendLong(b, l.session)
	switch v := a["password"]; v {
	case "":
		b = jute.AppendBuffer(b, append(make([]byte, 0), l.passwordOrZeros()...))
	case "null":
		b = jute.AppendBuffer(b, nil)
	default:
		b = jute.AppendBuffer(b, literal(v))
	}
	if v := a["readonly"]; v != "absent" {
		b = jute.AppendBool(b, v == "1")
	}
	if _, err := l.c.Write(append(jute.AppendInt(nil, int32(len(b))), b...)); err != nil {
		p.t.Fatal(err)
	}
	in, err := p.read(l)
	if err != nil {
		l.closed = true
		if show {
			p.say("%s closed", l.name)
		}
		return
	}
	r := jute.NewReader(in)
	version, timeout, id, pw := r.Int(), r.Int(), r.Long(), append([]byte(nil), r.Buffer()...)
	same := id != 0 && id == l.session
	if id != 0 {
		l.session, l.password = id, pw
		p.ids[id] = l.name
		p.keys[id] = pw
	}
	if show {
		zero := strings.Trim(string(pw), "\x00") == ""
		p.say("%s session version %d timeout %d id %s same %v password %d zero %v rest %x", l.name, version, timeout, p.who(id), same, len(pw), zero, r.Rest())
	}
}

func (l *link) passwordOrZeros() []byte {
	if l.password == nil {
		return make([]byte, 16)
	}
	return l.password
}

// reconnect opens a connection, and the session anew or again: session=NAME takes another's, id=N any.
func (p *player) reconnect(name string, a args) {
	old := p.conns[name]
	l := p.open(name)
	if of := a["session"]; of != "" && p.conns[of] != nil {
		l.session, l.password = p.conns[of].session, p.conns[of].password
	} else if old != nil {
		l.session, l.password = old.session, old.password
	}
	if id := a.num("id", 0); id != 0 {
		l.session = id
	}
	if a["fresh"] != "" {
		l.session, l.password = 0, nil
	}
	p.conns[name] = l
	p.connect(l, a, true)
}

// rawBytes sends bytes on a connection of its own and shows what comes back until it ends.
func (p *player) rawBytes(name string, a args) {
	l := p.open(name)
	defer l.c.Close()
	if a["session"] != "" {
		p.connect(l, args{}, false)
	}
	_, _ = l.c.Write(a.bytes("send"))
	_ = l.c.SetReadDeadline(time.Now().Add(time.Second))
	b, err := io.ReadAll(l.c)
	p.say("%s got %q closed %v", l.name, b, err == nil || !strings.Contains(err.Error(), "timeout"))
}

// show decodes the answer to op.
func (p *player) show(op int32, a *answer) string {
	head := fmt.Sprintf("err %d zxid %s", a.err, p.zxid(a.zxid))
	r := jute.NewReader(a.body)
	text := ""
	if a.err == 0 {
		text = p.body(op, &r)
	}
	if r.Err() != nil {
		text += " SHORT"
	}
	if r.Len() > 0 {
		text += fmt.Sprintf(" rest %x", r.Rest())
	}
	return head + text
}

func (p *player) body(op int32, r *jute.Reader) string {
	switch op {
	case jute.OpCreate, jute.OpSync:
		return " " + tilde(r.String())
	case jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return " " + tilde(r.String()) + p.stat(r)
	case jute.OpExists, jute.OpSetData, jute.OpSetACL:
		return p.stat(r)
	case jute.OpGetData:
		return p.data(r) + p.stat(r)
	case jute.OpGetChildren:
		return names(r)
	case jute.OpGetChildren2:
		return names(r) + p.stat(r)
	case jute.OpGetACL:
		acl := r.ACL()
		// Apache keeps the identities of a connection in a hash set: their order means nothing.
		sort.Slice(acl, func(i, j int) bool { return fmt.Sprint(acl[i]) < fmt.Sprint(acl[j]) })
		return fmt.Sprintf(" acl %+q", fmt.Sprint(acl)) + p.stat(r)
	case jute.OpGetEphemerals:
		return names(r)
	case jute.OpGetAllChildrenNumber:
		return fmt.Sprintf(" count %d", r.Int())
	case jute.OpAddWatch:
		return fmt.Sprintf(" error %d", r.Int())
	case jute.OpMulti, jute.OpMultiRead:
		return p.results(r)
	case jute.OpWhoAmI:
		var out []string
		for range r.Count(8) {
			out = append(out, fmt.Sprintf("%s:%s", r.String(), r.String()))
		}
		sort.Strings(out)
		return fmt.Sprintf(" %+q", out)
	}
	return ""
}

func (p *player) data(r *jute.Reader) string {
	b := r.Buffer()
	switch {
	case b == nil:
		return " null"
	case len(b) > 60:
		return fmt.Sprintf(" %d bytes", len(b))
	}
	return fmt.Sprintf(" %+q", b)
}

func names(r *jute.Reader) string {
	v := r.Strings()
	sort.Strings(v)
	if len(v) > 20 {
		return fmt.Sprintf(" %d names", len(v))
	}
	for i := range v {
		v[i] = tilde(v[i])
	}
	return " [" + strings.Join(v, " ") + "]"
}

func (p *player) stat(r *jute.Reader) string {
	s := r.Stat()
	if s.Czxid == 0 {
		// The nodes that every server begins with have a history beyond the case.
		return fmt.Sprintf(" c 0 ctime %s owner %s len %d children %d", when(s.Ctime), p.who(s.EphemeralOwner), s.DataLength, s.NumChildren)
	}
	return fmt.Sprintf(" c %s m %s p %s ctime %s mtime %v v %d cv %d av %d owner %s len %d children %d", p.zxid(s.Czxid), p.zxid(s.Mzxid), p.zxid(s.Pzxid),
		when(s.Ctime), s.Mtime >= s.Ctime, s.Version, s.Cversion, s.Aversion, p.who(s.EphemeralOwner), s.DataLength, s.NumChildren)
}

func when(ms int64) string {
	if ms == 0 {
		return "0"
	}
	return "set"
}

func (p *player) results(r *jute.Reader) string {
	var out []string
	for r.Err() == nil {
		op, done, err := r.MultiHeader()
		if done {
			out = append(out, fmt.Sprintf("end %d %d", op, err))
			break
		}
		text := ""
		switch op {
		case jute.OpError:
			text = fmt.Sprintf(" error %d", r.Int())
		case jute.OpDelete, jute.OpCheck:
		default:
			text = p.body(op, r)
		}
		out = append(out, fmt.Sprintf("%d/%d%s", op, err, text))
	}
	return " {" + strings.Join(out, " | ") + "}"
}
