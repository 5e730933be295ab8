package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/internal/task"
)

const (
	defaultSessionTimeout = 18 * time.Second
	// dataMax stays below jute.maxbuffer (0xfffff) with room for path, header and ACL.
	dataMax = 0xfffff - 4096
)

// Client is one session after the other with one ensemble.
type Client struct {
	o     Options
	addr  Address
	group *task.Group
	wire  Wire
	mu    struct {
		sync.Mutex
		session   int64
		life      uint64 // grows with every session
		connected bool
		closed    bool
		dialErr   error
		changed   chan struct{} // closed and replaced at every change of the above
		armed     map[watch]bool
	}
}

type watch struct {
	path string // without chroot
	kind watchKind
}

type watchKind uint8

const (
	watchData watchKind = iota
	watchExists
	watchChildren
)

// Open connects and waits for a session. Goroutines that wait for answers run in group.
func Open(ctx context.Context, o Options, group *task.Group) (*Client, error) {
	addr, err := ParseAddress(o.Connect)
	if err != nil {
		return nil, err
	}
	if o.SessionTimeout <= 0 {
		o.SessionTimeout = defaultSessionTimeout
	}
	if o.ConnectionTimeout <= 0 {
		o.ConnectionTimeout = o.SessionTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	c := &Client{o: o, addr: addr, group: group}
	c.mu.changed = make(chan struct{})
	c.mu.armed = map[watch]bool{}
	if err := c.connect(); err != nil {
		return nil, err
	}
	if err := c.awaitSession(ctx); err != nil {
		c.Close()
		return nil, err
	}
	if o.DigestUser != "" {
		if err := c.wire.AddAuth("digest", []byte(o.DigestUser+":"+o.DigestPassword)); err != nil {
			c.Close()
			return nil, fmt.Errorf("zk: digest authentication as %q: %w", o.DigestUser, err)
		}
	}
	if err := c.makeChroot(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("zk: chroot %s: %w", addr.Chroot, err)
	}
	return c, nil
}

func (c *Client) connect() error {
	// Events may come before the assignment of c.wire; its readers wait for a session, which is set under the lock.
	if c.o.Wire != nil {
		w, err := c.o.Wire(c.addr.Hosts, c.o.SessionTimeout, c.onEvent)
		c.setWire(w)
		return err
	}
	conn, _, err := zk.Connect(c.addr.Hosts, c.o.SessionTimeout,
		zk.WithDialer(c.dial), zk.WithHostProvider(&hosts{}), zk.WithLogger(logger{c.o.Log}), zk.WithLogInfo(false),
		zk.WithEventCallback(c.onEvent))
	if err != nil {
		return err
	}
	c.setWire(conn)
	return nil
}

func (c *Client) setWire(w Wire) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire = w
	if c.mu.connected && w != nil {
		c.mu.session = w.SessionID()
	}
}

func (c *Client) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	dial := c.o.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, network, address)
	c.mu.Lock()
	c.mu.dialErr = err
	c.mu.Unlock()
	return conn, err
}

func (c *Client) awaitSession(ctx context.Context) error {
	limit := time.NewTimer(c.o.ConnectionTimeout)
	defer limit.Stop()
	for {
		c.mu.Lock()
		ok, changed := c.mu.connected, c.mu.changed
		c.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			why := "something accepts connections there but does not answer as ZooKeeper does"
			c.mu.Lock()
			if c.mu.dialErr != nil {
				why = c.mu.dialErr.Error()
			}
			c.mu.Unlock()
			return fmt.Errorf("%w: %s, %s: %s", ErrConnectTimeout, strings.Join(c.addr.Hosts, ","), c.o.ConnectionTimeout, why)
		}
	}
}

func (c *Client) makeChroot(ctx context.Context) error {
	parts := strings.Split(c.addr.Chroot, "/")
	for i := 2; i <= len(parts) && c.addr.Chroot != ""; i++ {
		path := strings.Join(parts[:i], "/")
		_, err := call(ctx, c, func() (string, error) { return c.wire.Create(path, nil, 0, c.aclFor(path)) })
		if err != nil && !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoAuth) {
			return err
		}
	}
	return nil
}

// SessionID is the id of the session now.
func (c *Client) SessionID() int64 { c.mu.Lock(); defer c.mu.Unlock(); return c.mu.session }

// Address is where we connect to.
func (c *Client) Address() Address { return c.addr }

// SessionTimeout is what was asked for.
func (c *Client) SessionTimeout() time.Duration { return c.o.SessionTimeout }

// Close ends the session at the server, so that its ephemerals go at once. Calls under way return ErrClosed.
func (c *Client) Close() {
	c.mu.Lock()
	done := c.mu.closed
	c.mu.closed = true
	c.wakeLocked()
	wire := c.wire
	c.mu.Unlock()
	if !done && wire != nil {
		wire.Close()
	}
}

func (c *Client) wakeLocked() {
	close(c.mu.changed)
	c.mu.changed = make(chan struct{})
}

// full puts the chroot before a path.
func (c *Client) full(path string) string {
	if path == "/" && c.addr.Chroot != "" {
		return c.addr.Chroot
	}
	return c.addr.Chroot + path
}

type logger struct{ log *slog.Logger }

// Printf implements zk.Logger.
func (l logger) Printf(format string, args ...any) {
	l.log.Debug("zookeeper client", "text", fmt.Sprintf(format, args...))
}
