package tree

import (
	"fmt"

	"github.com/pelton-broker/pelton/zk/jute"
)

// parseMulti reads the operations of a multi, all of them before any is checked, as ZooKeeper does.
func parseMulti(r *jute.Reader) ([]write, error) {
	var ops []write
	for {
		op, done, _ := r.MultiHeader()
		if r.Err() != nil {
			return nil, fmt.Errorf("%w: %w", jute.MarshallingError, r.Err())
		}
		if done {
			return ops, nil
		}
		if op == jute.OpDeleteContainer || op == jute.OpSetACL || op == jute.OpReconfig {
			return nil, fmt.Errorf("%w: operation %d in a multi", jute.MarshallingError, op)
		}
		var w write
		if err := w.parse(op, r); err != nil {
			return nil, err
		}
		if w.null {
			return nil, fmt.Errorf("%w: null path", jute.MarshallingError)
		}
		if isCreate(op) {
			if !rebuilt(op, w.flags) {
				return nil, fmt.Errorf("%w: create flags %d", jute.MarshallingError, w.flags)
			}
			w.op = createOp(op, w.flags)
		}
		ops = append(ops, w)
	}
}

func isCreate(op int32) bool {
	return op == jute.OpCreate || op == jute.OpCreate2 || op == jute.OpCreateContainer || op == jute.OpCreateTTL
}

// rebuilt says whether a create within a multi has flags that Apache can rebuild it with: of what is no createTTL nothing is made that has a time to live.
func rebuilt(op, flags int32) bool {
	return flags >= 0 && flags <= jute.FlagPersistentSequentTTL && (flags < jute.FlagPersistentTTL || op == jute.OpCreateTTL)
}

// createOp is the operation that a create within a multi becomes: Apache's client library rebuilds it from its flags.
func createOp(op, flags int32) int32 {
	switch {
	case op == jute.OpCreateTTL && flags < jute.FlagPersistentTTL:
		return jute.OpCreate
	case op == jute.OpCreate && flags == jute.FlagContainer:
		return jute.OpCreateContainer
	}
	return op
}

func (p *Prep) multi(r *jute.Reader, who *Caller, x *Txn) error {
	ops, err := parseMulti(r)
	if err != nil {
		refuse(x, jute.MarshallingError)
		return nil
	}
	x.Sub = make([]Txn, len(ops))
	failed := false
	for i := range ops {
		sub := &x.Sub[i]
		*sub = Txn{Session: x.Session, Cxid: x.Cxid, Zxid: x.Zxid, TimeMs: x.TimeMs, Op: ops[i].op}
		if failed {
			refuse(sub, jute.RuntimeInconsistency)
			continue
		}
		if code := p.one(&ops[i], who, sub); code != jute.OK {
			refuse(sub, code)
			failed = true
			p.undo(x.Zxid)
		}
	}
	return nil
}

// CreateSession and CloseSession are the two transactions that no node's state decides on.
func (p *Prep) CreateSession(x *Txn, timeoutMs int32) {
	x.Op, x.TimeoutMs = jute.OpCreateSession, timeoutMs
}

// CloseSession names every ephemeral that the session will have by then, pending ones included.
func (p *Prep) CloseSession(x *Txn) {
	x.Op, x.HasPaths = jute.OpCloseSession, true
	for _, path := range p.tree.Ephemerals(x.Session) {
		if c := p.pending[path]; c == nil || !c.gone && c.owner == x.Session {
			x.Paths = append(x.Paths, path)
		}
	}
	for i := p.head; i < len(p.queue); i++ {
		q := &p.queue[i]
		if q.c.gone || q.c.owner != x.Session || p.pending[q.path] != q.c || p.tree.nodes[q.path] != nil && p.tree.nodes[q.path].owner == x.Session {
			continue
		}
		x.Paths = append(x.Paths, q.path)
	}
	for _, path := range x.Paths {
		dir, _ := split(path)
		if parent, ok := p.look(dir); ok {
			parent.children--
			p.put(x.Zxid, dir, parent)
		}
		p.put(x.Zxid, path, change{gone: true})
	}
}

// SkipWrite reads past one write operation, as multiRead does with those that it refuses.
func SkipWrite(op int32, r *jute.Reader) bool {
	var w write
	return op != jute.OpDeleteContainer && op != jute.OpSetACL && op != jute.OpReconfig && w.parse(op, r) == nil && (!isCreate(op) || rebuilt(op, w.flags))
}
