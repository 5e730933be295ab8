package server

import (
	"sort"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// answerRead carries out an operation that changes no node, against the tree as it is now.
func (l *loop) answerRead(p *peer, xid, op int32, body []byte, sinceMs int64) {
	if op == jute.OpPing {
		xid = jute.XidPing
	}
	head := jute.AppendReplyHeader(l.begin(), xid, l.tree.Zxid, jute.OK)
	r := jute.NewReader(body)
	b, code := l.read(p, op, &r, head)
	if code != jute.OK {
		b = jute.AppendReplyHeader(l.begin(), xid, l.tree.Zxid, code)
	}
	l.send(p, b)
	l.m.reads++
	l.m.read.add(l.nowMs - sinceMs)
	l.stats.answered(l.nowMs - sinceMs)
	p.stats.answered(l.nowMs-sinceMs, l.nowMs, xid, l.tree.Zxid)
	p.stats.lastOp = opName(op)
}

// read appends the body of the answer to b.
func (l *loop) read(p *peer, op int32, r *jute.Reader, b []byte) ([]byte, jute.Code) {
	if p.sess.Closing {
		return nil, jute.SessionExpired
	}
	switch op {
	case jute.OpPing:
		return b, jute.OK
	case jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2:
		path, null := r.Text()
		watch := r.Bool()
		if r.Err() != nil || null {
			return nil, jute.MarshallingError
		}
		return l.readNode(p, op, path, watch, b)
	case jute.OpGetACL:
		return l.getACL(p, r, b)
	case jute.OpSync:
		path := r.String()
		if r.Err() != nil {
			return nil, jute.MarshallingError
		}
		return jute.AppendText(b, path), jute.OK
	case jute.OpSetWatches, jute.OpSetWatches2:
		return l.setWatches(p, op, r, b)
	case jute.OpAddWatch:
		return l.addWatch(p, r, b)
	case jute.OpCheckWatches, jute.OpRemoveWatches:
		return l.watchType(p, op, r, b)
	case jute.OpGetEphemerals:
		return l.getEphemerals(p, r, b)
	case jute.OpGetAllChildrenNumber:
		return l.getAllChildrenNumber(p, r, b)
	case jute.OpMultiRead:
		return l.multiRead(p, r, b)
	case jute.OpWhoAmI:
		return l.whoAmI(p, b), jute.OK
	}
	return nil, jute.Unimplemented
}

func (l *loop) may(p *peer, n *tree.Node, perms int32) bool {
	return l.o.SkipACL || tree.Allowed(l.tree.ACLOf(n), perms, p.caller.IDs)
}

func (l *loop) readNode(p *peer, op int32, path string, watch bool, b []byte) ([]byte, jute.Code) {
	if op == jute.OpExists && strings.IndexByte(path, 0) >= 0 {
		return nil, jute.BadArguments
	}
	n := l.tree.Get(path)
	if n == nil {
		if op == jute.OpExists && watch {
			l.tree.WatchData(path, p)
		}
		return nil, jute.NoNode
	}
	if !l.may(p, n, jute.PermRead) {
		return nil, jute.NoAuth
	}
	if watch {
		if op == jute.OpExists || op == jute.OpGetData {
			l.tree.WatchData(path, p)
		} else {
			l.tree.WatchChildren(path, p)
		}
	}
	var st jute.Stat
	l.tree.Stat(n, &st)
	switch op {
	case jute.OpExists:
		return jute.AppendStat(b, &st), jute.OK
	case jute.OpGetData:
		l.names.read(op, path, n)
		return jute.AppendStat(jute.AppendBuffer(b, n.Data), &st), jute.OK
	}
	l.names.read(op, path, n)
	b = appendChildren(b, n)
	if op == jute.OpGetChildren2 {
		b = jute.AppendStat(b, &st)
	}
	return b, jute.OK
}

func appendChildren(b []byte, n *tree.Node) []byte {
	b = jute.AppendInt(b, int32(n.NumChildren()))
	n.Children(func(name string) { b = jute.AppendText(b, name) })
	return b
}

func (l *loop) getACL(p *peer, r *jute.Reader, b []byte) ([]byte, jute.Code) {
	path, null := r.Text()
	if r.Err() != nil || null {
		return nil, jute.MarshallingError
	}
	n := l.tree.Get(path)
	if n == nil {
		return nil, jute.NoNode
	}
	if !l.may(p, n, jute.PermRead|jute.PermAdmin) {
		return nil, jute.NoAuth
	}
	list := l.tree.ACLOf(n)
	if !l.may(p, n, jute.PermAdmin) {
		list = tree.MaskACL(list)
	}
	var st jute.Stat
	l.tree.Stat(n, &st)
	return jute.AppendStat(jute.AppendACL(b, list), &st), jute.OK
}

func (l *loop) setWatches(p *peer, op int32, r *jute.Reader, b []byte) ([]byte, jute.Code) {
	since := r.Long()
	var w tree.Rewatch
	w.Data, w.Exist, w.Children = r.Strings(), r.Strings(), r.Strings()
	if op == jute.OpSetWatches2 {
		w.Persistent, w.Recursive = r.Strings(), r.Strings()
	}
	if r.Err() != nil || w.Data == nil || w.Exist == nil || w.Children == nil || op == jute.OpSetWatches2 && (w.Persistent == nil || w.Recursive == nil) {
		return nil, jute.MarshallingError
	}
	// The events are encoded in the loop's buffer, so the answer's header is kept aside.
	head := append([]byte(nil), b...)
	l.tree.Rewatch(p, since, &w)
	l.notifyAll(l.tree.TakeEvents())
	return append(l.begin()[:0], head...), jute.OK
}

// nullPath stands for the null path in the watch tables: Apache's take it as a key like any other. No node has it.
const nullPath = "\x00"

func (l *loop) addWatch(p *peer, r *jute.Reader, b []byte) ([]byte, jute.Code) {
	path, null := r.Text()
	mode := r.Int()
	if r.Err() != nil || mode != tree.AddPersistent && mode != tree.AddPersistentRecursive {
		return nil, jute.MarshallingError
	}
	if null {
		path = nullPath
	}
	l.tree.AddWatch(path, p, mode)
	return jute.AppendInt(b, 0), jute.OK
}

func (l *loop) watchType(p *peer, op int32, r *jute.Reader, b []byte) ([]byte, jute.Code) {
	path, null := r.Text()
	kind := r.Int()
	if r.Err() != nil || kind < tree.WatchChildren || kind > tree.WatchBelow {
		return nil, jute.MarshallingError
	}
	if null {
		path = nullPath
	}
	found := false
	if op == jute.OpCheckWatches {
		found = l.tree.HasWatch(path, p, kind)
	} else {
		found = l.tree.RemoveWatch(path, p, kind)
	}
	if !found {
		return nil, jute.NoWatcher
	}
	return b, jute.OK
}

func (l *loop) getEphemerals(p *peer, r *jute.Reader, b []byte) ([]byte, jute.Code) {
	prefix := r.String()
	if r.Err() != nil {
		return nil, jute.MarshallingError
	}
	if t := strings.TrimSpace(prefix); t == "" || t == "/" {
		prefix = ""
	}
	var out []string
	for _, path := range l.tree.Ephemerals(p.caller.Session) {
		if strings.HasPrefix(path, prefix) {
			out = append(out, path)
		}
	}
	return jute.AppendTexts(b, out), jute.OK
}

func (l *loop) getAllChildrenNumber(p *peer, r *jute.Reader, b []byte) ([]byte, jute.Code) {
	path, null := r.Text()
	if r.Err() != nil || null {
		return nil, jute.MarshallingError
	}
	n := l.tree.Get(path)
	switch {
	case n == nil:
		return nil, jute.NoNode
	case !l.may(p, n, jute.PermRead):
		return nil, jute.NoAuth
	}
	return jute.AppendInt(b, int32(l.tree.AllChildren(path))), jute.OK
}

// oneRead is an operation of a multiRead.
type oneRead struct {
	op   int32
	path string
	null bool
}

// parseMultiRead reads the operations; false when they cannot be parsed or are of both kinds. Writes alone parse.
func parseMultiRead(r *jute.Reader) (ops []oneRead, ok bool) {
	reads := 0
	for {
		op, done, _ := r.MultiHeader()
		if r.Err() != nil {
			return nil, false
		}
		if done {
			return ops, reads == 0 || reads == len(ops)
		}
		o := oneRead{op: op}
		if op == jute.OpGetData || op == jute.OpGetChildren {
			o.path, o.null = r.Text()
			r.Bool() // whether to watch: Apache forgets it when it rebuilds the operations
			reads++
		} else if !tree.SkipWrite(op, r) {
			return nil, false
		}
		ops = append(ops, o)
	}
}

// multiRead answers getData and getChildren, each for itself. An operation that cannot be answered ends it with a
// marshalling error, and with the results up to there.
func (l *loop) multiRead(p *peer, r *jute.Reader, b []byte) ([]byte, jute.Code) {
	ops, ok := parseMultiRead(r)
	if !ok {
		return nil, jute.MarshallingError
	}
	for _, o := range ops {
		if o.null || o.op != jute.OpGetData && o.op != jute.OpGetChildren {
			code := jute.MarshallingError
			jute.PutInt(b[replyErrAt:], int32(code))
			break
		}
		at := len(b)
		out, code := l.readNode(p, o.op, o.path, false, jute.AppendMultiHeader(b, o.op, false, 0))
		if code == jute.OK {
			b = out
			continue
		}
		b = jute.AppendMultiHeader(b[:at], jute.OpError, false, int32(code))
		b = jute.AppendInt(b, int32(code))
	}
	return jute.AppendMultiHeader(b, -1, true, -1), jute.OK
}

// replyErrAt is where the error code lies in an answer that begin has begun: behind the length, the xid and the zxid.
const replyErrAt = 4 + 4 + 8

// whoAmI lists the identities of the connection; a digest shows its user alone.
func (l *loop) whoAmI(p *peer, b []byte) []byte {
	ids := append([]jute.ID(nil), p.caller.IDs...)
	sort.SliceStable(ids, func(i, j int) bool { return ids[i].Scheme < ids[j].Scheme })
	b = jute.AppendInt(b, int32(len(ids)))
	for _, id := range ids {
		name := id.ID
		if id.Scheme == "digest" {
			name, _, _ = strings.Cut(name, ":")
		}
		b = jute.AppendText(jute.AppendText(b, id.Scheme), name)
	}
	return b
}
