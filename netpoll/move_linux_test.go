package netpoll

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// moved takes a connection from one loop to another.
func moved(t *testing.T, from, to *rig, c *Conn) {
	t.Helper()
	if !from.n.Detach(c) {
		t.Fatal("the connection was not let go")
	}
	to.n.Attach(c)
}

func eachPair(t *testing.T, o Options, fn func(t *testing.T, a, b *rig)) {
	bothPollers(t, func(t *testing.T, poller string) {
		o := o
		o.Poller = poller
		o.IDBase = 1 << 48
		a := newRig(t, o)
		o.IDBase = 2 << 48
		fn(t, a, newRig(t, o))
	})
}

// Wherever the stream is cut, the other loop goes on with the same byte.
func TestMoveCarriesWhatHasBegun(t *testing.T) {
	eachPair(t, Options{}, func(t *testing.T, a, b *rig) {
		bodies := [][]byte{pattern(9, 1), pattern(30_000, 2), pattern(70_000, 3), {}, pattern(200_000, 4)}
		var stream []byte
		for _, body := range bodies {
			stream = append(stream, frame(body)...)
		}
		for _, cut := range []int{0, 1, 3, 4, 5, 12, 13, 14, 17, 20_000, 30_017, 30_018, 60_000, 100_021, 100_022, 100_025, 110_000} {
			a.frames, b.frames = nil, nil
			peer, c := a.unixPair()
			writeAll(t, peer, stream[:cut])
			before := a.n.Stats.BytesIn
			a.until("the first part", func() bool { return int(a.n.Stats.BytesIn-before) == cut })
			id := c.ID
			moved(t, a, b, c)
			rest := stream[cut:]
			b.until("everything is read", func() bool {
				n, err := unix.SendmsgN(peer, rest[:min(len(rest), 32<<10)], nil, nil, unix.MSG_DONTWAIT)
				if err != nil && !errors.Is(err, unix.EAGAIN) {
					t.Fatal(err)
				}
				rest = rest[max(n, 0):]
				return len(rest) == 0
			})
			b.until("all frames", func() bool { return len(a.frames)+len(b.frames) == len(bodies) })
			for i, got := range append(a.frames, b.frames...) {
				if !bytes.Equal(got, bodies[i]) {
					t.Fatalf("cut at %d: frame %d has %d bytes, not those that were sent", cut, i, len(got))
				}
			}
			if c.ID != id {
				t.Fatal("the connection has another id")
			}
			c.Close(nil)
			b.turn(0)
			if _, ok := b.closed[c]; !ok || a.n.Conns()+b.n.Conns() != 0 {
				t.Fatal("the connection was not closed where it is")
			}
		}
		if len(a.closed) != 0 {
			t.Fatal("the loop that let it go was told of the close")
		}
	})
}

// Frames that were read and held back by a pause come once, in order, when the other loop resumes.
func TestMoveCarriesAPauseAndWhatItHoldsBack(t *testing.T) {
	eachPair(t, Options{}, func(t *testing.T, a, b *rig) {
		peer, c := a.unixPair()
		a.onFrame = func(c *Conn, f Frame) {
			a.frames = append(a.frames, bytes.Clone(f.B))
			f.Buf.Release()
			c.Pause()
		}
		var all []byte
		for i := range 50 {
			all = append(all, frame([]byte(fmt.Sprint(i)))...)
		}
		writeAll(t, peer, all[:len(all)-1])
		a.until("the first frame", func() bool { return len(a.frames) == 1 })
		moved(t, a, b, c)
		writeAll(t, peer, all[len(all)-1:])
		for range 5 {
			b.turn(0)
		}
		if len(b.frames) != 0 {
			t.Fatal("a paused connection was read")
		}
		c.Resume()
		b.until("the rest", func() bool { return len(b.frames) == 49 })
		for i, got := range b.frames {
			if string(got) != fmt.Sprint(i+1) {
				t.Fatalf("frame %d is %q", i+1, got)
			}
		}
	})
}

// The answer that is in the socket's buffer and the one of the new loop arrive in order; output that waits keeps a connection where it is.
func TestMoveWaitsForOutput(t *testing.T) {
	eachPair(t, Options{}, func(t *testing.T, a, b *rig) {
		peer, c := a.unixPair()
		copy(c.Out().Append(3), "one")
		if a.n.Detach(c) {
			t.Fatal("a connection moved with output that had not left")
		}
		c.Flush()
		moved(t, a, b, c)
		copy(c.Out().Append(3), "two")
		b.turn(0)
		got := make([]byte, 16)
		if n := readSome(t, peer, got); string(got[:n]) != "onetwo" {
			t.Fatalf("the peer got %q", got[:n])
		}
		big := make([]byte, 8<<20)
		c.Out().Borrow(big, nil)
		c.Flush()
		if c.OutBytes() == 0 || b.n.Detach(c) {
			t.Fatal("a connection moved whose socket is full")
		}
	})
}

func TestMoveIsRefusedWhileALargeFrameComes(t *testing.T) {
	reserved := int64(0)
	o := Options{Reserve: func(n int64) bool { reserved += n; return true }, Unreserve: func(n int64) { reserved -= n }}
	eachPair(t, o, func(t *testing.T, a, b *rig) {
		peer, c := a.unixPair()
		body := pattern(1<<20, 7)
		stream := frame(body)
		for sent := 0; sent < 200_000; sent += 50_000 {
			writeAll(t, peer, stream[sent:sent+50_000])
			a.until("it is read", func() bool { return c.part.got >= sent+50_000-headerBytes })
		}
		if a.n.Detach(c) || reserved == 0 {
			t.Fatal("a connection moved in the middle of a large frame")
		}
		for at := 200_000; at < len(stream); {
			n := min(len(stream)-at, 50_000)
			writeAll(t, peer, stream[at:at+n])
			at += n
			a.until("it is read", func() bool { return c.part.got >= at-headerBytes || len(a.frames) == 1 })
		}
		a.until("the frame", func() bool { return len(a.frames) == 1 })
		moved(t, a, b, c)
		if reserved != 0 {
			t.Fatal("memory of the frame was not given back")
		}
		a.frames = nil
	})
}

// A peer that closes while the connection is between two loops is noticed by the next; its place is given back once.
func TestMoveOfAConnectionThatItsPeerCloses(t *testing.T) {
	for _, unread := range []bool{false, true} {
		l := NewLimiter(10, 10, nil)
		eachPair(t, Options{Limiter: l}, func(t *testing.T, a, b *rig) {
			peer, c := a.tcpPair(SocketOptions{})
			if err := l.Take(c.Remote.Addr()); err != nil {
				t.Fatal(err)
			}
			if unread {
				writeAll(t, peer, frame([]byte("last words")))
			}
			if !a.n.Detach(c) {
				t.Fatal("the connection was not let go")
			}
			unix.Shutdown(peer, unix.SHUT_WR)
			b.n.Attach(c)
			b.until("the close", func() bool { return len(b.closed) == 1 })
			if !errors.Is(b.closed[c], io.EOF) || unread != (len(b.frames) == 1) || l.Open() != 0 || len(a.closed) != 0 {
				t.Fatalf("closed with %v, %d frames, %d places taken", b.closed[c], len(b.frames), l.Open())
			}
		})
	}
}

// A connection that nobody takes any more is ended by its carrier.
func TestMoveThatIsDropped(t *testing.T) {
	l := NewLimiter(10, 10, nil)
	a := newRig(t, Options{Limiter: l})
	before := openFDs(t)
	peer, c := a.unixPair()
	if err := l.Take(netip.MustParseAddr("192.0.2.1")); err != nil {
		t.Fatal(err)
	}
	writeAll(t, peer, []byte{0, 0})
	a.turn(0)
	if !a.n.Detach(c) {
		t.Fatal("the connection was not let go")
	}
	c.Drop(l)
	if l.Open() != 0 || openFDs(t) != before+1 || !c.Closed() { // the peer's
		t.Fatalf("%d places, %d descriptors more", l.Open(), openFDs(t)-before)
	}
	seesTheEnd(t, peer)
}

// seesTheEnd: the peer reads nothing but the end.
func seesTheEnd(t *testing.T, peer int) {
	t.Helper()
	var b [1]byte
	if n, err := unix.Read(peer, b[:]); n != 0 || err != nil && !errors.Is(err, unix.ECONNRESET) {
		t.Fatalf("the peer read %d bytes, %v", n, err)
	}
}

// Limits go by when bytes last came and went, whichever loop saw them.
func TestMoveKeepsTheIdleClock(t *testing.T) {
	eachPair(t, Options{IdleNs: 1000}, func(t *testing.T, a, b *rig) {
		_, c := a.unixPair()
		a.n.SetNow(600)
		b.n.SetNow(600)
		moved(t, a, b, c)
		b.n.Sweep(999)
		b.turn(0)
		if len(b.closed) != 0 {
			t.Fatal("closed before its time")
		}
		b.n.Sweep(1000)
		b.turn(0)
		if !errors.Is(b.closed[c], ErrIdle) {
			t.Fatalf("closed with %v", b.closed[c])
		}
	})
}
