package tree

import (
	"fmt"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

// Prep checks writes in the order in which they will be applied, against the tree as it will be once
// all that is pending has been applied, and turns each into a transaction. A refused write becomes
// an error transaction: it takes its place in the order, and its zxid, all the same.
type Prep struct {
	tree    *Tree
	pending map[string]*change // newest one of each path
	queue   []queued           // all of them, oldest first
	head    int
}

// change is what a node will be after a pending transaction.
type change struct {
	gone                        bool
	version, cversion, aversion int32
	children                    int32
	owner                       int64
	bytes                       int32 // of its data
	acl                         []jute.ACL
}

type queued struct {
	zxid int64
	path string
	c    *change
	prev *change // what c took the place of, for a multi that fails
}

// Caller is who asks.
type Caller struct {
	Session int64
	IDs     []jute.ID
	Gone    bool // the session is closing or expired: every write is refused
}

// NewPrep returns a Prep over t.
func NewPrep(t *Tree) *Prep { return &Prep{tree: t, pending: map[string]*change{}} }

// Committed forgets what is pending up to zxid: it has been applied to the tree.
func (p *Prep) Committed(zxid int64) {
	for p.head < len(p.queue) && p.queue[p.head].zxid <= zxid {
		q := &p.queue[p.head]
		if p.pending[q.path] == q.c {
			delete(p.pending, q.path)
		}
		*q = queued{}
		p.head++
	}
	if p.head == len(p.queue) {
		p.queue, p.head = p.queue[:0], 0
	} else if p.head > 4096 && p.head*2 > len(p.queue) {
		p.queue = append(p.queue[:0], p.queue[p.head:]...)
		p.head = 0
	}
}

// look returns the node as it will be; false when it will not be there.
func (p *Prep) look(path string) (change, bool) {
	if path == "/" {
		path = ""
	}
	if c := p.pending[path]; c != nil {
		return *c, !c.gone
	}
	n := p.tree.nodes[path]
	if n == nil {
		return change{}, false
	}
	return change{version: n.Version, cversion: n.Cversion, aversion: n.Aversion, children: int32(len(n.children)), owner: n.owner, bytes: int32(len(n.Data)), acl: p.tree.acls.list(n.acl)}, true
}

func (p *Prep) put(zxid int64, path string, c change) {
	if path == "/" {
		path = ""
	}
	p.queue = append(p.queue, queued{zxid: zxid, path: path, c: &c, prev: p.pending[path]})
	p.pending[path] = &c
}

// undo takes back what the transaction zxid, the last one, has put.
func (p *Prep) undo(zxid int64) {
	for len(p.queue) > p.head && p.queue[len(p.queue)-1].zxid == zxid {
		q := p.queue[len(p.queue)-1]
		p.queue = p.queue[:len(p.queue)-1]
		if q.prev != nil {
			p.pending[q.path] = q.prev
		} else {
			delete(p.pending, q.path)
		}
	}
}

// Refuse turns x into an error transaction, for reasons that no node's state decides on.
func Refuse(x *Txn, code jute.Code) { refuse(x, code) }

// Parses says whether a write can be parsed: what cannot takes no place in the order. A multi always takes one.
func Parses(op int32, body []byte) bool {
	r := jute.NewReader(body)
	var w write
	return op == jute.OpMulti || w.parse(op, &r) == nil
}

// refuse turns x into an error transaction.
func refuse(x *Txn, code jute.Code) {
	*x = Txn{Session: x.Session, Cxid: x.Cxid, Zxid: x.Zxid, TimeMs: x.TimeMs, Op: jute.OpError, Err: code}
}

// Request turns one write into the transaction x, whose header fields but Op are set. What the reader yields is
// used up; data is copied. ErrMarshalling means that the request cannot be parsed: it is answered with that code
// and takes no zxid, except a multi, which becomes an error transaction.
func (p *Prep) Request(op int32, r *jute.Reader, who *Caller, x *Txn) error {
	x.Op = op
	if op == jute.OpMulti {
		return p.multi(r, who, x)
	}
	var req write
	if err := req.parse(op, r); err != nil {
		return err
	}
	if code := p.one(&req, who, x); code != jute.OK {
		refuse(x, code)
	}
	return nil
}

// write is a parsed request of any of the write operations.
type write struct {
	op      int32
	path    string
	data    []byte
	acl     []jute.ACL
	flags   int32
	ttlMs   int64
	version int32
	text    [3]string // reconfig: joining, leaving, new members
	null    bool      // the path was null: Apache stumbles over it after the zxid is taken
}

func (w *write) parse(op int32, r *jute.Reader) error {
	w.op = op
	null := false
	switch op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		w.path, null = r.Text()
		w.data, w.acl, w.flags = r.Buffer(), r.ACL(), r.Int()
		if op == jute.OpCreateTTL {
			w.ttlMs = r.Long()
		}
	case jute.OpDelete, jute.OpCheck:
		w.path, null = r.Text()
		w.version = r.Int()
	case jute.OpDeleteContainer:
		w.path, null = r.Text()
	case jute.OpSetData:
		w.path, null = r.Text()
		w.data, w.version = r.Buffer(), r.Int()
	case jute.OpSetACL:
		w.path, null = r.Text()
		w.acl, w.version = r.ACL(), r.Int()
	case jute.OpReconfig:
		w.text[0], w.text[1], w.text[2] = r.String(), r.String(), r.String()
		r.Long()
	default:
		return fmt.Errorf("%w: operation %d is no write", jute.MarshallingError, op)
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("%w: %w", jute.MarshallingError, err)
	}
	w.null = null
	return nil
}

func (p *Prep) one(w *write, who *Caller, x *Txn) jute.Code {
	if who.Gone && w.op != jute.OpDeleteContainer {
		return jute.SessionExpired
	}
	if w.null && w.op != jute.OpSetData && w.op != jute.OpSetACL {
		return jute.MarshallingError
	}
	switch w.op {
	case jute.OpDelete, jute.OpDeleteContainer:
		return p.remove(w, who, x)
	case jute.OpSetData:
		return p.setData(w, who, x)
	case jute.OpSetACL:
		return p.setACL(w, who, x)
	case jute.OpCheck:
		return p.check(w, who, x)
	case jute.OpReconfig:
		return jute.ReconfigDisabled
	}
	return p.create(w, who, x)
}

// mode of a create by its flags.
func (p *Prep) checkFlags(w *write) jute.Code {
	if w.flags < 0 || w.flags > jute.FlagPersistentSequentTTL {
		return jute.BadArguments
	}
	withTTL := w.flags >= jute.FlagPersistentTTL
	if withTTL && !p.tree.Extended {
		return jute.Unimplemented
	}
	given := w.ttlMs
	if w.op != jute.OpCreateTTL {
		given = -1
	} else if !withTTL {
		// With a negative time Apache takes it, and ends at applying it.
		return jute.BadArguments
	}
	if withTTL && (given <= 0 || given > maxTTLMs) || !withTTL && given >= 0 {
		return jute.BadArguments
	}
	return jute.OK
}

func (p *Prep) create(w *write, who *Caller, x *Txn) jute.Code {
	if code := p.checkFlags(w); code != jute.OK {
		return code
	}
	path := w.path
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 || strings.IndexByte(path, 0) >= 0 {
		return jute.BadArguments
	}
	dir := path[:slash]
	acl, code := FixACL(w.acl, who.IDs, p.tree.Schemes)
	if code != jute.OK {
		return code
	}
	parent, ok := p.look(dir)
	if !ok {
		return jute.NoNode
	}
	if !Allowed(parent.acl, jute.PermCreate, who.IDs) {
		return jute.NoAuth
	}
	if w.flags == jute.FlagSequential || w.flags == jute.FlagEphemeralSequential || w.flags == jute.FlagPersistentSequentTTL {
		path = fmt.Sprintf("%s%010d", path, parent.cversion)
	}
	if !jute.ValidatePath(path) {
		return jute.BadArguments
	}
	if _, exists := p.look(path); exists {
		return jute.NodeExists
	}
	if kindOf(parent.owner) == ephemeral {
		return jute.NoChildrenForEphemerals
	}
	if !p.tree.withinQuota(path, int64(len(w.data)), 1) {
		return jute.QuotaExceeded
	}
	x.Op, x.Path, x.Data, x.ACL = w.op, path, clone(w.data), acl
	x.ParentCversion = parent.cversion + 1
	isEphemeral := w.flags == jute.FlagEphemeral || w.flags == jute.FlagEphemeralSequential
	c := change{acl: acl, bytes: int32(len(w.data))}
	switch {
	case w.op == jute.OpCreateContainer:
		c.owner = ownerContainer
	case w.op == jute.OpCreateTTL:
		x.TTLMs = w.ttlMs
		c.owner = ttlOwner(w.ttlMs)
	case isEphemeral:
		x.Ephemeral = true
		c.owner = x.Session
	}
	parent.children++
	parent.cversion++
	p.put(x.Zxid, dir, parent)
	p.put(x.Zxid, path, c)
	return jute.OK
}

func system(path string) bool {
	return path == "/" || path == systemPath || path == quotaPath || path == configPath
}

func (p *Prep) remove(w *write, who *Caller, x *Txn) jute.Code {
	slash := strings.LastIndexByte(w.path, '/')
	if slash < 0 || strings.IndexByte(w.path, 0) >= 0 || system(w.path) {
		return jute.BadArguments
	}
	dir := w.path[:slash]
	internal := w.op == jute.OpDeleteContainer
	parent, ok := p.look(dir)
	if !ok {
		return jute.NoNode
	}
	if !internal && !Allowed(parent.acl, jute.PermDelete, who.IDs) {
		return jute.NoAuth
	}
	n, ok := p.look(w.path)
	switch {
	case !ok:
		return jute.NoNode
	case !internal && w.version != -1 && w.version != n.version:
		return jute.BadVersion
	case n.children > 0:
		return jute.NotEmpty
	case internal && kindOf(n.owner) == ephemeral:
		return jute.BadVersion
	}
	x.Path = w.path
	parent.children--
	p.put(x.Zxid, dir, parent)
	p.put(x.Zxid, w.path, change{gone: true})
	return jute.OK
}

// next is the version after a change; false when the caller expects another one.
func next(have, want int32) (int32, bool) {
	if want != -1 && want != have {
		return 0, false
	}
	// -1 means "any version" in requests, so the counter jumps over it.
	if have+1 == -1 {
		return 0, true
	}
	return have + 1, true
}

func (p *Prep) setData(w *write, who *Caller, x *Txn) jute.Code {
	if !jute.ValidatePath(w.path) {
		return jute.BadArguments
	}
	n, ok := p.look(w.path)
	if !ok {
		return jute.NoNode
	}
	if !Allowed(n.acl, jute.PermWrite, who.IDs) {
		return jute.NoAuth
	}
	if !p.tree.withinQuota(w.path, int64(len(w.data))-int64(n.bytes), 0) {
		return jute.QuotaExceeded
	}
	if n.version, ok = next(n.version, w.version); !ok {
		return jute.BadVersion
	}
	n.bytes = int32(len(w.data))
	x.Path, x.Data, x.Version = w.path, clone(w.data), n.version
	p.put(x.Zxid, w.path, n)
	return jute.OK
}

func (p *Prep) setACL(w *write, who *Caller, x *Txn) jute.Code {
	if !jute.ValidatePath(w.path) {
		return jute.BadArguments
	}
	acl, code := FixACL(w.acl, who.IDs, p.tree.Schemes)
	if code != jute.OK {
		return code
	}
	n, ok := p.look(w.path)
	if !ok {
		return jute.NoNode
	}
	if !Allowed(n.acl, jute.PermAdmin, who.IDs) {
		return jute.NoAuth
	}
	if n.aversion, ok = next(n.aversion, w.version); !ok {
		return jute.BadVersion
	}
	// Writes behind this one in the order are judged by the new list already.
	n.acl = acl
	x.Path, x.ACL, x.Version = w.path, acl, n.aversion
	p.put(x.Zxid, w.path, n)
	return jute.OK
}

func (p *Prep) check(w *write, who *Caller, x *Txn) jute.Code {
	if !jute.ValidatePath(w.path) {
		return jute.BadArguments
	}
	n, ok := p.look(w.path)
	if !ok {
		return jute.NoNode
	}
	if !Allowed(n.acl, jute.PermRead, who.IDs) {
		return jute.NoAuth
	}
	v, ok := next(n.version, w.version)
	if !ok {
		return jute.BadVersion
	}
	x.Path, x.Version = w.path, v
	return jute.OK
}
