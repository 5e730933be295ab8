package netpoll

import (
	"fmt"
	"net/netip"

	"github.com/pelton-broker/pelton/internal/arena"
	"github.com/pelton-broker/pelton/internal/invariant"
)

// Net is the connections of one loop thread.
//
// A turn is Wait, Dispatch, whatever the loop adds, FlushOut; Turn is the first two together.
type Net struct {
	// Stats are written by the loop's thread alone.
	Stats Stats

	o      Options
	arena  *arena.Arena
	h      Handler
	poller Poller

	conns   []*Conn // all that are open
	byFD    []*Conn // by descriptor
	watches []watch
	touched []*Conn // for FlushOut
	spare   []*Conn // the slice that touched had before
	resumed []*Conn // have frames that were read before a pause
	starved []*Conn // in the order in which they wait for memory
	gone    []*Conn // closed, OnClose still to come
	cursor  int     // where Sweep goes on

	block *arena.Buf // shared read block
	pos   int        // block.B[:pos] belongs to frames

	iov        [iovMax]iovec
	freeBlocks *outBlock
	keptBlocks int
	freeItems  [][]item
	sink       []byte
	bounce     *arena.Buf  // what spans are read into when they do not go by sendfile
	lingers    []lingering // sockets of closed connections that still send

	now    int64  // the caller's clock at the last SetNow or Sweep
	seq    uint64 // connections so far
	closed bool
}

// blocksKept bounds what drained chains leave for the next.
const blocksKept = 256

// sweepBatch bounds the connections that one Sweep looks at.
const sweepBatch = 1024

type watch struct {
	fd int
	fn func()
}

// Stats counts what a loop did.
type Stats struct {
	Accepted, Dialed, Closed uint64 // connections
	MovedIn, MovedOut        uint64 // connections that came from another loop, and went to one
	Frames                   uint64
	Reads, Sends, Sendfiles  uint64 // system calls
	Mods                     uint64 // changes of interest
	BytesIn, BytesOut        uint64
	OutOwned                 uint64 // bytes of Append
	OutBorrowed              uint64 // bytes of Borrow
	OutSpan                  uint64 // bytes that sendfile sent: never seen in user space
	Copied                   uint64 // bytes copied here: beginnings of frames that did not end with their read
	Corks                    uint64 // sends that were held together
	SpanCopied               uint64 // bytes of spans that were read to be sent from memory
	SpanReads                uint64 // system calls for that
	ZeroCopies               uint64 // sends by reference from memory
	ZeroCopiesCopied         uint64 // those that the kernel copied after all
	Starved                  uint64 // times that a frame had to wait for memory
	Overdue                  uint64 // connections closed by Sweep
}

// NewNet opens a poller. Buffers come from a.
func NewNet(o Options, a *arena.Arena, h Handler) (*Net, error) {
	o.setDefaults()
	if o.SendPath == SendZeroCopy {
		if err := o.ProbeZeroCopy(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoZeroCopy, err)
		}
	}
	n := &Net{o: o, arena: a, h: h}
	p, err := OpenPoller(o.Poller, o.NapNs, n.event)
	if err != nil {
		return nil, err
	}
	n.poller = p
	return n, nil
}

// SetNow is the caller's monotonic time for limits; coarse is good enough.
func (n *Net) SetNow(ns int64) { n.now = ns }

// Turn waits at most timeoutNs (0 does not sleep, less than 0 without end), reads what can be read and goes on with blocked sends.
// New output goes with FlushOut.
func (n *Net) Turn(timeoutNs int64) error {
	if err := n.Wait(timeoutNs); err != nil {
		return err
	}
	return n.Dispatch()
}

// Pending is true when the next turn has work that no descriptor announces.
func (n *Net) Pending() bool { return len(n.touched)+len(n.resumed)+len(n.gone) > 0 }

// Wait is the first half of Turn.
func (n *Net) Wait(timeoutNs int64) error {
	if n.Pending() {
		timeoutNs = 0
	}
	return n.poller.Wait(timeoutNs)
}

// Dispatch is the second half of Turn.
func (n *Net) Dispatch() error {
	for i := 0; i < len(n.resumed); i++ {
		c := n.resumed[i]
		n.resumed[i] = nil
		c.resumed = false
		if c.left.buf != nil && c.mayRead() {
			c.parseLeft()
			c.touch()
		}
	}
	n.resumed = n.resumed[:0]
	err := n.poller.Dispatch()
	n.reap()
	return err
}

// event is called by the poller.
func (n *Net) event(fd int, ev Event) {
	if fd < len(n.byFD) && n.byFD[fd] != nil {
		c := n.byFD[fd]
		c.event(ev)
		if n.o.Eager && !c.blocked {
			c.send()
		}
		return
	}
	for i := range n.watches {
		if n.watches[i].fd == fd {
			n.watches[i].fn()
			return
		}
	}
}

// FlushOut sends the chains of all connections that were touched since the last call; the end of a turn.
func (n *Net) FlushOut() {
	n.feedStarved()
	list := n.touched
	n.touched = n.spare[:0]
	for i, c := range list {
		list[i] = nil
		c.touched = false
		if !c.closed {
			c.flush()
		}
	}
	n.spare = list[:0]
	n.reap()
}

// feedStarved tries again for the frames that wait for memory, first come, first served: a small one does not overtake a large one for ever.
func (n *Net) feedStarved() {
	for len(n.starved) > 0 {
		c := n.starved[0]
		if !c.closed {
			c.starved = false
			waiting := len(n.starved)
			c.growPart()
			if len(n.starved) > waiting {
				n.starved = n.starved[:waiting] // still none: it keeps its place
				n.Stats.Starved--
				return
			}
			c.touch()
		}
		last := copy(n.starved, n.starved[1:])
		n.starved[last] = nil
		n.starved = n.starved[:last]
	}
}

// Wake ends the present or the next wait; from any thread.
func (n *Net) Wake() { n.poller.Wake() }

// NoNap is to be called when the turn has made a goroutine runnable: it waits in the queue of this thread's processor, and is taken
// from there sooner when the scheduler knows that the thread sleeps.
func (n *Net) NoNap() { n.poller.NoNap() }

// Watch calls fn in Dispatch while fd is readable; fn has to drain it.
func (n *Net) Watch(fd int, fn func()) error {
	n.watches = append(n.watches, watch{fd: fd, fn: fn})
	return n.poller.Add(fd, EventRead)
}

// Unwatch undoes Watch.
func (n *Net) Unwatch(fd int) error {
	for i := range n.watches {
		if n.watches[i].fd == fd {
			n.watches = append(n.watches[:i], n.watches[i+1:]...)
			return n.poller.Del(fd)
		}
	}
	return nil
}

// Ready is true when the last Wait has found something for Dispatch.
func (n *Net) Ready() bool { return n.poller.Ready() || n.Pending() }

// Adopt takes over an accepted, non-blocking socket.
func (n *Net) Adopt(fd int, remote netip.AddrPort) { n.AdoptFrom(fd, remote, 0) }

// AdoptFrom is Adopt with the number of its listener.
func (n *Net) AdoptFrom(fd int, remote netip.AddrPort, listener int) {
	c := n.newConn(fd, remote)
	c.Listener = listener
	c.state, c.want, c.limited = open, EventRead|EventPeerClosed, true
	c.sniff = n.o.Sniff
	n.Stats.Accepted++
	err := n.register(c)
	if err == nil {
		n.h.OnOpen(c)
		return
	}
	n.put(c)
	c.Close(err)
}

func (n *Net) newConn(fd int, remote netip.AddrPort) *Conn {
	n.seq++
	c := &Conn{ID: n.o.IDBase + n.seq, Remote: remote, net: n, fd: fd, lastRead: n.now, lastSend: n.now}
	c.SetMaxFrame(n.o.MaxFrame)
	c.out.c = c
	return c
}

func (n *Net) register(c *Conn) error {
	if err := n.poller.Add(c.fd, c.want); err != nil {
		return err
	}
	n.put(c)
	return nil
}

func (n *Net) put(c *Conn) {
	for c.fd >= len(n.byFD) {
		n.byFD = append(n.byFD, nil)
	}
	if n.byFD[c.fd] != nil {
		invariant.Broken("netpoll: descriptor is already a connection", c.fd, n.byFD[c.fd].ID)
	}
	n.byFD[c.fd] = c
	c.at = len(n.conns)
	n.conns = append(n.conns, c)
}

func (n *Net) forget(c *Conn) {
	n.unlist(c)
	n.Stats.Closed++
}

// unlist takes a connection out of the loop's tables.
func (n *Net) unlist(c *Conn) {
	n.byFD[c.fd] = nil
	last := len(n.conns) - 1
	n.conns[c.at] = n.conns[last]
	n.conns[c.at].at = c.at
	n.conns[last] = nil
	n.conns = n.conns[:last]
}

// reap ends the connections that were closed. Descriptors are closed only here, when no event of the batch is left that could
// belong to an old owner of the number.
func (n *Net) reap() {
	for i := 0; i < len(n.gone); i++ {
		c := n.gone[i]
		n.gone[i] = nil
		c.finish()
	}
	n.gone = n.gone[:0]
}

// Conns is the number of open connections.
func (n *Net) Conns() int { return len(n.conns) }

// Each calls fn for every open connection; fn may close it.
func (n *Net) Each(fn func(c *Conn)) {
	for _, c := range n.conns {
		if !c.closed {
			fn(c)
		}
	}
}

// Sweep closes connections that have passed a limit. It looks at a bounded number and goes on from there with the next call,
// so call it often: every 100 ms covers 10 000 connections in a second.
func (n *Net) Sweep(nowNs int64) {
	n.now = nowNs
	if len(n.lingers) > 0 {
		n.sweepLingers(false)
	}
	for range min(sweepBatch, len(n.conns)) {
		if n.cursor >= len(n.conns) {
			n.cursor = 0
		}
		c := n.conns[n.cursor]
		n.cursor++
		if c.closed {
			continue
		}
		if err := c.overdue(nowNs); err != nil {
			n.Stats.Overdue++
			c.Close(err)
		}
	}
}

// Waits counts the poller's system calls that could not sleep and those that could.
func (n *Net) Waits() (polls, sleeps uint64) { return n.poller.Waits() }

// Close closes all connections, with their OnClose, and the poller.
func (n *Net) Close() {
	if n.closed {
		return
	}
	n.closed = true
	for _, c := range n.conns {
		c.Close(ErrClosed)
	}
	n.reap()
	n.sweepLingers(true)
	if n.block != nil {
		n.block.Release()
		n.block = nil
	}
	if n.bounce != nil {
		n.bounce.Release()
		n.bounce = nil
	}
	_ = n.poller.Close()
}
