package shell

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/zk/jute"
)

const (
	// sessionMs is the session timeout asked for, the default of zkCli.
	sessionMs = 30_000
	// dialWithin bounds one attempt to connect.
	dialWithin = 10 * time.Second
	// frameMax bounds an answer; children lists may be larger than any request.
	frameMax = 256 << 20
)

// conn is a session on one connection, used by one goroutine.
type conn struct {
	c       net.Conn
	r       *bufio.Reader
	clk     clock.Clock
	chroot  string
	server  string
	session int64
	timeout time.Duration
	xid     int32
	zxid    int64
	events  []event
}

// event is a watch notification.
type event struct {
	Type string `json:"type"`
	Path string `json:"path"`
	Zxid int64  `json:"-"`
}

// dial opens a session on the first server that grants one. where is host:port,…[/chroot].
func dial(ctx context.Context, where string) (*conn, error) {
	hosts, chroot := where, ""
	if i := strings.IndexByte(where, '/'); i >= 0 {
		hosts, chroot = where[:i], strings.TrimRight(where[i:], "/")
	}
	var last error
	for _, host := range strings.Split(hosts, ",") {
		if !strings.Contains(host, ":") {
			host += ":2181"
		}
		d := net.Dialer{Timeout: dialWithin}
		nc, err := d.DialContext(ctx, "tcp", host)
		if err != nil {
			last = err
			continue
		}
		c := &conn{c: nc, r: bufio.NewReaderSize(nc, 64<<10), clk: clock.NewReal(), chroot: chroot, server: host}
		if last = c.open(); last == nil {
			return c, nil
		}
		_ = nc.Close()
	}
	return nil, fmt.Errorf("%w on %s: %w", ErrConnect, hosts, last)
}

func (c *conn) open() error {
	b := jute.AppendLong(jute.AppendInt(nil, 0), 0)
	b = jute.AppendLong(jute.AppendInt(b, sessionMs), 0)
	b = jute.AppendBool(jute.AppendBuffer(b, make([]byte, 16)), false)
	if _, err := c.c.Write(append(jute.AppendInt(nil, int32(len(b))), b...)); err != nil {
		return err
	}
	in, err := c.frame(dialWithin)
	if err != nil {
		return err
	}
	r := jute.NewReader(in)
	r.Int()
	c.timeout, c.session = time.Duration(r.Int())*time.Millisecond, r.Long()
	if r.Err() != nil || c.session == 0 {
		return errors.New("the server refused the session")
	}
	return nil
}

// frame reads one frame. On a timeout nothing is lost: bytes stay in the reader.
func (c *conn) frame(within time.Duration) ([]byte, error) {
	_ = c.c.SetReadDeadline(time.UnixMilli(c.clk.WallMs()).Add(within))
	head, err := c.r.Peek(4)
	if err != nil {
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(head))
	if n < 0 || n > frameMax {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	_, _ = c.r.Discard(4)
	b := make([]byte, n)
	_ = c.c.SetReadDeadline(time.UnixMilli(c.clk.WallMs()).Add(dialWithin))
	_, err = io.ReadFull(c.r, b)
	return b, err
}

func (c *conn) send(xid, op int32, body []byte) error {
	b := jute.AppendInt(nil, int32(8+len(body)))
	b = append(jute.AppendInt(jute.AppendInt(b, xid), op), body...)
	_, err := c.c.Write(b)
	return err
}

// call sends one request and waits for its answer; events that come before it are kept.
func (c *conn) call(op int32, body []byte) (jute.Reader, error) {
	c.xid++
	if err := c.send(c.xid, op, body); err != nil {
		return jute.Reader{}, err
	}
	for {
		b, err := c.frame(c.timeout)
		if err != nil {
			return jute.Reader{}, fmt.Errorf("no answer from %s: %w", c.server, err)
		}
		r := jute.NewReader(b)
		xid, zxid, code := r.Int(), r.Long(), jute.Code(r.Int())
		switch {
		case xid == jute.XidWatch:
			c.event(&r, zxid)
		case xid == c.xid:
			c.zxid = zxid
			if code != jute.OK {
				return jute.Reader{}, code
			}
			return r, nil
		}
	}
}

func (c *conn) event(r *jute.Reader, zxid int64) {
	kind, _, path := r.Int(), r.Int(), r.String()
	names := map[int32]string{jute.EventCreated: "NodeCreated", jute.EventDeleted: "NodeDeleted", jute.EventDataChanged: "NodeDataChanged", jute.EventChildrenChanged: "NodeChildrenChanged"}
	c.events = append(c.events, event{Type: names[kind], Path: c.strip(path), Zxid: zxid})
}

// await waits for the next event, keeping the session alive, until ctx ends.
func (c *conn) await(ctx context.Context) (event, error) {
	for {
		if len(c.events) > 0 {
			ev := c.events[0]
			c.events = c.events[1:]
			return ev, nil
		}
		if err := ctx.Err(); err != nil {
			return event{}, err
		}
		b, err := c.frame(c.timeout / 3)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if err := c.send(jute.XidPing, jute.OpPing, nil); err != nil {
				return event{}, err
			}
			continue
		}
		if err != nil {
			return event{}, err
		}
		r := jute.NewReader(b)
		if xid := r.Int(); xid == jute.XidWatch {
			zxid := r.Long()
			r.Int()
			c.event(&r, zxid)
		}
	}
}

// close ends the session, so that its ephemerals go at once.
func (c *conn) close() {
	_, _ = c.call(jute.OpCloseSession, nil)
	_ = c.c.Close()
}

// full is the server's path of a path below the chroot.
func (c *conn) full(path string) string {
	if c.chroot == "" {
		return path
	}
	if path == "/" {
		return c.chroot
	}
	return c.chroot + path
}

func (c *conn) strip(path string) string {
	if s, ok := strings.CutPrefix(path, c.chroot); ok && c.chroot != "" {
		if s == "" {
			return "/"
		}
		return s
	}
	return path
}
