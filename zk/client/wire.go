package client

import "github.com/go-zookeeper/zk"

// Wire is what the facade needs of a connection. *zk.Conn has it on a network, zktest.Conn in memory.
type Wire interface {
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Exists(path string) (bool, *zk.Stat, error)
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
	Children(path string) ([]string, *zk.Stat, error)
	ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error)
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	Delete(path string, version int32) error
	GetACL(path string) ([]zk.ACL, *zk.Stat, error)
	SetACL(path string, acl []zk.ACL, version int32) (*zk.Stat, error)
	Multi(ops ...any) ([]zk.MultiResponse, error)
	AddAuth(scheme string, auth []byte) error
	SessionID() int64
	Close()
}

var _ Wire = (*zk.Conn)(nil)
