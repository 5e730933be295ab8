package netpoll

import (
	"io"
	"net/netip"

	"github.com/pelton-broker/pelton/internal/arena"
)

// Handler gets what happens on the connections of a loop, on its thread. Up-calls never nest, but for those of a Close from within one,
// which comes later in the same turn.
type Handler interface {
	// OnOpen: accepted, or the outgoing connection is established.
	OnOpen(c *Conn)
	// OnFrame: the receiver owns a reference to f.Buf.
	OnFrame(c *Conn, f Frame)
	// OnClose is called exactly once for every connection, also for Conn.Close and for an outgoing one that was never established.
	OnClose(c *Conn, cause error)
	// OnRaw gets the first four bytes when Options.Sniff is set; true means that the handler has dealt with the connection's input and
	// no frames will come of it.
	OnRaw(c *Conn, first []byte) bool
}

type connState uint8

const (
	connecting connState = iota
	open
)

// Conn is one connection. It belongs to its loop's thread.
type Conn struct {
	ID     uint64 // unique among the loops that have different Options.IDBase
	Remote netip.AddrPort
	User   any // the handler's

	// Listener is the number that AdoptFrom was given.
	Listener int

	net  *Net
	fd   int
	at   int // index in net.conns
	out  Chain
	part part
	left left
	// luggage is what was read and not handed over, while the connection is between two loops.
	luggage []byte
	zc      zeroCopy

	state      connState
	want       Event // what the poller was asked for
	maxFrame   int32
	paused     bool // by Pause
	choked     bool // too much output waits
	starved    bool // no memory for the frame that has begun
	blocked    bool // the send buffer is full
	frugal     bool // SetFrugal
	hupSeen    bool // the peer's close is known and unread bytes lie before it
	sniff      bool // the first bytes are still to be shown
	raw        bool // the handler took the input: what comes is dropped
	proven     bool // has sent a whole frame
	big        bool // its last frame was large
	touched    bool // in net.touched
	resumed    bool // in net.resumed
	closed     bool
	limited    bool  // holds a place in the limiter
	cause      error // why it was closed
	lowWater   int   // SO_RCVLOWAT as set last; 0 and 1 are the kernel's default
	closeCause error // close with this cause once everything is sent

	lastRead int64 // net.now when bytes last came
	lastSend int64 // net.now when bytes last went, or output began to wait
}

// Out is what the connection has to send.
func (c *Conn) Out() *Chain { return &c.out }

// OutBytes is what is queued and unsent.
func (c *Conn) OutBytes() int64 { return c.out.bytes }

// FD is the socket, for its options; it stays the Conn's.
func (c *Conn) FD() int { return c.fd }

// Closed is true from Close on, before OnClose was called.
func (c *Conn) Closed() bool { return c.closed }

// SetMaxFrame bounds the frames that come from now on.
func (c *Conn) SetMaxFrame(n int32) { c.maxFrame = min(max(n, 0), arena.MaxBuf) }

// Pause stops OnFrame, at once. A flag, not a count. The close of the peer is noticed all the same.
func (c *Conn) Pause() {
	if !c.paused {
		c.paused = true
		c.touch()
	}
}

// Resume undoes Pause; frames come again with the next turn.
func (c *Conn) Resume() {
	if c.paused {
		c.paused = false
		c.readAgain()
	}
}

// Paused says whether Pause is in force.
func (c *Conn) Paused() bool { return c.paused }

// readAgain schedules what was read before reading stopped, and asks for more.
func (c *Conn) readAgain() {
	if c.left.buf != nil && !c.resumed {
		c.resumed = true
		c.net.resumed = append(c.net.resumed, c)
	}
	c.touch()
}

// Close ends the connection; what is unsent is dropped. OnClose follows in the same turn, never from within Close. cause is handed to it.
func (c *Conn) Close(cause error) {
	if c.closed {
		return
	}
	if cause == nil {
		cause = ErrClosed
	}
	c.closed, c.cause = true, cause
	c.net.gone = append(c.net.gone, c)
}

// CloseAfterFlush closes once everything in the chain has been sent; no more frames come.
func (c *Conn) CloseAfterFlush(cause error) {
	if cause == nil {
		cause = ErrClosed
	}
	c.closeCause = cause
	c.paused = true
	c.touch()
}

func (c *Conn) mayRead() bool {
	return !c.paused && !c.choked && !c.starved && !c.closed && c.state == open
}

// touch puts the connection on the list of FlushOut.
func (c *Conn) touch() {
	if !c.touched && !c.closed {
		c.touched = true
		c.net.touched = append(c.net.touched, c)
	}
}

// touchOut is touch for a chain that grew.
func (c *Conn) touchOut() {
	if c.touched {
		return
	}
	if !c.blocked {
		c.lastSend = c.net.now
	}
	c.touch()
}

// flush sends what may go and brings the poller's interest up to date.
func (c *Conn) flush() {
	if !c.blocked {
		c.send()
	}
	if limit := c.net.o.MaxOut; limit > 0 && c.out.bytes > limit {
		c.choked = true
	}
	c.syncInterest()
}

// syncInterest tells the poller what matters now. It is called once per turn for a touched connection, so that a pause and a resume
// within a turn cost nothing.
func (c *Conn) syncInterest() {
	if c.closed {
		return
	}
	var want Event
	switch {
	case c.state == connecting:
		want = EventWrite
	default:
		if !c.hupSeen {
			want |= EventPeerClosed
		}
		if c.mayRead() && c.left.buf == nil {
			want |= EventRead | EventPeerClosed
		}
		if c.blocked {
			want |= EventWrite
		}
	}
	if want == c.want {
		return
	}
	c.want = want
	c.net.Stats.Mods++
	if err := c.net.poller.Mod(c.fd, want); err != nil {
		c.Close(err)
	}
}

// event is what the poller reports.
func (c *Conn) event(ev Event) {
	if c.closed {
		return
	}
	if c.state == connecting {
		c.connected(ev)
		return
	}
	if ev&EventWrite != 0 && c.blocked {
		c.blocked = false
		c.flush()
	}
	if ev&EventError != 0 && !c.errorIsNews() {
		ev &^= EventError
	}
	gone := ev & (EventPeerClosed | EventError)
	switch {
	case c.closed:
	case c.mayRead() && c.left.buf == nil:
		if ev&EventRead != 0 || gone != 0 {
			c.readable(gone != 0)
		}
	case ev&EventError != 0:
		// Broken both ways: nothing can be answered, and reading on could only add work that nobody waits for.
		if err := sysSocketError(c.fd); err != nil {
			c.Close(err)
		} else {
			c.Close(io.EOF)
		}
	case ev&EventPeerClosed != 0 && !c.hupSeen:
		c.peerClosedUnread()
	}
}

// peerClosedUnread: the peer closed while the connection is not read. With nothing unread before the close it is over now, not when
// the answer that it waits for is ready; otherwise the bytes come first.
func (c *Conn) peerClosedUnread() {
	if c.left.buf == nil && sysUnread(c.fd) == 0 {
		c.peerGone(c.endOfStream())
		return
	}
	c.hupSeen = true
	c.touch()
}

// peerGone closes after a last attempt to send: a peer that closed its sending half may still read.
func (c *Conn) peerGone(err error) {
	if !c.blocked && !c.closed {
		c.send()
	}
	c.Close(err)
}

// endOfStream is the cause of a peer's close: unexpected in the middle of a frame.
func (c *Conn) endOfStream() error {
	if c.part.buf != nil || c.part.hdrLen > 0 {
		return io.ErrUnexpectedEOF
	}
	return io.EOF
}

// starve leaves the connection unread until there is memory for its frame.
func (c *Conn) starve() {
	c.starved = true
	c.net.Stats.Starved++
	c.net.starved = append(c.net.starved, c)
	c.touch()
}

// finish ends a closed connection.
func (c *Conn) finish() {
	n := c.net
	n.forget(c)
	if !c.zc.on || !n.linger(c) {
		sysClose(c.fd)
	}
	c.fd = -1
	c.dropInput()
	c.out.dropAll()
	if c.limited && n.o.Limiter != nil {
		n.o.Limiter.Give(c.Remote.Addr())
	}
	n.h.OnClose(c, c.cause)
}

// overdue is the limit that the connection has passed at now, or nil.
func (c *Conn) overdue(now int64) error {
	o := &c.net.o
	begun := c.part.buf != nil || c.part.hdrLen > 0
	switch {
	case c.state == connecting:
		if o.ConnectNs > 0 && now-c.lastRead >= o.ConnectNs {
			return ErrConnectTimeout
		}
	case !c.out.empty():
		if o.SlowNs > 0 && now-c.lastSend >= o.SlowNs {
			return ErrSlowReader
		}
	case begun && c.mayRead():
		if o.FrameNs > 0 && now-c.lastRead >= o.FrameNs {
			return ErrFrameStalled
		}
	case o.IdleNs > 0 && now-max(c.lastRead, c.lastSend) >= o.IdleNs:
		return ErrIdle
	}
	return nil
}
