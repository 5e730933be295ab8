package ensemble

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"

	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

type waitKind uint8

const (
	waitWrite waitKind = iota
	waitSync
)

// simClient is a client with one session and one request at a time.
type simClient struct {
	w        *world
	id       int
	at       *simNode
	session  int64
	live     bool // the connection has its session
	lastZxid int64
	wait     int64
	waitKind waitKind
	op       simOp
	nextMs   int64
	pingMs   int64
	deadMs   int64 // when it gives the connection up that does not answer
	watches  map[string]int64
	values   int
	only     *simNode // the member it goes to, nil for any
	ids      int64
	conn     int64 // number of the connection
	row      int   // writes sent in a row on it
	done     int   // operations answered
	history  []porcupine.Operation
}

// simOp is one operation as the model sees it.
type simOp struct {
	kind, key, val string
	callMs         int64
}

type simAnswer struct {
	kind string // ok, exists, none, unknown
	val  string
}

const clientTimeoutMs = 2000

func newSimClient(w *world, id int) *simClient {
	return &simClient{w: w, id: id, watches: map[string]int64{}, conn: int64(id), nextMs: w.nowMs}
}

// drop ends the connection. What was under way may or may not happen.
func (c *simClient) drop() {
	if c.wait != 0 && c.live && c.waitKind == waitWrite && c.op.kind != "" {
		c.finish(simAnswer{kind: "unknown"}, math.MaxInt64)
	}
	if c.at != nil && c.at.core != nil {
		c.at.core.Tree.RemoveWatcher(c)
	}
	c.at, c.wait, c.live = nil, 0, false
	clear(c.watches)
	c.nextMs = c.w.nowMs + int64(c.w.rng.Intn(100))
}

func (c *simClient) finish(a simAnswer, returnMs int64) {
	if c.op.key != "" {
		c.history = append(c.history, porcupine.Operation{ClientId: c.id, Input: c.op, Output: a, Call: c.op.callMs, Return: returnMs})
	}
	c.op = simOp{}
}

func (c *simClient) turn() {
	w := c.w
	if c.at != nil && (!c.at.up || w.nowMs > c.deadMs) {
		c.drop()
	}
	if w.nowMs < c.nextMs {
		return
	}
	if c.at == nil {
		c.connect()
		return
	}
	if w.nowMs < c.at.pauseMs || !c.at.core.IsServing() {
		return
	}
	if c.live && w.nowMs >= c.pingMs {
		c.pingMs = w.nowMs + 300
		if s := c.at.core.Sessions.Get(c.session); s != nil {
			c.at.core.Sessions.Touch(s, int64(c.at.clockMs))
		}
		c.at.core.Touch(c.session)
	}
	if c.wait == 0 && c.live {
		c.begin()
	} else if c.live && c.waitKind == waitWrite && c.op.kind != "close" && w.rng.Intn(40) == 0 {
		c.writeRow()
	}
}

func (c *simClient) connect() {
	n := c.w.nodes[c.w.rng.Intn(len(c.w.nodes))]
	if c.only != nil {
		n = c.only
	}
	c.nextMs = c.w.nowMs + int64(c.w.rng.Intn(60))
	if !n.up || c.w.nowMs < n.pauseMs || !n.core.IsServing() || n.core.Tree.Zxid < c.lastZxid {
		return
	}
	c.at, c.waitKind = n, waitWrite
	c.conn, c.row = c.conn+int64(len(c.w.clients)), 0
	c.deadMs = c.w.nowMs + clientTimeoutMs
	if c.session == 0 {
		c.ids++
		c.session = int64(c.id+1)<<32 | c.ids
		c.wait = n.core.Submit(Request{Session: c.session, Op: jute.OpCreateSession, TimeoutMs: clientTimeoutMs})
		return
	}
	c.wait = n.core.Resume(c.session, clientTimeoutMs)
}

func (c *simClient) resumed(ok bool) {
	c.wait = 0
	if !ok {
		c.session = 0
		c.drop()
		return
	}
	c.live = true
}

// begin asks for something.
func (c *simClient) begin() {
	w, core := c.w, c.at.core
	c.deadMs = w.nowMs + clientTimeoutMs
	c.waitKind = waitWrite
	key := fmt.Sprintf("/k%d", w.rng.Intn(3))
	c.values++
	val := fmt.Sprintf("%d.%d", c.id, c.values)
	body := func(b []byte) Request { return Request{Session: c.session, Xid: int32(c.values), Body: b} }
	open := jute.AppendACL(nil, []jute.ACL{{Perms: jute.PermAll, ID: jute.ID{Scheme: "world", ID: "anyone"}}})
	create := func(path, val string, flags int32) {
		r := body(jute.AppendInt(append(jute.AppendBuffer(jute.AppendText(nil, path), []byte(val)), open...), flags))
		r.Op = jute.OpCreate
		c.wait = core.Submit(r)
	}
	if core.Tree.Get("/row") != nil {
		// A row of writes that nobody waits for, before the one that is waited for.
		for range w.rng.Intn(3) {
			c.writeRow()
		}
	}
	switch w.rng.Intn(11) {
	case 10:
		if w.rng.Intn(2) == 0 {
			c.op = simOp{kind: "close"}
			c.wait = core.Submit(Request{Session: c.session, Xid: int32(c.values), Op: jute.OpCloseSession})
			return
		}
		c.op = simOp{kind: "row"}
		create("/row", "", 0)
	case 0:
		c.op = simOp{kind: "create", key: key, val: val, callMs: w.nowMs}
		create(key, val, 0)
	case 1, 2:
		c.op = simOp{kind: "set", key: key, val: val, callMs: w.nowMs}
		r := body(jute.AppendInt(jute.AppendBuffer(jute.AppendText(nil, key), []byte(val)), -1))
		r.Op = jute.OpSetData
		c.wait = core.Submit(r)
	case 3:
		c.op = simOp{kind: "delete", key: key, callMs: w.nowMs}
		r := body(jute.AppendInt(jute.AppendText(nil, key), -1))
		r.Op = jute.OpDelete
		c.wait = core.Submit(r)
	case 4:
		c.op = simOp{kind: "eph"}
		create(fmt.Sprintf("/e%d", c.id), val, jute.FlagEphemeral)
	case 5:
		c.op = simOp{kind: "seq"}
		create("/seq", "", 0)
		if core.Tree.Get("/seq") != nil {
			c.wait = 0
			core.requests.inbox, core.requests.n = core.requests.inbox[:len(core.requests.inbox)-1], core.requests.n-1
			create("/seq/n-", val, jute.FlagSequential)
		}
	case 6, 7:
		c.op = simOp{kind: "read", key: key, callMs: w.nowMs}
		c.waitKind = waitSync
		c.wait = core.Sync()
	default:
		c.look(key)
	}
}

// writeRow sends the next write of this connection's row.
func (c *simClient) writeRow() {
	if c.at.core.Tree.Get("/row") == nil {
		return
	}
	c.row++
	b := jute.AppendBuffer(jute.AppendText(nil, "/row"), fmt.Appendf(nil, "row %d %d", c.conn, c.row))
	c.at.core.Submit(Request{Session: c.session, Op: jute.OpSetData, Body: jute.AppendInt(b, -1)})
}

// look is a plain read with a watch: it may be old, but never older than what this client has seen.
func (c *simClient) look(key string) {
	t := c.at.core.Tree
	c.reply(t.Zxid)
	t.WatchData(key, c)
	if _, held := c.watches[key]; !held {
		c.watches[key] = t.Zxid
	}
	c.nextMs = c.w.nowMs + int64(c.w.rng.Intn(30))
}

// reply checks what must hold of every answer: no step back, and no change seen that a watch has not told of.
func (c *simClient) reply(zxid int64) {
	if zxid < c.lastZxid {
		c.w.t.Fatalf("client %d at member %d has seen %x and is answered at %x", c.id, c.at.id, c.lastZxid, zxid)
	}
	c.lastZxid = zxid
	for path, since := range c.watches {
		list := c.w.touched[path]
		for i := len(list) - 1; i >= 0 && list[i] > since; i-- {
			if list[i] <= zxid {
				c.w.t.Fatalf("client %d sees %x and was not told that %s changed at %x, watched since %x", c.id, zxid, path, list[i], since)
			}
		}
	}
}

func (c *simClient) event(ev *tree.Event) {
	if _, held := c.watches[ev.Path]; !held {
		c.w.t.Fatalf("client %d is told of %s, which it does not watch", c.id, ev.Path)
	}
	delete(c.watches, ev.Path)
}

// answered takes the result of a write.
func (c *simClient) answered(x *tree.Txn, res *tree.Result) {
	c.wait = 0
	c.reply(x.Zxid)
	c.nextMs = c.w.nowMs + int64(c.w.rng.Intn(30))
	if x.Op == jute.OpCreateSession {
		c.live = true
		return
	}
	c.done++
	if c.op.kind == "close" {
		c.op, c.session = simOp{}, 0
		c.drop()
		return
	}
	a := simAnswer{kind: "ok"}
	switch res.Err {
	case jute.OK:
	case jute.NodeExists:
		a.kind = "exists"
	case jute.NoNode:
		a.kind = "none"
	case jute.SessionExpired, jute.SessionMoved:
		c.op = simOp{} // it did not happen
		if res.Err == jute.SessionExpired {
			c.session = 0
		}
		c.drop()
		return
	default:
		c.w.t.Fatalf("client %d: %v", c.id, res.Err)
	}
	c.finish(a, c.w.nowMs)
}

// synced reads behind a sync: that must be linearizable.
func (c *simClient) synced() {
	c.wait = 0
	t := c.at.core.Tree
	c.reply(t.Zxid)
	a := simAnswer{kind: "none"}
	if n := t.Get(c.op.key); n != nil {
		a = simAnswer{kind: "ok", val: string(n.Data)}
	}
	c.done++
	c.finish(a, c.w.nowMs)
	c.nextMs = c.w.nowMs + int64(c.w.rng.Intn(30))
}

// znodeModel is one znode: none, or a value.
func znodeModel() porcupine.Model {
	type state struct {
		there bool
		val   string
	}
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			by := map[string][]porcupine.Operation{}
			for _, op := range history {
				k := op.Input.(simOp).key
				by[k] = append(by[k], op)
			}
			var out [][]porcupine.Operation
			for _, h := range by {
				out = append(out, h)
			}
			return out
		},
		Init: func() any { return state{} },
		Step: func(st, in, out any) (bool, any) {
			s, op, a := st.(state), in.(simOp), out.(simAnswer)
			want := map[bool]string{true: "ok", false: "none"}[s.there]
			next := s
			switch op.kind {
			case "read":
				return a.kind == want && (!s.there || a.val == s.val), s
			case "create":
				want = map[bool]string{true: "exists", false: "ok"}[s.there]
				if !s.there {
					next = state{true, op.val}
				}
			case "set":
				if s.there {
					next.val = op.val
				}
			case "delete":
				next = state{}
			}
			return a.kind == "unknown" || a.kind == want, next
		},
		Equal: func(a, b any) bool { return a == b },
	}
}
