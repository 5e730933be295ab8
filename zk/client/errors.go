package client

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

// ZooKeeper's own answers, under the library's values so that errors.Is works with either.
var (
	ErrNoNode     = zk.ErrNoNode
	ErrNodeExists = zk.ErrNodeExists
	ErrBadVersion = zk.ErrBadVersion
	ErrNotEmpty   = zk.ErrNotEmpty
	ErrNoAuth     = zk.ErrNoAuth
)

var (
	// ErrConnectString is returned by Open for a zookeeper.connect that cannot be read.
	ErrConnectString = errors.New("zk: bad connect string")
	// ErrConnectTimeout is returned by Open when no session was granted within zookeeper.connection.timeout.ms.
	ErrConnectTimeout = errors.New("zk: no session with ZooKeeper within the time allowed")
	// ErrSessionExpired is returned when the session under which a call began is over.
	ErrSessionExpired = errors.New("zk: the session has expired")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("zk: the client is closed")
	// ErrUnknownOutcome is returned for a write that was sent on a connection that broke, and whose effect could not be
	// found out by looking.
	ErrUnknownOutcome = errors.New("zk: connection lost, the outcome of the write is unknown")
	// ErrTooLarge is returned for data that a server with the usual jute.maxbuffer would answer by closing the connection.
	ErrTooLarge = errors.New("zk: more data than a znode may hold")
)

// connectionLost tells the errors after which a request may or may not have been carried out.
func connectionLost(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrSessionMoved)
}
