package netpoll

import (
	"encoding/binary"

	"github.com/pelton-broker/pelton/internal/arena"
	"github.com/pelton-broker/pelton/internal/invariant"
)

// Frame is one length-prefixed message. The receiver of OnFrame owns a reference and releases it on the same loop.
type Frame struct {
	B   []byte     // the body, without the four bytes of length; a slice of Buf
	Buf *arena.Buf // many small frames share one
}

const (
	headerBytes = 4
	// reserveAt is how many bytes of a frame must have come before memory for all of it is taken; until then its buffer grows with it.
	// With it, what the connection itself takes stays below 64 KiB until then.
	reserveAt = 56 << 10
	// firstGrow is the smallest buffer of a frame that has begun.
	firstGrow = 4 << 10
	// minRoom is the room below which a new read block is taken.
	minRoom = 16 << 10
	// blockAlign keeps frames of one block on cache lines of their own at each read.
	blockAlign = 64
	// keepCopy: what a paused connection had already read is copied out of the shared block up to this size.
	keepCopy = 64 << 10
	poison   = 0xDB
)

// part is a frame that has begun and not ended. With buf nil only (some of) its length has come, and lies in hdr.
type part struct {
	buf      *arena.Buf // len(buf.B) is how far it may be filled: size, or a step of growth below it
	size     int
	got      int
	reserved bool
	hdr      [headerBytes]byte
	hdrLen   uint8
}

// left is what was read and not yet parsed when a connection was paused.
type left struct {
	buf     *arena.Buf
	at, end int
}

// readable reads and parses until the socket is drained or the connection has had its share of this turn.
func (c *Conn) readable(toEnd bool) {
	c.readAll(toEnd)
	if ack := c.net.o.QuickAck; ack != QuickAckKernel && !c.closed {
		sysQuickAck(c.fd, ack == QuickAckOn)
	}
}

func (c *Conn) readAll(toEnd bool) {
	for budget := c.net.o.ReadPerTurn; budget > 0 && c.mayRead(); {
		first, rest, ok := c.target()
		if !ok {
			return
		}
		asked := len(first) + len(rest)
		got, err := sysRead(c.fd, first, rest)
		c.net.Stats.Reads++
		if err != nil {
			if !isAgain(err) {
				c.peerGone(err)
			}
			return
		}
		if got == 0 {
			c.peerGone(c.endOfStream())
			return
		}
		c.net.Stats.BytesIn += uint64(got)
		c.lastRead = c.net.now
		c.took(got, len(first))
		c.setLowWater()
		budget -= got
		// A short read has emptied the socket: asking again would only say EAGAIN.
		if got < asked && !toEnd {
			return
		}
	}
}

// setLowWater keeps the kernel from announcing a large frame piece by piece: the loop is woken once for each LowWater bytes of its rest.
func (c *Conn) setLowWater() {
	most := c.net.o.LowWater
	if most <= 0 || c.closed {
		return
	}
	mark := 1
	if p := &c.part; p.buf != nil && len(p.buf.B) == p.size {
		mark = max(1, min(p.size-p.got, most))
	}
	if mark == max(1, c.lowWater) || mark > 1 && mark < most/4 && c.lowWater <= 1 {
		return // unchanged, or too little to be worth the calls
	}
	if sysLowWater(c.fd, mark) == nil {
		c.lowWater = mark
	}
}

// target says where the next bytes go: the rest of a begun frame, and behind it the shared block.
func (c *Conn) target() (first, rest []byte, ok bool) {
	n := c.net
	if c.part.buf != nil {
		first = c.part.buf.B[c.part.got:]
		if len(c.part.buf.B) < c.part.size {
			return first, nil, true
		}
	}
	if !n.room() {
		c.Close(ErrNoMemory)
		return nil, nil, false
	}
	front := copy(n.block.B[n.pos:], c.part.hdr[:c.part.hdrLen])
	end := len(n.block.B)
	if !c.proven || c.big {
		// A stranger, or one whose next frame is likely to be large and would be copied out of the block.
		end = min(end, n.pos+front+reserveAt+headerBytes)
	}
	return first, n.block.B[n.pos+front : end], true
}

// took accounts for got bytes that were read into the target.
func (c *Conn) took(got, first int) {
	n := c.net
	k := min(got, first)
	if k > 0 {
		c.part.got += k
		if c.part.got == c.part.size {
			c.deliverPart()
		} else if c.part.got == len(c.part.buf.B) {
			c.growPart()
		}
	}
	if got > k {
		end := n.pos + int(c.part.hdrLen) + got - k
		at := n.pos
		c.part.hdrLen = 0
		n.settle(c.parse(n.block, at, end))
	}
}

// parse hands over the whole frames in buf.B[at:end] and keeps the rest with the connection. It returns the end of the last byte that
// somebody else holds on to, or at.
func (c *Conn) parse(buf *arena.Buf, at, end int) (held int) {
	held = at
	for at < end && !c.closed {
		if c.raw {
			return held
		}
		if !c.mayRead() {
			return c.keep(buf, at, end, held)
		}
		b := buf.B[at:end]
		if len(b) < headerBytes {
			c.part.hdrLen = uint8(copy(c.part.hdr[:], b))
			return held
		}
		if c.sniff {
			c.sniff = false
			if c.net.h.OnRaw(c, b[:headerBytes]) {
				c.raw = true
				return held
			}
			if c.closed {
				return held
			}
		}
		size := int(int32(binary.BigEndian.Uint32(b)))
		if !c.sizeAllowed(size) {
			return held
		}
		if len(b)-headerBytes < size {
			c.beginPart(size, b)
			return held
		}
		at += headerBytes
		buf.Retain()
		held = at + size
		c.deliver(Frame{B: buf.B[at:held:held], Buf: buf})
		at = held
	}
	return held
}

func (c *Conn) sizeAllowed(size int) bool {
	switch {
	case size < 0:
		c.Close(ErrFrameNegative)
	case size > int(c.maxFrame):
		c.Close(ErrFrameTooLarge)
	default:
		return true
	}
	return false
}

// keep holds on to frames that were read before the connection was paused.
func (c *Conn) keep(buf *arena.Buf, at, end, held int) int {
	if end-at <= keepCopy {
		if own := c.net.arena.Get(end - at); own != nil {
			c.net.Stats.Copied += uint64(copy(own.B, buf.B[at:end]))
			c.left = left{buf: own, end: end - at}
			return held
		}
	}
	buf.Retain()
	c.left = left{buf: buf, at: at, end: end}
	return end
}

// parseLeft goes on with what keep held, once the connection may read again.
func (c *Conn) parseLeft() {
	l := c.left
	c.left = left{}
	c.parse(l.buf, l.at, l.end)
	l.buf.Release()
}

// beginPart keeps the beginning of a frame; b starts with its length.
func (c *Conn) beginPart(size int, b []byte) {
	p := &c.part
	body := b[headerBytes:]
	if len(body) == 0 {
		// Nothing but a promise: it costs nothing.
		p.hdrLen = uint8(copy(p.hdr[:], b))
		return
	}
	p.size, p.got = size, 0
	room := size
	if size > reserveAt {
		room = max(len(body), min(reserveAt, max(firstGrow, 2*len(body))))
		if len(body) >= reserveAt && c.reserve() {
			room = size
		}
	}
	p.buf = c.net.arena.Get(room)
	if p.buf == nil {
		c.unreserve()
		room = len(body)
		if p.buf = c.net.arena.Get(room); p.buf == nil {
			c.Close(ErrNoMemory)
			return
		}
	}
	p.got = copy(p.buf.B, body)
	c.net.Stats.Copied += uint64(p.got)
	if p.got == len(p.buf.B) {
		c.growPart()
	}
}

// growPart makes room for more of a frame whose buffer is full. Without memory the connection waits unread.
func (c *Conn) growPart() {
	p := &c.part
	room := min(reserveAt, 2*p.got)
	if p.size <= reserveAt {
		room = p.size
	} else if p.got >= reserveAt {
		if room = p.size; !p.reserved && !c.reserve() {
			c.starve()
			return
		}
	}
	next := c.net.arena.Get(room)
	if next == nil {
		c.unreserve()
		c.starve()
		return
	}
	c.net.Stats.Copied += uint64(copy(next.B, p.buf.B[:p.got]))
	p.buf.Release()
	p.buf = next
}

func (c *Conn) reserve() bool {
	c.part.reserved = c.net.o.Reserve(int64(c.part.size))
	return c.part.reserved
}

func (c *Conn) unreserve() {
	if c.part.reserved {
		c.part.reserved = false
		c.net.o.Unreserve(int64(c.part.size))
	}
}

// deliverPart hands over the frame that has just been completed, with the buffer that it alone uses.
func (c *Conn) deliverPart() {
	p := c.part
	c.unreserve()
	c.part = part{}
	c.deliver(Frame{B: p.buf.B[:p.size:p.size], Buf: p.buf})
}

func (c *Conn) deliver(f Frame) {
	c.proven = true
	c.big = len(f.B) > reserveAt
	c.net.Stats.Frames++
	c.net.h.OnFrame(c, f)
}

// dropInput gives back what was read of frames that will not be handed over.
func (c *Conn) dropInput() {
	c.unreserve()
	if c.part.buf != nil {
		c.part.buf.Release()
	}
	if c.left.buf != nil {
		c.left.buf.Release()
	}
	c.part, c.left = part{}, left{}
}

// room makes sure that the block can take a read.
func (n *Net) room() bool {
	if n.block != nil && len(n.block.B)-n.pos >= minRoom {
		return true
	}
	if n.block != nil {
		n.block.Release()
	}
	n.block, n.pos = n.arena.Get(n.o.BlockBytes), 0
	return n.block != nil
}

// settle moves the block's free part behind what somebody holds. With nobody holding any of it, it starts over, which keeps a busy
// loop on the same few cache lines.
func (n *Net) settle(held int) {
	if n.block.Refs() == 1 {
		invariant.Fill(n.block.B[:held], poison)
		n.pos = 0
		return
	}
	n.pos = min((held+blockAlign-1)&^(blockAlign-1), len(n.block.B))
}
