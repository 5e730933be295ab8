package server

import (
	"github.com/pelton-broker/pelton/internal/arena"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// notices is the last event as it is sent. All its watchers get the same bytes, from the same place: a change that thousands watch
// takes no memory for each of them.
type notices struct {
	ev  *tree.Event
	buf *arena.Buf
}

// notifyAll delivers events in their order, each unless its watcher may not read the node.
func (l *loop) notifyAll(events []tree.Event) {
	for i := range events {
		l.notify(&events[i])
	}
	l.notices.drop()
}

func (l *loop) notify(ev *tree.Event) {
	p := ev.Who.(*peer)
	if p.c.Closed() || !l.o.SkipACL && !tree.Allowed(ev.ACL, jute.PermRead, p.caller.IDs) {
		return
	}
	if !l.notices.holds(ev) {
		b := jute.AppendReplyHeader(l.begin(), jute.XidWatch, ev.Zxid, jute.OK)
		b = jute.AppendInt(jute.AppendInt(b, ev.Type), jute.StateConnected)
		b = l.end(jute.AppendText(b, ev.Path))
		l.notices.drop()
		buf := l.arena.Get(len(b))
		if buf == nil { // a path of that length, or no memory: every watcher gets a copy
			copy(p.c.Out().Append(len(b)), b)
			l.sent(p, len(b))
			return
		}
		copy(buf.B, b)
		l.notices = notices{ev: ev, buf: buf}
	}
	buf := l.notices.buf
	buf.Retain()
	p.c.Out().Borrow(buf.B, buf)
	l.sent(p, len(buf.B))
}

// holds is true when ev reads the same as the event that is held.
func (n *notices) holds(ev *tree.Event) bool {
	return n.ev != nil && n.ev.Type == ev.Type && n.ev.Zxid == ev.Zxid && n.ev.Path == ev.Path
}

func (n *notices) drop() {
	if n.buf != nil {
		n.buf.Release()
	}
	*n = notices{}
}
