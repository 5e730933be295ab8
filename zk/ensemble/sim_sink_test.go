package ensemble

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// Applied implements Sink: every member must apply the same transactions.
func (n *simNode) Applied(x *tree.Txn, res *tree.Result, seq int64) {
	w := n.w
	b := x.AppendTo(nil)
	n.txns = append(n.txns, b)
	if was, ok := w.committed[x.Zxid]; !ok {
		if k := len(w.order); k > 0 && w.order[k-1] >= x.Zxid {
			w.t.Fatalf("member %d applies %x first, after %x", n.id, x.Zxid, w.order[k-1])
		}
		w.committed[x.Zxid] = b
		w.order = append(w.order, x.Zxid)
		w.record(x, res)
	} else if !bytes.Equal(was, b) {
		w.t.Fatalf("members differ at %x", x.Zxid)
	}
	for _, ev := range n.core.Tree.TakeEvents() {
		ev.Who.(*simClient).event(&ev)
	}
	if n.core.Secret() == nil {
		w.t.Fatalf("member %d applies %x, and there is no secret yet", n.id, x.Zxid)
	}
	if x.Op == jute.OpCloseSession {
		if left := n.core.Tree.Ephemerals(x.Session); len(left) > 0 {
			w.t.Fatalf("member %d: ephemerals %v outlive their session", n.id, left)
		}
	}
	if seq == 0 {
		return
	}
	for _, c := range w.clients {
		if c.at == n && c.wait == seq && c.waitKind == waitWrite {
			c.answered(x, res)
			return
		}
	}
}

// record looks at each transaction once, in its order.
func (w *world) record(x *tree.Txn, res *tree.Result) {
	w.note("txn %x op %d %s", x.Zxid, x.Op, x.Path)
	switch x.Op {
	case jute.OpCreateSession:
		if w.open[x.Session] {
			w.t.Fatalf("session %x opened twice", x.Session)
		}
		w.open[x.Session] = true
		return
	case jute.OpCloseSession:
		if !w.open[x.Session] {
			// A client's close that comes behind the expiry takes its place in the order all the same, as in ZooKeeper; there is nothing left to end.
			if x.Cxid == 0 || len(x.Paths) > 0 {
				w.t.Fatalf("session %x ends twice", x.Session)
			}
			return
		}
		delete(w.open, x.Session)
		for _, p := range x.Paths {
			w.touched[p] = append(w.touched[p], x.Zxid)
		}
		if x.Cxid == 0 {
			w.expired++
		}
		return
	}
	if res.Err != jute.OK {
		return
	}
	if x.Op == jute.OpCreate && x.Ephemeral && !w.open[x.Session] {
		w.t.Fatalf("an ephemeral of session %x, which is not open", x.Session)
	}
	if strings.HasPrefix(x.Path, "/seq/") {
		if w.seqNames[x.Path] {
			w.t.Fatalf("%s twice", x.Path)
		}
		w.seqNames[x.Path] = true
	}
	w.recordVersion(x, res)
	if x.Path != "" {
		w.touched[x.Path] = append(w.touched[x.Path], x.Zxid)
	}
}

// recordVersion checks that versions count every change, and that the writes of a connection's row come in order and without gaps.
func (w *world) recordVersion(x *tree.Txn, res *tree.Result) {
	switch x.Op {
	case jute.OpCreate:
		w.versions[x.Path] = 0
	case jute.OpSetData:
		if w.versions[x.Path]++; res.Stat.Version != w.versions[x.Path] {
			w.t.Fatalf("%s is at version %d after its change number %d", x.Path, res.Stat.Version, w.versions[x.Path])
		}
		var conn int64
		var n int
		if k, _ := fmt.Sscanf(string(x.Data), "row %d %d", &conn, &n); k == 2 {
			if n != w.rows[conn]+1 {
				w.t.Fatalf("write %d of connection %d follows its write %d", n, conn, w.rows[conn])
			}
			w.rows[conn] = n
			client := conn % int64(len(w.clients))
			if conn < w.lastConn[client] {
				w.t.Fatalf("a write of connection %d after one of connection %d of the same client", conn, w.lastConn[client])
			}
			w.lastConn[client] = conn
		}
	}
}

// Resumed implements Sink.
func (n *simNode) Resumed(seq int64, ok bool) {
	for _, c := range n.w.clients {
		if c.at == n && c.wait == seq && c.waitKind == waitWrite {
			c.resumed(ok)
			return
		}
	}
}

// Synced implements Sink.
func (n *simNode) Synced(id int64) {
	for _, c := range n.w.clients {
		if c.at == n && c.wait == id && c.waitKind == waitSync {
			c.synced()
			return
		}
	}
}

// Lost implements Sink.
func (n *simNode) Lost() {
	for _, c := range n.w.clients {
		if c.at == n { // each may have a row of writes under way
			c.drop()
		}
	}
}

// Serving implements Sink.
func (n *simNode) Serving(on bool) { n.w.note("serving %d %v", n.id, on) }

// Moved implements Sink.
func (n *simNode) Moved(session int64) {
	for _, c := range n.w.clients {
		if c.at == n && c.session == session {
			c.drop()
		}
	}
	n.w.moves++
}

// Secret implements Sink: whoever hears of a secret hears of the same one, in every life, however many were proposed.
func (n *simNode) Secret(secret []byte) {
	if n.w.secret == nil {
		n.w.secret = secret
	}
	if !bytes.Equal(secret, n.w.secret) {
		n.w.t.Fatalf("member %d takes the secret %x, another one took %x", n.id, secret[:2], n.w.secret[:2])
	}
}

// Replaced implements Sink.
func (n *simNode) Replaced() {
	n.w.installs++
	for _, c := range n.w.clients {
		if c.at == n {
			c.drop()
		}
	}
	n.w.note("installed %d %x", n.id, n.core.Tree.Zxid)
}

// dump is everything that two members must agree on.
func dump(t *tree.Tree) string {
	var lines []string
	walk := t.Walk()
	for path, n := walk.Next(); n != nil; path, n = walk.Next() {
		var st jute.Stat
		t.Stat(n, &st)
		lines = append(lines, fmt.Sprintf("%s %q %+v %v", path, n.Data, st, t.ACLOf(n)))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}
