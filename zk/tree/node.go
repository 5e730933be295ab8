package tree

import "github.com/pelton-broker/pelton/zk/jute"

// Owners that are no sessions.
const (
	ownerContainer = int64(-1 << 63)
	// The first byte of the owner of a TTL node is 0xFF (no server has that number), the next two are a kind, and the rest is the time to live.
	ownerTTLMask = int64(-1) << 56
	maxTTLMs     = int64(1)<<40 - 1
)

// Node is one znode. Its fields are persisted as they are, see AppendNode.
type Node struct {
	Data                       []byte
	acl                        int64 // index into the ACL table
	Czxid, Mzxid, Ctime, Mtime int64
	Version                    int32
	// Cversion counts the creations of children; clients see it doubled less the children there are,
	// which is the number of changes.
	Cversion int32
	Aversion int32
	owner    int64
	Pzxid    int64
	children map[string]struct{}
}

// kind of a node by its owner.
type kind uint8

const (
	persistent kind = iota
	ephemeral
	container
	ttl
)

func kindOf(owner int64) kind {
	switch {
	case owner == 0:
		return persistent
	case owner == ownerContainer:
		return container
	case owner&ownerTTLMask == ownerTTLMask:
		return ttl
	}
	return ephemeral
}

func ttlOwner(ttlMs int64) int64 { return ownerTTLMask | ttlMs }

func ttlOf(owner int64) int64 { return owner & maxTTLMs }

// ownerShown is the session of an ephemeral node, else 0: containers and TTL nodes show 0.
func ownerShown(n *Node) int64 {
	if kindOf(n.owner) == ephemeral {
		return n.owner
	}
	return 0
}

// Stat fills s.
func (t *Tree) Stat(n *Node, s *jute.Stat) {
	*s = jute.Stat{Czxid: n.Czxid, Mzxid: n.Mzxid, Ctime: n.Ctime, Mtime: n.Mtime, Version: n.Version,
		Cversion: n.Cversion*2 - int32(len(n.children)), Aversion: n.Aversion, EphemeralOwner: ownerShown(n),
		DataLength: int32(len(n.Data)), NumChildren: int32(len(n.children)), Pzxid: n.Pzxid}
}

// Children calls fn for the name of each child, in no order.
func (n *Node) Children(fn func(name string)) {
	for name := range n.children {
		fn(name)
	}
}

// NumChildren is the number of children.
func (n *Node) NumChildren() int { return len(n.children) }

// AppendNode writes the node as a snapshot holds it.
func AppendNode(dst []byte, n *Node) []byte {
	dst = jute.AppendBuffer(dst, n.Data)
	dst = jute.AppendLong(dst, n.acl)
	dst = jute.AppendLong(dst, n.Czxid)
	dst = jute.AppendLong(dst, n.Mzxid)
	dst = jute.AppendLong(dst, n.Ctime)
	dst = jute.AppendLong(dst, n.Mtime)
	dst = jute.AppendInt(dst, n.Version)
	dst = jute.AppendInt(dst, n.Cversion)
	dst = jute.AppendInt(dst, n.Aversion)
	dst = jute.AppendLong(dst, n.owner)
	return jute.AppendLong(dst, n.Pzxid)
}

// ParseNode reads a node of a snapshot.
func ParseNode(r *jute.Reader) *Node {
	return &Node{Data: clone(r.Buffer()), acl: r.Long(), Czxid: r.Long(), Mzxid: r.Long(), Ctime: r.Long(), Mtime: r.Long(),
		Version: r.Int(), Cversion: r.Int(), Aversion: r.Int(), owner: r.Long(), Pzxid: r.Long()}
}
