package tree

import (
	"sort"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

// Paths that ZooKeeper keeps for itself.
const (
	systemPath = "/zookeeper"
	quotaPath  = "/zookeeper/quota"
	configPath = "/zookeeper/config"
)

// Event is one notification: who is told what. ACL is what the path's node allowed when it fired;
// whoever delivers the event checks READ against it.
type Event struct {
	Who  Watcher
	Type int32
	Path string
	Zxid int64
	ACL  []jute.ACL
}

// Result of one applied transaction.
type Result struct {
	Op   int32
	Err  jute.Code
	Path string
	Stat jute.Stat
	Sub  []Result // OpMulti
}

// Tree is the data tree with its watches.
type Tree struct {
	// Extended switches TTL nodes on (zookeeper.extendedTypesEnabled).
	Extended bool
	// EnforceQuota keeps hard limits (zookeeper.enforceQuota), and Exceeded counts what they refused, by child of the root.
	EnforceQuota bool
	Exceeded     map[string]int64
	// Schemes are those beyond world, auth, digest and ip that an ACL may name.
	Schemes []string

	nodes map[string]*Node // the root is "" (and "/" finds it)
	acls  aclTable
	// ephemerals by session; every path in it is a node with that owner, and the other way round.
	ephemerals map[int64]map[string]struct{}
	containers map[string]struct{}
	ttls       map[string]struct{}
	quotas     map[string]struct{}
	dataBytes  int64

	dataWatches  watchTable
	childWatches watchTable
	events       []Event

	// Zxid of the last transaction applied. Only rises.
	Zxid int64
}

// New returns the tree of a fresh server.
func New() *Tree {
	t := NewEmpty()
	t.nodes[""] = &Node{Data: []byte{}, acl: openACL}
	for _, p := range []string{systemPath, quotaPath, configPath} {
		t.insert(p, &Node{Data: []byte{}, acl: openACL})
	}
	config := t.nodes[configPath]
	config.acl = t.acls.use([]jute.ACL{{Perms: jute.PermRead, ID: jute.ID{Scheme: "world", ID: "anyone"}}})
	config.Aversion = -1
	return t
}

// NewEmpty returns a tree without any node, to be filled from a snapshot by Load.
func NewEmpty() *Tree {
	return &Tree{nodes: map[string]*Node{}, acls: newACLTable(), ephemerals: map[int64]map[string]struct{}{}, containers: map[string]struct{}{},
		ttls: map[string]struct{}{}, quotas: map[string]struct{}{}, dataWatches: newWatchTable(), childWatches: newWatchTable()}
}

// split cuts a path into its parent and its name.
func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// insert links a node that is not there yet. The parent must be.
func (t *Tree) insert(path string, n *Node) {
	dir, name := split(path)
	parent := t.nodes[dir]
	if parent.children == nil {
		parent.children = map[string]struct{}{}
	}
	parent.children[name] = struct{}{}
	t.nodes[path] = n
	t.dataBytes += int64(len(path) + len(n.Data))
	switch kindOf(n.owner) {
	case container:
		t.containers[path] = struct{}{}
	case ttl:
		t.ttls[path] = struct{}{}
	case ephemeral:
		set := t.ephemerals[n.owner]
		if set == nil {
			set = map[string]struct{}{}
			t.ephemerals[n.owner] = set
		}
		set[path] = struct{}{}
	}
}

// unlink takes a node out of every table.
func (t *Tree) unlink(path string, n *Node) {
	delete(t.nodes, path)
	t.dataBytes -= int64(len(path) + len(n.Data))
	t.acls.drop(n.acl)
	switch kindOf(n.owner) {
	case container:
		delete(t.containers, path)
	case ttl:
		delete(t.ttls, path)
	case ephemeral:
		set := t.ephemerals[n.owner]
		delete(set, path)
		if len(set) == 0 {
			delete(t.ephemerals, n.owner)
		}
	}
}

// Get returns the node at path, nil when there is none. Both "" and "/" are the root.
func (t *Tree) Get(path string) *Node {
	if path == "/" {
		path = ""
	}
	return t.nodes[path]
}

// ACLOf returns the list of a node; it must not be changed.
func (t *Tree) ACLOf(n *Node) []jute.ACL { return t.acls.list(n.acl) }

// Apply carries one transaction out. The events that it fires are taken with TakeEvents.
func (t *Tree) Apply(x *Txn, out *Result) {
	*out = Result{Op: x.Op, Path: x.Path}
	if x.Op == jute.OpMulti {
		t.applyMulti(x, out)
	} else {
		t.applyOne(x, x.Zxid, x.TimeMs, out)
	}
	if x.Zxid > t.Zxid {
		t.Zxid = x.Zxid
	}
}

func (t *Tree) applyMulti(x *Txn, out *Result) {
	out.Sub = make([]Result, len(x.Sub))
	failed := -1
	for i := range x.Sub {
		if x.Sub[i].Op == jute.OpError {
			failed = i
			break
		}
	}
	for i := range x.Sub {
		sub, res := &x.Sub[i], &out.Sub[i]
		*res = Result{Op: sub.Op, Path: sub.Path}
		switch {
		case failed < 0:
			t.applyOne(sub, x.Zxid, x.TimeMs, res)
		case i < failed:
			*res = Result{Op: jute.OpError}
		case sub.Op == jute.OpError:
			*res = Result{Op: jute.OpError, Err: sub.Err}
		default:
			*res = Result{Op: jute.OpError, Err: jute.RuntimeInconsistency}
		}
		if out.Err == jute.OK {
			out.Err = res.Err
		}
	}
}

func (t *Tree) applyOne(x *Txn, zxid, timeMs int64, out *Result) {
	switch x.Op {
	case jute.OpCreate, jute.OpCreate2:
		owner := int64(0)
		if x.Ephemeral {
			owner = x.Session
		}
		t.create(x, owner, zxid, timeMs, out)
	case jute.OpCreateContainer:
		t.create(x, ownerContainer, zxid, timeMs, out)
	case jute.OpCreateTTL:
		t.create(x, ttlOwner(x.TTLMs), zxid, timeMs, out)
	case jute.OpDelete, jute.OpDeleteContainer:
		out.Err = t.remove(x.Path, zxid)
	case jute.OpSetData, jute.OpReconfig:
		t.setData(x, zxid, timeMs, out)
	case jute.OpSetACL:
		t.setACL(x, out)
	case jute.OpCloseSession:
		t.closeSession(x, zxid)
	case jute.OpError:
		out.Err = x.Err
	}
}

func (t *Tree) create(x *Txn, owner, zxid, timeMs int64, out *Result) {
	dir, _ := split(x.Path)
	parent := t.nodes[dir]
	if parent == nil {
		out.Err = jute.NoNode
		return
	}
	cversion := x.ParentCversion
	if cversion == -1 {
		cversion = parent.Cversion + 1
	}
	// In replay over a fuzzy snapshot the parent may be ahead already. The difference is taken so that
	// the counter may run over the end of its range.
	if cversion-parent.Cversion > 0 {
		parent.Cversion, parent.Pzxid = cversion, zxid
	}
	if old := t.Get(x.Path); old != nil {
		ix := t.acls.use(x.ACL)
		t.acls.drop(old.acl)
		old.acl = ix
		out.Err = jute.NodeExists
		return
	}
	n := &Node{Data: x.Data, acl: t.acls.use(x.ACL), owner: owner, Czxid: zxid, Mzxid: zxid, Pzxid: zxid, Ctime: timeMs, Mtime: timeMs}
	t.insert(x.Path, n)
	t.Stat(n, &out.Stat)
	t.quotaCreated(x.Path)
	t.countQuota(x.Path, int64(len(x.Data)), 1)
	t.trigger(&t.dataWatches, x.Path, jute.EventCreated, zxid, n.acl)
	t.trigger(&t.childWatches, orRoot(dir), jute.EventChildrenChanged, zxid, parent.acl)
}

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

func (t *Tree) remove(path string, zxid int64) jute.Code {
	if path == "" || path == "/" {
		return jute.BadArguments // only a log that no server wrote says so
	}
	dir, name := split(path)
	parent := t.nodes[dir]
	if parent == nil {
		return jute.NoNode
	}
	delete(parent.children, name)
	if zxid > parent.Pzxid {
		parent.Pzxid = zxid
	}
	n := t.nodes[path]
	if n == nil {
		return jute.NoNode
	}
	acl := t.acls.list(n.acl)
	t.unlink(path, n)
	t.quotaRemoved(path)
	t.countQuota(path, -int64(len(n.Data)), -1)
	from := len(t.events)
	t.triggerList(&t.dataWatches, path, jute.EventDeleted, zxid, acl)
	told := t.events[from:]
	t.childWatches.fire(path)
	for _, who := range t.childWatches.fired {
		if !told1(told, who) {
			t.events = append(t.events, Event{Who: who, Type: jute.EventDeleted, Path: path, Zxid: zxid, ACL: acl})
		}
	}
	t.trigger(&t.childWatches, orRoot(dir), jute.EventChildrenChanged, zxid, parent.acl)
	return jute.OK
}

// told1 says whether who is among those told already: one deletion is one event for each watcher.
func told1(told []Event, who Watcher) bool {
	for i := range told {
		if told[i].Who == who {
			return true
		}
	}
	return false
}

func (t *Tree) setData(x *Txn, zxid, timeMs int64, out *Result) {
	n := t.Get(x.Path)
	if n == nil {
		out.Err = jute.NoNode
		return
	}
	was := int64(len(n.Data))
	n.Data, n.Mtime, n.Mzxid, n.Version = x.Data, timeMs, zxid, x.Version
	t.dataBytes += int64(len(n.Data)) - was
	t.Stat(n, &out.Stat)
	t.countQuota(x.Path, int64(len(n.Data))-was, 0)
	t.trigger(&t.dataWatches, x.Path, jute.EventDataChanged, zxid, n.acl)
}

func (t *Tree) setACL(x *Txn, out *Result) {
	n := t.Get(x.Path)
	if n == nil {
		out.Err = jute.NoNode
		return
	}
	ix := t.acls.use(x.ACL)
	t.acls.drop(n.acl)
	n.acl, n.Aversion = ix, x.Version
	t.Stat(n, &out.Stat)
}

// closeSession removes the ephemerals that the transaction names, and what else belongs to the session
// (nothing, unless the transaction is of a version that names none).
func (t *Tree) closeSession(x *Txn, zxid int64) {
	for _, p := range x.Paths {
		t.remove(p, zxid)
	}
	for _, p := range t.Ephemerals(x.Session) {
		t.remove(p, zxid)
	}
}

// Ephemerals lists the ephemeral nodes of a session in order.
func (t *Tree) Ephemerals(session int64) []string {
	set := t.ephemerals[session]
	out := make([]string, 0, len(set))
	for p := range set {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

func (t *Tree) trigger(w *watchTable, path string, event int32, zxid, acl int64) {
	if len(w.byPath) == 0 {
		return
	}
	t.triggerList(w, path, event, zxid, t.acls.list(acl))
}

func (t *Tree) triggerList(w *watchTable, path string, event int32, zxid int64, acl []jute.ACL) {
	if len(w.byPath) == 0 {
		return
	}
	w.fire(path)
	for _, who := range w.fired {
		t.events = append(t.events, Event{Who: who, Type: event, Path: path, Zxid: zxid, ACL: acl})
	}
}

// TakeEvents returns what fired since the last call; the slice is good until the next Apply.
func (t *Tree) TakeEvents() []Event {
	out := t.events
	t.events = t.events[:0]
	return out
}

// Count is the number of nodes, those of the system included.
func (t *Tree) Count() int { return len(t.nodes) }

// EphemeralCount is the number of ephemeral nodes.
func (t *Tree) EphemeralCount() int {
	n := 0
	for _, set := range t.ephemerals {
		n += len(set)
	}
	return n
}

// ApproximateBytes is the size of all paths and data.
func (t *Tree) ApproximateBytes() int64 { return t.dataBytes }

// AllChildren counts everything below path.
func (t *Tree) AllChildren(path string) int {
	if path == "/" {
		return len(t.nodes) - 1
	}
	if path == "" {
		return len(t.nodes) // Apache counts the root's second name, "/", too
	}
	return t.below(path)
}

func (t *Tree) below(path string) int {
	n := t.nodes[path]
	if n == nil {
		return 0
	}
	total := 0
	for name := range n.children {
		total += 1 + t.below(path+"/"+name)
	}
	return total
}

// Owners lists the sessions that have ephemeral nodes, in order.
func (t *Tree) Owners() []int64 {
	out := make([]int64, 0, len(t.ephemerals))
	for id := range t.ephemerals {
		out = append(out, id)
	}
	sort.Slice(out, func(i, j int) bool { return uint64(out[i]) < uint64(out[j]) })
	return out
}

// Expired lists the containers that had children and have none now, and the TTL nodes without children that
// were not changed for their time.
func (t *Tree) Expired(wallMs int64) []string {
	var out []string
	for path := range t.containers {
		// Cversion 0 is a container whose first child is still to come.
		if n := t.nodes[path]; n.Cversion > 0 && len(n.children) == 0 {
			out = append(out, path)
		}
	}
	for path := range t.ttls {
		if n := t.nodes[path]; len(n.children) == 0 && wallMs-n.Mtime > ttlOf(n.owner) {
			out = append(out, path)
		}
	}
	sort.Strings(out)
	return out
}
