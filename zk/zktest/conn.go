package zktest

import (
	"fmt"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/zk/client"
)

type watch struct {
	path  string
	child bool
}

// Conn is a client's end. It has the methods of *zk.Conn that the facade uses.
type Conn struct {
	server  *Server
	events  func(zk.Event)
	session atomic.Int64
	closed  atomic.Bool
	watches map[watch]bool // under the server's lock
	auth    []string       // likewise
}

var _ client.Wire = (*Conn)(nil)

// Wire connects a client; it is meant for client.Options.Wire.
func (s *Server) Wire(_ []string, _ time.Duration, events func(zk.Event)) (client.Wire, error) {
	c := &Conn{server: s, events: events}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.down {
		s.openLocked(c)
	}
	return c, nil
}

// notify tells a client of a change that it watches. While the server is unreachable nothing is told, then or later: the watch stays as it was,
// as when a client sets its watches again with a transaction that it has not seen the consequences of.
func (c *Conn) notify(ev zk.Event) {
	if c.server.mu.down {
		return
	}
	hit := false
	for _, w := range []watch{{ev.Path, false}, {ev.Path, true}} {
		wants := w.child == (ev.Type == zk.EventNodeChildrenChanged) || ev.Type == zk.EventNodeDeleted
		if c.watches[w] && wants {
			delete(c.watches, w)
			hit = true
		}
	}
	if hit {
		c.events(ev)
	}
}

// do carries out one request under the lock. name is what the log and the faults know it by; reads have none.
func (c *Conn) do(name string, fn func(t *tree) error) error {
	c.server.held.RLock()
	defer c.server.held.RUnlock()
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.closed.Load() {
		return zk.ErrClosing
	}
	if s.mu.down || s.mu.conns[c.session.Load()] != c {
		return zk.ErrConnectionClosed
	}
	if err := s.refusedLocked(name); err != nil {
		return err
	}
	lost, applied := s.lostLocked(name)
	if lost && !applied {
		c.dropLocked()
		return zk.ErrConnectionClosed
	}
	if name != "" {
		s.mu.tree.zxid++
	}
	err := fn(s.mu.tree)
	if name != "" {
		entry := name
		if err != nil {
			entry += " -> " + err.Error()
		}
		s.noteLocked(entry)
		s.deliverLocked()
	}
	if lost {
		c.dropLocked()
		return zk.ErrConnectionClosed
	}
	return err
}

// dropLocked is a connection that breaks and is back at once, in the same session.
func (c *Conn) dropLocked() {
	c.events(zk.Event{Type: zk.EventSession, State: zk.StateDisconnected})
	c.events(zk.Event{Type: zk.EventSession, State: zk.StateHasSession})
}

func (c *Conn) get(path string, arm bool) (data []byte, stat *zk.Stat, err error) {
	err = c.do("", func(t *tree) error {
		n := t.nodes[path]
		if n == nil {
			return zk.ErrNoNode
		}
		data, stat = n.data, n.shown()
		if arm {
			c.watches[watch{path, false}] = true
		}
		return nil
	})
	return data, stat, err
}

// Get is the library's.
func (c *Conn) Get(path string) ([]byte, *zk.Stat, error) { return c.get(path, false) }

// GetW is the library's; events come through the callback alone.
func (c *Conn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, err := c.get(path, true)
	return data, stat, nil, err
}

func (c *Conn) exists(path string, arm bool) (ok bool, stat *zk.Stat, err error) {
	err = c.do("", func(t *tree) error {
		if n := t.nodes[path]; n != nil {
			ok, stat = true, n.shown()
		}
		if arm {
			c.watches[watch{path, false}] = true
		}
		return nil
	})
	return ok, stat, err
}

// Exists is the library's.
func (c *Conn) Exists(path string) (bool, *zk.Stat, error) { return c.exists(path, false) }

// ExistsW is the library's.
func (c *Conn) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	ok, stat, err := c.exists(path, true)
	return ok, stat, nil, err
}

func (c *Conn) children(path string, arm bool) (names []string, stat *zk.Stat, err error) {
	err = c.do("", func(t *tree) error {
		n := t.nodes[path]
		if n == nil {
			return zk.ErrNoNode
		}
		for name := range n.children {
			names = append(names, name)
		}
		sort.Strings(names)
		stat = n.shown()
		if arm {
			c.watches[watch{path, true}] = true
		}
		return nil
	})
	return names, stat, err
}

// Children is the library's.
func (c *Conn) Children(path string) ([]string, *zk.Stat, error) { return c.children(path, false) }

// ChildrenW is the library's.
func (c *Conn) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, err := c.children(path, true)
	return names, stat, nil, err
}

// Create is the library's.
func (c *Conn) Create(path string, data []byte, flags int32, acl []zk.ACL) (made string, err error) {
	err = c.do("create "+path, func(t *tree) (err error) {
		made, err = t.create(path, data, flags, acl, c.session.Load())
		return err
	})
	return made, err
}

// Set is the library's.
func (c *Conn) Set(path string, data []byte, version int32) (stat *zk.Stat, err error) {
	err = c.do("set "+path, func(t *tree) (err error) { stat, err = t.set(path, data, version); return err })
	return stat, err
}

// Delete is the library's.
func (c *Conn) Delete(path string, version int32) error {
	return c.do("delete "+path, func(t *tree) error { return t.delete(path, version) })
}

// Multi is the library's.
func (c *Conn) Multi(ops ...any) (out []zk.MultiResponse, err error) {
	names := make([]string, len(ops))
	for i, op := range ops {
		switch op := op.(type) {
		case *zk.CreateRequest:
			names[i] = "create " + op.Path
		case *zk.SetDataRequest:
			names[i] = "set " + op.Path
		case *zk.DeleteRequest:
			names[i] = "delete " + op.Path
		case *zk.CheckVersionRequest:
			names[i] = fmt.Sprintf("check %s", op.Path)
		}
	}
	err = c.do("multi "+strings.Join(names, ", "), func(t *tree) (err error) {
		out, err = t.multi(ops, c.session.Load())
		return err
	})
	return out, err
}

// GetACL is the library's.
func (c *Conn) GetACL(path string) (acl []zk.ACL, stat *zk.Stat, err error) {
	err = c.do("", func(t *tree) error {
		n := t.nodes[path]
		if n == nil {
			return zk.ErrNoNode
		}
		acl, stat = n.acl, n.shown()
		return nil
	})
	return acl, stat, err
}

// SetACL is the library's.
func (c *Conn) SetACL(path string, acl []zk.ACL, _ int32) (stat *zk.Stat, err error) {
	err = c.do("setacl "+path, func(t *tree) error {
		n := t.nodes[path]
		if n == nil {
			return zk.ErrNoNode
		}
		n.acl, stat = acl, n.shown()
		return nil
	})
	return stat, err
}

// AddAuth is the library's.
func (c *Conn) AddAuth(scheme string, auth []byte) error {
	return c.do("", func(*tree) error { c.auth = append(c.auth, scheme+" "+string(auth)); return nil })
}

// SessionID is the library's.
func (c *Conn) SessionID() int64 { return c.session.Load() }

// Close is the library's: the session ends at once.
func (c *Conn) Close() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if !c.closed.Swap(true) && c.server.mu.conns[c.session.Load()] == c {
		c.server.endLocked(c.session.Load())
	}
}
