package client

import "github.com/go-zookeeper/zk"

// AnyVersion makes a write unconditional.
const AnyVersion int32 = -1

// Stat is what ZooKeeper tells about a znode.
type Stat struct {
	Czxid, Mzxid   int64
	CtimeMs        int64
	MtimeMs        int64
	Version        int32
	Cversion       int32
	EphemeralOwner int64 // session, 0 for a persistent znode
	Children       int32
}

// Node is a znode's data and stat. Data is nil when the znode holds null.
type Node struct {
	Data []byte
	Stat Stat
}

func statOf(s *zk.Stat) Stat {
	if s == nil {
		return Stat{}
	}
	return Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, CtimeMs: s.Ctime, MtimeMs: s.Mtime, Version: s.Version, Cversion: s.Cversion,
		EphemeralOwner: s.EphemeralOwner, Children: s.NumChildren,
	}
}

// Mode says how a znode is created.
type Mode uint8

// The modes of Create; they may be combined.
const (
	Persistent Mode = 0
	Ephemeral  Mode = 1 << 0
	Sequential Mode = 1 << 1
)

// Op is one operation of a multi, made by the functions below.
type Op struct {
	kind    opKind
	path    string
	data    []byte
	version int32
	mode    Mode
}

type opKind uint8

const (
	opCreate opKind = iota
	opSet
	opDelete
	opCheck
)

// CreateOp creates path in a multi.
func CreateOp(path string, data []byte, mode Mode) Op {
	return Op{kind: opCreate, path: path, data: data, mode: mode}
}

// SetOp writes path's data in a multi.
func SetOp(path string, data []byte, version int32) Op {
	return Op{kind: opSet, path: path, data: data, version: version}
}

// DeleteOp deletes path in a multi.
func DeleteOp(path string, version int32) Op { return Op{kind: opDelete, path: path, version: version} }

// CheckOp makes a multi fail when path's version differs.
func CheckOp(path string, version int32) Op { return Op{kind: opCheck, path: path, version: version} }

// Result is what one operation of a multi did.
type Result struct {
	Path string // of a create
	Stat Stat   // of a set
	Err  error  // of the operation that made the multi fail; the others have a placeholder
}
