package conformance

import (
	"encoding/hex"
	"fmt"
	"net"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pelton-broker/pelton/zk/jute"
)

// player runs the lines of one case. A line is "SESSION VERB key=value…"; "~" in a path is the case's own root.
type player struct {
	t     *testing.T
	addr  string
	base  int64 // zxid when the case began: zxids are shown relative to it
	conns map[string]*link
	ids   map[int64]string // session ids by the name of the session
	keys  map[int64][]byte // passwords of all sessions, to end them with the case
	out   strings.Builder
	admin *link
}

// link is one connection of a case.
type link struct {
	name     string
	c        net.Conn
	session  int64
	password []byte
	timeout  int32
	xid      int32
	lastZxid int64
	closed   bool
}

const patience = 5 * time.Second

func newPlayer(t *testing.T, addr string) *player {
	p := &player{t: t, addr: addr, conns: map[string]*link{}, ids: map[int64]string{}, keys: map[int64][]byte{}}
	p.admin = p.open("admin")
	p.connect(p.admin, args{}, false)
	p.wipe()
	p.admin.xid++
	p.send(p.admin, p.admin.xid, jute.OpCreate, createBody("/t", nil, openACL(), 0))
	r := p.reply(p.admin, false)
	p.base = r.zxid
	return p
}

func openACL() []jute.ACL {
	return []jute.ACL{{Perms: jute.PermAll, ID: jute.ID{Scheme: "world", ID: "anyone"}}}
}

func createBody(path string, data []byte, acl []jute.ACL, flags int32) []byte {
	b := jute.AppendBuffer(jute.AppendText(nil, path), data)
	return jute.AppendInt(jute.AppendACL(b, acl), flags)
}

// wipe deletes everything below /t and below /zookeeper/quota.
func (p *player) wipe() {
	p.admin.xid++
	p.send(p.admin, p.admin.xid, jute.OpAuth, jute.AppendBuffer(jute.AppendText(jute.AppendInt(nil, 0), "digest"), []byte("super:secret")))
	p.reply(p.admin, false)
	p.deleteAll("/t", true)
	p.deleteAll("/zookeeper/quota", false)
}

func (p *player) deleteAll(path string, self bool) {
	p.admin.xid++
	p.send(p.admin, p.admin.xid, jute.OpGetChildren, jute.AppendBool(jute.AppendText(nil, path), false))
	r := p.reply(p.admin, false)
	rd := jute.NewReader(r.body)
	for _, name := range rd.Strings() {
		p.deleteAll(path+"/"+name, true)
	}
	if self {
		p.admin.xid++
		p.send(p.admin, p.admin.xid, jute.OpDelete, jute.AppendInt(jute.AppendText(nil, path), -1))
		p.reply(p.admin, false)
	}
}

func (p *player) end() {
	p.wipe()
	for _, l := range p.conns {
		_ = l.c.Close()
	}
	_ = p.admin.c.Close()
	// A session left behind would take a zxid in the middle of a later case.
	for id, key := range p.keys {
		l := p.open("end")
		l.session, l.password = id, key
		p.connect(l, args{}, false)
		if !l.closed {
			p.send(l, 1, jute.OpCloseSession, nil)
			p.reply(l, false)
		}
		_ = l.c.Close()
	}
}

func (p *player) open(name string) *link {
	c, err := net.DialTimeout("tcp", p.addr, patience)
	if err != nil {
		p.t.Fatal(err)
	}
	return &link{name: name, c: c}
}

func (p *player) say(format string, a ...any) { fmt.Fprintf(&p.out, format+"\n", a...) }

// zxid shows a zxid relative to the case's beginning.
func (p *player) zxid(v int64) string {
	switch {
	case v == -1 || v == 0:
		return strconv.FormatInt(v, 10)
	case v > p.base:
		return fmt.Sprintf("+%d", v-p.base)
	case v == p.base:
		return "base"
	}
	return "old"
}

func (p *player) who(id int64) string {
	if id == 0 {
		return "0"
	}
	if n, ok := p.ids[id]; ok {
		return n
	}
	return "other"
}

// args of a line.
type args map[string]string

func (a args) num(key string, def int64) int64 {
	v, ok := a[key]
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(v, 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// bytes: absent is null, "" empty, "x:…" hex, "N*c" repeated.
func (a args) bytes(key string) []byte {
	v, ok := a[key]
	if !ok {
		return nil
	}
	return literal(v)
}

func literal(v string) []byte {
	if h, ok := strings.CutPrefix(v, "x:"); ok {
		b, err := hex.DecodeString(h)
		if err != nil {
			panic(err)
		}
		return b
	}
	if n, c, ok := strings.Cut(v, "*"); ok {
		if k, err := strconv.Atoi(n); err == nil {
			return []byte(strings.Repeat(c, k))
		}
	}
	return []byte(v)
}

// acl: open (default), read, none, null, or scheme:perms:id entries with commas.
func (a args) acl() []jute.ACL {
	v, ok := a["acl"]
	switch {
	case !ok || v == "open":
		return openACL()
	case v == "read":
		return []jute.ACL{{Perms: 1, ID: jute.ID{Scheme: "world", ID: "anyone"}}}
	case v == "none":
		return []jute.ACL{}
	}
	var out []jute.ACL
	for _, e := range strings.Split(v, ",") {
		f := strings.SplitN(e, ":", 3)
		perms, err := strconv.Atoi(f[1])
		if err != nil {
			panic(err)
		}
		out = append(out, jute.ACL{Perms: int32(perms), ID: jute.ID{Scheme: f[0], ID: f[2]}})
	}
	return out
}

func parseArgs(fields []string) args {
	a := args{}
	for i, f := range fields {
		if k, v, ok := strings.Cut(f, "="); ok && !strings.HasPrefix(f, "~") && !strings.HasPrefix(f, "/") && !strings.Contains(k, ":") {
			a[k] = v
		} else {
			a[strconv.Itoa(i)] = f
		}
	}
	return a
}

func (a args) path(key string) []byte {
	v, ok := a[key]
	if !ok {
		return nil
	}
	v = strings.ReplaceAll(v, "~", "/t")
	if strings.Contains(v, `\`) {
		s, err := strconv.Unquote(`"` + v + `"`)
		if err != nil {
			panic(err)
		}
		v = s
	}
	if v == "EMPTY" {
		return []byte{}
	}
	if v == "NULL" {
		return nil
	}
	return literal(v)
}

// line plays one line and writes what happened.
func (p *player) line(text string) {
	p.say("> %s", text)
	fields := strings.Fields(text)
	name, verb := fields[0], fields[1]
	a := parseArgs(fields[2:])
	l := p.conns[name]
	if l == nil && verb != "connect" && verb != "bytes" && verb != "word" {
		l = p.open(name)
		p.conns[name] = l
		p.connect(l, args{}, false)
	}
	switch verb {
	case "connect":
		p.reconnect(name, a)
	case "bytes":
		p.rawBytes(name, a)
		return
	case "drop":
		_ = l.c.Close()
		l.closed = true
	case "pipe":
		p.pipe(l, strings.Join(fields[2:], " "))
	default:
		op, body := request(verb, a)
		p.request(l, op, body, a)
	}
	p.barrier()
}

// pipe sends several requests in one write: "create ~/a ; getData ~/a".
func (p *player) pipe(l *link, text string) {
	var all []byte
	parts := strings.Split(text, " ; ")
	ops := map[int32]int32{}
	for _, part := range parts {
		f := strings.Fields(part)
		op, body := request(f[0], parseArgs(f[1:]))
		l.xid++
		ops[l.xid] = op
		all = append(all, frame(l.xid, op, body)...)
	}
	if _, err := l.c.Write(all); err != nil {
		l.closed = true
	}
	for range parts {
		r := p.reply(l, true)
		if r.closed {
			return
		}
		p.say("%s %s", l.name, p.show(ops[r.xid], &r))
	}
}

func (p *player) request(l *link, op int32, body []byte, a args) {
	if l.closed {
		p.say("%s is closed", l.name)
		return
	}
	l.xid++
	xid := int32(a.num("xid", int64(l.xid)))
	p.send(l, xid, op, body)
	r := p.reply(l, true)
	if !r.closed {
		if r.xid != xid {
			p.say("%s xid %d", l.name, r.xid)
		}
		p.say("%s %s", l.name, p.show(op, &r))
		if jute.Code(r.err) == jute.Unimplemented && r.zxid == -1 {
			// The connection is being closed; a ping might still get through.
			p.reply(l, true)
		}
	}
}

// barrier reads, on every connection, the events that the line has caused: a ping's answer comes behind them.
func (p *player) barrier() {
	names := make([]string, 0, len(p.conns))
	for n := range p.conns {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		l := p.conns[n]
		if l.closed {
			continue
		}
		p.send(l, jute.XidPing, jute.OpPing, nil)
		for {
			r := p.reply(l, true)
			if r.closed || r.xid == jute.XidPing {
				break
			}
			p.say("%s late %s", l.name, p.show(0, &r))
		}
	}
}
