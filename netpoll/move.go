package netpoll

import (
	"encoding/binary"

	"github.com/pelton-broker/pelton/internal/invariant"
)

// moveMost bounds the bytes of a begun frame that travel with a connection: they are copied twice. One that has more waits for its end.
const moveMost = reserveAt

// Flush sends what the chain holds now instead of with the turn's FlushOut, so that its end is known.
func (c *Conn) Flush() {
	if !c.closed && !c.out.empty() {
		c.flush()
	}
}

// Detach takes a connection off its loop, so that another may Attach it; false changes nothing: it is closed, output waits, it waits for
// memory, a large frame is coming, or the kernel still sends from its buffers. What was read and not handed over travels along, and so does a pause. Until it is attached it
// belongs to nobody: it reads nothing, and closing it is its carrier's (Drop).
func (n *Net) Detach(c *Conn) bool {
	if c.net != n {
		invariant.Broken("netpoll: a connection of another loop was detached", c.ID)
	}
	if c.closed || c.state != open || c.starved || c.raw || c.closeCause != nil || !c.out.empty() || c.part.got > moveMost || c.part.reserved || len(c.zc.out) > 0 {
		return false
	}
	if err := n.poller.Del(c.fd); err != nil {
		c.Close(err)
		return false
	}
	c.carry()
	n.touched, c.touched = without(n.touched, c, c.touched), false
	n.resumed, c.resumed = without(n.resumed, c, c.resumed), false
	n.unlist(c)
	n.Stats.MovedOut++
	c.net = nil
	return true
}

// without takes c out of a list that it may be in.
func without(list []*Conn, c *Conn, in bool) []*Conn {
	if !in {
		return list
	}
	for i := range list {
		if list[i] == c {
			last := copy(list[i:], list[i+1:]) + i
			list[last] = nil
			return list[:last]
		}
	}
	return list
}

// carry copies what was read and not handed over into memory that is of no loop.
func (c *Conn) carry() {
	p, l := &c.part, &c.left
	if size := int(p.hdrLen) + p.got + l.end - l.at; size == 0 && p.buf == nil {
		return
	}
	b := append([]byte(nil), p.hdr[:p.hdrLen]...)
	if p.buf != nil {
		b = append(binary.BigEndian.AppendUint32(b, uint32(p.size)), p.buf.B[:p.got]...)
	}
	if l.buf != nil {
		b = append(b, l.buf.B[l.at:l.end]...)
	}
	c.dropInput()
	c.luggage = b
}

// Attach takes over a connection that another loop detached; its frames come from now on, those that were read already with this turn.
// One that cannot be taken is closed, with its OnClose.
func (n *Net) Attach(c *Conn) {
	c.net = n
	c.want = 0
	if !c.hupSeen {
		c.want |= EventPeerClosed
	}
	b := c.luggage
	c.luggage = nil
	if c.mayRead() && len(b) == 0 {
		c.want |= EventRead | EventPeerClosed
	}
	n.Stats.MovedIn++
	err := n.poller.Add(c.fd, c.want)
	n.put(c)
	if err != nil {
		c.Close(err)
		return
	}
	if len(b) == 0 {
		return
	}
	buf := n.arena.Get(len(b))
	if buf == nil {
		c.Close(ErrNoMemory)
		return
	}
	n.Stats.Copied += uint64(copy(buf.B, b))
	c.left = left{buf: buf, end: len(b)}
	if !c.paused {
		c.readAgain()
	}
}

// Drop ends a detached connection that no loop takes any more: nobody is told.
func (c *Conn) Drop(limiter *Limiter) {
	if c.net != nil {
		invariant.Broken("netpoll: a connection that belongs to a loop was dropped", c.ID)
	}
	c.closed, c.luggage = true, nil
	sysClose(c.fd)
	c.fd = -1
	if c.limited && limiter != nil {
		limiter.Give(c.Remote.Addr())
	}
}
