package client

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// onEvent runs on the connection's goroutine.
func (c *Client) onEvent(ev zk.Event) {
	if ev.Type == zk.EventSession {
		c.onSession(ev.State)
		return
	}
	var kind Kind
	switch ev.Type {
	case zk.EventNodeCreated:
		kind = Created
	case zk.EventNodeDeleted:
		kind = Deleted
	case zk.EventNodeDataChanged:
		kind = DataChanged
	case zk.EventNodeChildrenChanged:
		kind = ChildrenChanged
	default:
		return // EventNotWatching follows Expired, which says all
	}
	path := strings.TrimPrefix(ev.Path, c.addr.Chroot)
	if path == "" {
		path = "/"
	}
	c.mu.Lock()
	for _, w := range firedBy[kind] {
		delete(c.mu.armed, watch{path, w})
	}
	c.mu.Unlock()
	c.tell(Event{Kind: kind, Path: path})
}

// firedBy lists the watches that an event uses up.
var firedBy = [...][]watchKind{
	Created:         {watchExists},
	Deleted:         {watchData, watchExists, watchChildren},
	DataChanged:     {watchData, watchExists},
	ChildrenChanged: {watchChildren},
}

// onSession follows the connection. When it comes back in the same session, everything watched is told as changed, and must be read and armed again:
// what the library says to the server of the watches it had rests on the last transaction that it has seen, and when answers come while it asks
// for that, a change in between is lost without a word.
func (c *Client) onSession(state zk.State) {
	var ev Event
	var again []Event
	c.mu.Lock()
	switch state {
	case zk.StateHasSession:
		ev.Kind = Connected
		was := c.mu.session
		if c.wire != nil {
			c.mu.session = c.wire.SessionID()
		}
		ev.Fresh = was != c.mu.session || c.mu.life == 0
		ev.Session = c.mu.session
		if ev.Fresh {
			c.mu.life++
		} else {
			again = c.disarmLocked()
		}
		c.mu.connected = true
		c.wakeLocked()
	case zk.StateDisconnected:
		if c.mu.connected {
			ev.Kind = Disconnected
		}
		c.mu.connected = false
	case zk.StateExpired:
		ev.Kind = Expired
		c.mu.connected = false
		c.mu.life++
		clear(c.mu.armed)
		c.wakeLocked()
	default:
	}
	c.mu.Unlock()
	if ev.Kind != 0 {
		c.tell(ev)
	}
	for _, ev := range again {
		c.tell(ev)
	}
}

// disarmLocked forgets what is armed, and returns for each watch the event that makes its owner look.
func (c *Client) disarmLocked() []Event {
	out := make([]Event, 0, len(c.mu.armed))
	for w := range c.mu.armed {
		ev := Event{Kind: DataChanged, Path: w.path}
		if w.kind == watchChildren {
			ev.Kind = ChildrenChanged
		}
		out = append(out, ev)
	}
	slices.SortFunc(out, func(a, b Event) int { return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind)) })
	clear(c.mu.armed)
	return out
}

func (c *Client) tell(ev Event) {
	if c.o.OnEvent != nil {
		c.o.OnEvent(ev)
	}
}
