package reactor

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pelton-broker/pelton/netpoll"
)

// movers are hooks that echo and send every connection to the next shard after some of its frames, however much is under way.
type movers struct {
	hooks
	every int

	moves  atomic.Int64
	opens  atomic.Int64
	closes atomic.Int64
}

// moverState is what a host keeps of a connection: it belongs to the shard that has the connection.
type moverState struct {
	shard  *Shard
	frames int
	next   uint32
	listed bool // in its shard's list
}

func (m *movers) OnOpen(s *Shard, c *netpoll.Conn) {
	m.opens.Add(1)
	c.User = &moverState{shard: s}
}

func (m *movers) OnFrame(s *Shard, c *netpoll.Conn, f netpoll.Frame) {
	st := c.User.(*moverState)
	if st.shard != s {
		panic("a frame came on a shard that has not got the connection")
	}
	if n := binary.BigEndian.Uint32(f.B); n != st.next {
		panic(fmt.Sprintf("frame %d where %d was due", n, st.next))
	}
	st.next++
	echoFrame(s, c, f)
	if st.frames++; st.frames%m.every == 0 && !st.listed {
		st.listed = true
		shardOf(s).due = append(shardOf(s).due, c)
	}
}

func (m *movers) OnClose(s *Shard, c *netpoll.Conn, _ error) {
	if c.User.(*moverState).shard != s {
		panic("a close came on a shard that has not got the connection")
	}
	m.closes.Add(1)
}

// moverShard is one shard's connections that want to go.
type moverShard struct{ due []*netpoll.Conn }

func shardOf(s *Shard) *moverShard { return s.State.(*moverShard) }

func (m *movers) OnStart(s *Shard) error {
	s.State = &moverShard{}
	return nil
}

func (m *movers) OnTurn(s *Shard) {
	due := shardOf(s).due
	shardOf(s).due = nil
	for _, c := range due {
		if c.Closed() {
			continue
		}
		c.Flush()
		st := c.User.(*moverState)
		st.listed = false
		if !s.MoveConn(c, s.Shards()[(s.ID+1)%len(s.Shards())], c.User) {
			st.listed = true
			shardOf(s).due = append(shardOf(s).due, c)
			continue
		}
		m.moves.Add(1)
	}
}

func (m *movers) OnArrive(s *Shard, c *netpoll.Conn, with any) {
	if c.User != with {
		panic("the luggage is another connection's")
	}
	with.(*moverState).shard = s
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// pipeline sends frames without waiting for answers and reads those; each carries its number.
func pipeline(c net.Conn, frames int, body func(i int) int) error {
	sent := make(chan error, 1)
	go func() {
		w := bufio.NewWriterSize(c, 3000)
		for i := range frames {
			b := make([]byte, 8+body(i))
			binary.BigEndian.PutUint32(b, uint32(len(b)-4))
			binary.BigEndian.PutUint32(b[4:], uint32(i))
			if _, err := w.Write(b); err != nil {
				sent <- err
				return
			}
		}
		sent <- w.Flush()
	}()
	r := bufio.NewReader(c)
	for i := range frames {
		got, err := readFrame(r)
		if err != nil {
			return fmt.Errorf("answer %d: %w", i, err)
		}
		if n := binary.BigEndian.Uint32(got); n != uint32(i) || len(got) != 4+body(i) {
			return fmt.Errorf("answer %d of %d bytes where %d of %d was due", n, len(got), i, 4+body(i))
		}
	}
	return <-sent
}

// No answer is lost, repeated or out of order while connections go round the shards all the time; every place is given back.
func TestMoveUnderLoad(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("connections move on Linux only")
	}
	for _, poller := range []string{netpoll.PollerEpoll, netpoll.PollerGnet} {
		t.Run(poller, func(t *testing.T) {
			before := descriptors(t)
			o := fakeOptions()
			o.Shards, o.Net.Poller, o.MailSlots = 3, poller, 2
			limiter := netpoll.NewLimiter(1000, 1000, nil)
			o.Net.Limiter = limiter
			m := &movers{every: 7}
			v, addr := serveMovers(t, o, m, limiter)
			const conns, frames = 60, 400
			var wg sync.WaitGroup
			for i := range conns {
				c := dial(t, addr)
				wg.Add(1)
				go func() {
					defer wg.Done()
					if err := pipeline(c, frames, func(n int) int { return (n*n*131 + i) % 900 }); err != nil {
						t.Errorf("connection %d: %v", i, err)
					}
				}()
			}
			wg.Wait()
			total := 0
			for tries := 0; total != conns && tries < 10_000; tries++ { // the last may still be on their way
				total = 0
				for _, s := range v.Shards() {
					onShard(s, func(s *Shard) { total += s.Net.Conns() })
				}
			}
			if total != conns || limiter.Open() != conns || m.closes.Load() != 0 {
				t.Errorf("%d connections, %d places, %d closes", total, limiter.Open(), m.closes.Load())
			}
			if m.moves.Load() < conns {
				t.Errorf("only %d moves", m.moves.Load())
			}
			v.Stop()
			in, out := uint64(0), uint64(0)
			for _, s := range v.Shards() {
				in, out = in+s.Stats().Net.MovedIn, out+s.Stats().Net.MovedOut
			}
			if in != out || in != uint64(m.moves.Load()) || m.opens.Load() != conns || m.closes.Load() != conns || limiter.Open() != 0 {
				t.Errorf("%d came, %d went, %d moves, %d opens, %d closes, %d places", in, out, m.moves.Load(), m.opens.Load(), m.closes.Load(), limiter.Open())
			}
			if n := descriptors(t); n > before+2*conns { // the clients' ends are closed with the test
				t.Errorf("%d descriptors more", n-before)
			}
		})
	}
}

// serveMovers is serve for hooks whose connections move, with a limiter at its door.
func serveMovers(t *testing.T, o Options, h Hooks, limiter *netpoll.Limiter) (*Server, string) {
	t.Helper()
	v := New(o, h)
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Stop)
	l, err := netpoll.Listen("127.0.0.1:0", netpoll.ListenOptions{Limiter: limiter})
	if err != nil {
		t.Fatal(err)
	}
	v.Serve(l)
	return v, l.Addr().String()
}

// Clients that vanish, and a server that stops, while connections are on their way leave nothing behind.
func TestMoveAndClose(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("connections move on Linux only")
	}
	before := descriptors(t)
	for round := range 4 {
		o := fakeOptions()
		o.MailSlots = 2
		limiter := netpoll.NewLimiter(1000, 1000, nil)
		o.Net.Limiter = limiter
		m := &movers{every: 1}
		v, addr := serveMovers(t, o, m, limiter)
		var wg sync.WaitGroup
		started := make(chan struct{}, 16)
		for i := range 16 {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			wg.Add(1)
			go func() {
				defer wg.Done()
				defer c.Close()
				frames := 50 + i*7
				if i%2 == 0 {
					frames = 1 << 30 // until the server stops
				}
				var n atomic.Int64 // bodies that were made or looked at
				_ = pipeline(c, frames, func(int) int {
					switch at := n.Add(1); {
					case at == 20:
						started <- struct{}{}
					case i%4 == 1 && at == 90:
						c.Close() // in the middle
					}
					return 9000 + i // so that a turn of what has come is short
				})
			}()
		}
		for range 16 {
			<-started
		}
		v.Stop()
		wg.Wait()
		if limiter.Open() != 0 || m.opens.Load() != m.closes.Load() {
			t.Fatalf("round %d: %d places, %d opens, %d closes", round, limiter.Open(), m.opens.Load(), m.closes.Load())
		}
		for _, s := range v.Shards() {
			if s.Net.Conns() != 0 {
				t.Fatalf("round %d: shard %d has connections", round, s.ID)
			}
		}
	}
	runtime.GC()
	if n := descriptors(t); n > before {
		t.Errorf("%d descriptors more", n-before)
	}
}

// What was on its way when a loop had ended already is ended with it.
func TestMoveToALoopThatHasEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("connections move on Linux only")
	}
	limiter := netpoll.NewLimiter(10, 10, nil)
	o := fakeOptions()
	o.Net.Limiter = limiter
	m := &movers{every: 1 << 30}
	v, addr := serveMovers(t, o, m, limiter)
	c := dial(t, addr)
	if err := pipeline(c, 1, func(int) int { return 1 }); err != nil {
		t.Fatal(err)
	}
	var moved bool
	for _, s := range v.Shards() {
		onShard(s, func(s *Shard) {
			s.Net.Each(func(c *netpoll.Conn) {
				other := s.Shards()[1-s.ID]
				stays := &Shard{ID: other.ID, server: v, h: m} // nobody reads its mail
				stays.in = []*ring{newRing(2), newRing(2)}
				out := s.out[other.ID]
				s.out[other.ID] = outbox{to: stays, ring: stays.in[s.ID]}
				moved = s.MoveConn(c, stays, c.User)
				s.out[other.ID] = out
				stays.dropMoves()
			})
		})
	}
	if !moved || limiter.Open() != 0 {
		t.Fatalf("moved %v, %d places", moved, limiter.Open())
	}
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("the client read %v", err)
	}
}
