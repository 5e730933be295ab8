package zktest

import (
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

type node struct {
	data     []byte
	acl      []zk.ACL
	stat     zk.Stat
	children map[string]bool
	creates  int32 // children ever made: the next sequence number
}

// tree is the data of the server. Every change notes how to undo it, for the multi around it.
type tree struct {
	nodes map[string]*node
	zxid  int64
	nowMs int64
	undo  []func()
	fired []zk.Event
}

func newTree() *tree {
	return &tree{nodes: map[string]*node{"/": {children: map[string]bool{}}}}
}

func parent(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i == 0 {
		return "/", path[1:]
	}
	return path[:i], path[i+1:]
}

func (n *node) shown() *zk.Stat {
	s := n.stat
	s.NumChildren = int32(len(n.children))
	s.Cversion = 2*n.creates - s.NumChildren
	s.DataLength = int32(len(n.data))
	return &s
}

func (t *tree) fire(kind zk.EventType, path string) {
	t.fired = append(t.fired, zk.Event{Type: kind, State: zk.StateSyncConnected, Path: path})
}

func (t *tree) create(path string, data []byte, flags int32, acl []zk.ACL, session int64) (string, error) {
	dir, name := parent(path)
	up := t.nodes[dir]
	if up == nil {
		return "", zk.ErrNoNode
	}
	if up.stat.EphemeralOwner != 0 {
		return "", zk.ErrNoChildrenForEphemerals
	}
	if flags&zk.FlagSequence != 0 {
		seq := fmt.Sprintf("%010d", up.creates)
		path, name = path+seq, name+seq
	}
	if t.nodes[path] != nil {
		return "", zk.ErrNodeExists
	}
	n := &node{data: data, acl: acl, children: map[string]bool{}}
	n.stat = zk.Stat{Czxid: t.zxid, Mzxid: t.zxid, Pzxid: t.zxid, Ctime: t.nowMs, Mtime: t.nowMs}
	if flags&zk.FlagEphemeral != 0 {
		n.stat.EphemeralOwner = session
	}
	t.nodes[path] = n
	up.children[name] = true
	up.creates++
	up.stat.Pzxid = t.zxid
	t.undo = append(t.undo, func() { delete(t.nodes, path); delete(up.children, name); up.creates-- })
	t.fire(zk.EventNodeCreated, path)
	t.fire(zk.EventNodeChildrenChanged, dir)
	return path, nil
}

func (t *tree) set(path string, data []byte, version int32) (*zk.Stat, error) {
	n := t.nodes[path]
	if n == nil {
		return nil, zk.ErrNoNode
	}
	if version >= 0 && version != n.stat.Version {
		return nil, zk.ErrBadVersion
	}
	was := *n
	t.undo = append(t.undo, func() { n.data, n.stat = was.data, was.stat })
	n.data = data
	n.stat.Version++
	n.stat.Mzxid, n.stat.Mtime = t.zxid, t.nowMs
	t.fire(zk.EventNodeDataChanged, path)
	return n.shown(), nil
}

func (t *tree) delete(path string, version int32) error {
	n := t.nodes[path]
	switch {
	case n == nil:
		return zk.ErrNoNode
	case version >= 0 && version != n.stat.Version:
		return zk.ErrBadVersion
	case len(n.children) > 0:
		return zk.ErrNotEmpty
	}
	dir, name := parent(path)
	up := t.nodes[dir]
	delete(t.nodes, path)
	delete(up.children, name)
	t.undo = append(t.undo, func() { t.nodes[path] = n; up.children[name] = true })
	t.fire(zk.EventNodeDeleted, path)
	t.fire(zk.EventNodeChildrenChanged, dir)
	return nil
}

func (t *tree) check(path string, version int32) error {
	n := t.nodes[path]
	if n == nil {
		return zk.ErrNoNode
	}
	if version >= 0 && version != n.stat.Version {
		return zk.ErrBadVersion
	}
	return nil
}

// multi carries out all of ops or none.
func (t *tree) multi(ops []any, session int64) ([]zk.MultiResponse, error) {
	out := make([]zk.MultiResponse, len(ops))
	for i, op := range ops {
		var err error
		switch op := op.(type) {
		case *zk.CreateRequest:
			out[i].String, err = t.create(op.Path, op.Data, op.Flags, op.Acl, session)
		case *zk.SetDataRequest:
			out[i].Stat, err = t.set(op.Path, op.Data, op.Version)
		case *zk.DeleteRequest:
			err = t.delete(op.Path, op.Version)
		case *zk.CheckVersionRequest:
			err = t.check(op.Path, op.Version)
		}
		if err == nil {
			continue
		}
		for j := len(t.undo) - 1; j >= 0; j-- {
			t.undo[j]()
		}
		t.fired = nil
		failed := make([]zk.MultiResponse, len(ops))
		failed[i].Error = err
		return failed, err
	}
	return out, nil
}
