package client

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// Options say how to reach ZooKeeper.
type Options struct {
	// Connect is zookeeper.connect: host[:port],host[:port]…[/chroot]. The chroot is made when it is absent.
	Connect string
	// SessionTimeout is asked for; the server may grant another one. 0 means 18 s.
	SessionTimeout time.Duration
	// ConnectionTimeout bounds Open; 0 means SessionTimeout.
	ConnectionTimeout time.Duration
	// Dial opens connections; nil means TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// DigestUser and DigestPassword, when set, authenticate every connection with the digest scheme.
	DigestUser, DigestPassword string
	// SetACL makes new znodes writable by their creator alone (zookeeper.set.acl).
	SetACL bool
	// OnEvent receives session and watch events in order, on the connection's goroutine. It must not block.
	OnEvent func(Event)
	Log     *slog.Logger
	// Wire, when set, replaces the network: zktest's in-memory server comes in here.
	Wire func(hosts []string, timeout time.Duration, events func(zk.Event)) (Wire, error)
}
