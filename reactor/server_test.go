package reactor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/netpoll"
)

// talk sends frames on conns connections at once and compares what comes back.
func talk(t *testing.T, addr string, conns, frames int, answer func(body []byte) []byte) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range conns {
		c := dial(t, addr)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range frames {
				body := bytes.Repeat([]byte(fmt.Sprintf("%d/%d ", i, n)), 1+(i*n)%900)
				if _, err := c.Write(frameOf(body)); err != nil {
					t.Error(err)
					return
				}
				got, err := readFrame(c)
				if err != nil || !bytes.Equal(got, answer(body)) {
					t.Errorf("connection %d frame %d: %v, %d bytes", i, n, err, len(got))
					return
				}
			}
		}()
	}
	wg.Wait()
}

func TestServerEchoesOnManyConnections(t *testing.T) {
	for _, poller := range []string{netpoll.PollerEpoll, netpoll.PollerGnet} {
		t.Run(poller, func(t *testing.T) {
			o := fakeOptions()
			o.Net.Poller, o.Pin = poller, true
			var closes atomic.Int32
			v, addr := serve(t, o, &hooks{frame: echoFrame, close: func(*Shard, *netpoll.Conn, error) { closes.Add(1) }})
			talk(t, addr, 100, 20, func(b []byte) []byte { return b })
			for _, s := range v.Shards() {
				if n := s.Conns(); n != 50 {
					t.Errorf("shard %d has %d of 100 connections", s.ID, n)
				}
			}
			v.Stop()
			if closes.Load() != 100 {
				t.Errorf("OnClose called %d times", closes.Load())
			}
		})
	}
}

// writer appends each frame to its shard's file and answers with the place once it is written.
type writer struct {
	file *disk.File
	end  int64
	free []*pending
}

type pending struct {
	op   disk.Op
	bufs [1][]byte
	conn *netpoll.Conn
	f    netpoll.Frame
}

func writerHooks(dir string, durable bool) *hooks {
	h := &hooks{}
	h.start = func(s *Shard) error {
		f, err := disk.OS().OpenFile(filepath.Join(dir, fmt.Sprint(s.ID)), os.O_RDWR|os.O_CREATE, 0o600)
		s.State = &writer{file: f}
		return err
	}
	h.frame = func(s *Shard, c *netpoll.Conn, f netpoll.Frame) {
		w := s.State.(*writer)
		var p *pending
		if n := len(w.free); n > 0 {
			p, w.free = w.free[n-1], w.free[:n-1]
		} else {
			p = &pending{}
		}
		p.conn, p.f, p.bufs[0] = c, f, f.B
		p.op = disk.Op{Kind: disk.Write, File: w.file, Bufs: p.bufs[:], Off: w.end, Durable: durable, Owner: p}
		w.end += int64(len(f.B))
		s.Disk.Submit(&p.op)
	}
	h.disk = func(s *Shard, op *disk.Op) {
		w := s.State.(*writer)
		p := op.Owner.(*pending)
		b := p.conn.Out().Append(16)
		binary.BigEndian.PutUint32(b, 12)
		binary.BigEndian.PutUint32(b[4:], uint32(s.ID))
		binary.BigEndian.PutUint64(b[8:], uint64(op.Off))
		if op.Err != nil {
			binary.BigEndian.PutUint64(b[8:], 1<<63)
		}
		p.f.Buf.Release()
		p.conn = nil
		w.free = append(w.free, p)
	}
	h.stop = func(s *Shard) {}
	return h
}

func TestServerWritesThenAcks(t *testing.T) {
	for _, backend := range []string{"auto", "uring", "portable"} {
		for _, durable := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s-durable-%v", backend, durable), func(t *testing.T) {
				dir := t.TempDir()
				v, addr := serve(t, Options{Shards: 2, Disk: disk.Options{Backend: backend}}, writerHooks(dir, durable))
				var mu sync.Mutex
				wrote := map[string][]byte{}
				var wg sync.WaitGroup
				for i := range 20 {
					c := dial(t, addr)
					wg.Add(1)
					go func() {
						defer wg.Done()
						for n := range 15 {
							body := bytes.Repeat([]byte(fmt.Sprintf("%d-%d;", i, n)), 1+i*n*20)
							if _, err := c.Write(frameOf(body)); err != nil {
								t.Error(err)
								return
							}
							ack, err := readFrame(c)
							if err != nil {
								t.Error(err)
								return
							}
							at := fmt.Sprint(binary.BigEndian.Uint32(ack), " ", binary.BigEndian.Uint64(ack[4:]))
							mu.Lock()
							wrote[at] = body
							mu.Unlock()
						}
					}()
				}
				wg.Wait()
				if len(wrote) != 300 {
					t.Fatalf("%d places", len(wrote))
				}
				for at, body := range wrote {
					var shard int
					var off int64
					fmt.Sscan(at, &shard, &off)
					got := make([]byte, len(body))
					if _, err := v.Shards()[shard].State.(*writer).file.ReadAt(got, off); err != nil || !bytes.Equal(got, body) {
						t.Fatalf("at %s: %v, or other bytes", at, err)
					}
				}
				v.Stop()
				for _, s := range v.Shards() {
					s.State.(*writer).file.Close()
				}
			})
		}
	}
}

func TestServerTurnIsOneReadOneWriteOneSleep(t *testing.T) {
	v, addr := serve(t, Options{Shards: 1, OpenDisk: openFake}, &hooks{frame: echoFrame})
	c := dial(t, addr)
	ask := frameOf([]byte("ping"))
	round := func() {
		c.Write(ask)
		if _, err := readFrame(c); err != nil {
			t.Fatal(err)
		}
	}
	round()
	var before, after Stats
	onShard(v.Shards()[0], func(s *Shard) { before = s.Counters() })
	const rounds = 100
	for range rounds {
		round()
	}
	onShard(v.Shards()[0], func(s *Shard) { after = s.Counters() })
	reads, sends := after.Net.Reads-before.Net.Reads, after.Net.Sends-before.Net.Sends
	turns, polls, sleeps := after.Turns-before.Turns, after.Polls-before.Polls, after.Sleeps-before.Sleeps
	// The post of the measurement itself and the second's housekeeping are turns too, and so is the end of a nap in which a slow peer sent nothing: a sleep follows it.
	if reads != rounds || sends != rounds || turns > rounds+sleeps+5 || polls > turns+1 || sleeps > turns+1 {
		t.Fatalf("%d frames: %d reads, %d sends, %d turns, %d polls, %d sleeps", rounds, reads, sends, turns, polls, sleeps)
	}
}

func TestServerStartFailsWithTheShardsError(t *testing.T) {
	broken := errors.New("no disk today")
	v := New(fakeOptions(), &hooks{start: func(s *Shard) error {
		if s.ID == 1 {
			return broken
		}
		return nil
	}})
	if err := v.Start(); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	v = New(Options{Shards: 2, OpenDisk: func(i int) (disk.Disk, error) { return nil, broken }}, &hooks{})
	if err := v.Start(); !errors.Is(err, broken) {
		t.Fatal(err)
	}
}

func TestServerStopLetsMailArrive(t *testing.T) {
	for range 20 {
		var left atomic.Int64
		left.Store(2 * 50)
		done := make(chan struct{})
		h := &hooks{}
		v := New(Options{Shards: 2, OpenDisk: openFake, MailSlots: 2}, h)
		h.stop = func(s *Shard) {
			for range 50 {
				b := &ball{hops: 40, pairs: v.Shards(), left: &left, done: done}
				b.in.Add(1)
				s.Send(v.Shards()[1-s.ID], b)
			}
		}
		if err := v.Start(); err != nil {
			t.Fatal(err)
		}
		v.Stop()
		select {
		case <-done:
		default:
			t.Fatalf("%d messages were lost in the stop", left.Load())
		}
		v.Stop()
		v.Shards()[0].Post(&call{fn: func(*Shard) { t.Error("delivered after the stop") }})
	}
}

func TestServerStopCompletesWhatIsOnDisk(t *testing.T) {
	dir := t.TempDir()
	h := writerHooks(dir, true)
	var acked atomic.Int32
	inner := h.disk
	h.disk = func(s *Shard, op *disk.Op) { acked.Add(1); inner(s, op) }
	got := make(chan struct{})
	frame := h.frame
	var once sync.Once
	h.frame = func(s *Shard, c *netpoll.Conn, f netpoll.Frame) { frame(s, c, f); once.Do(func() { close(got) }) }
	v, addr := serve(t, Options{Shards: 2}, h)
	c := dial(t, addr)
	c.Write(frameOf([]byte("durable")))
	<-got
	v.Stop()
	if acked.Load() != 1 {
		t.Fatalf("%d completions were handed over", acked.Load())
	}
	for _, s := range v.Shards() {
		s.State.(*writer).file.Close()
	}
}

func TestServerTimersFire(t *testing.T) {
	v, _ := serve(t, fakeOptions(), &hooks{})
	var timers [2]Timer
	fired := make(chan int, 2)
	for i, s := range v.Shards() {
		timers[i].Fire = func(s *Shard) { fired <- s.ID }
		onShard(s, func(s *Shard) { s.Arm(&timers[i], int64(3*time.Millisecond)) })
	}
	if <-fired+<-fired != 1 {
		t.Fatal("not both shards")
	}
}

func TestServerTellsOfSlowTurns(t *testing.T) {
	clk := clock.NewManual(1000)
	slow := make(chan SlowTurn, 10)
	o := fakeOptions()
	o.Clock, o.SlowTurnNs, o.OnSlowTurn = clk, int64(time.Second), func(s SlowTurn) { slow <- s }
	v, _ := serve(t, o, &hooks{})
	onShard(v.Shards()[1], func(*Shard) { clk.Advance(900 * time.Millisecond) })
	onShard(v.Shards()[1], func(*Shard) { clk.Advance(1100 * time.Millisecond) })
	got := <-slow
	if got.Shard != 1 || got.TookNs != int64(1100*time.Millisecond) || !strings.Contains(string(got.Stack), "reactor.(*Shard).turn") {
		t.Fatalf("%+v\n%s", got, got.Stack)
	}
}

// lazyHandler stands for code that takes its time.
//
//go:noinline
func lazyHandler(stop chan struct{}) { <-stop }

func TestServerShowsWhereASlowTurnIs(t *testing.T) {
	slow := make(chan SlowTurn, 10)
	o := fakeOptions()
	o.SlowTurnNs, o.OnSlowTurn = int64(time.Millisecond), func(s SlowTurn) {
		if bytes.Contains(s.Stack, []byte("lazyHandler")) {
			select {
			case slow <- s:
			default:
			}
		}
	}
	v, _ := serve(t, o, &hooks{})
	stop := make(chan struct{})
	s := v.Shards()[0]
	go onShard(s, func(*Shard) { lazyHandler(stop) })
	for s.slow.stack.Load() == nil { // the watch has been
		runtime.Gosched()
	}
	close(stop)
	if got := <-slow; got.Shard != 0 {
		t.Fatalf("%+v", got)
	}
}

func TestServerSpinsOnlyWhenAsked(t *testing.T) {
	o := fakeOptions()
	o.SpinNs = int64(50 * time.Microsecond)
	v, addr := serve(t, o, &hooks{frame: echoFrame})
	talk(t, addr, 4, 50, func(b []byte) []byte { return b })
	var spun, rest Stats
	onShard(v.Shards()[0], func(s *Shard) { spun = s.Counters() })
	v, addr = serve(t, fakeOptions(), &hooks{frame: echoFrame})
	talk(t, addr, 4, 50, func(b []byte) []byte { return b })
	onShard(v.Shards()[0], func(s *Shard) { rest = s.Counters() })
	if spun.Polls < spun.Turns*2 || rest.Polls > rest.Turns+1 {
		t.Fatalf("polls per turn: %d/%d with spinning, %d/%d without", spun.Polls, spun.Turns, rest.Polls, rest.Turns)
	}
}

func TestServerClosesIdleConnections(t *testing.T) {
	clk := clock.NewManual(1000)
	o := fakeOptions()
	o.Clock, o.Net.IdleNs = clk, int64(10*time.Minute)
	causes := make(chan error, 1)
	v, addr := serve(t, o, &hooks{frame: echoFrame, close: func(_ *Shard, _ *netpoll.Conn, cause error) {
		select {
		case causes <- cause:
		default:
		}
	}})
	c := dial(t, addr)
	c.Write(frameOf([]byte("hello")))
	readFrame(c)
	clk.Advance(10*time.Minute + 2*time.Second)
	for _, s := range v.Shards() {
		onShard(s, func(*Shard) {}) // its loop sleeps by the real clock's idea of the manual time
	}
	if _, err := readFrame(c); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if cause := <-causes; !errors.Is(cause, netpoll.ErrIdle) {
		t.Fatal(cause)
	}
}

// A chain of completions that is longer than a turn has passes goes on with the next turn, not after the next timer.
func TestServerLongChainsOfCompletionsDoNotSleep(t *testing.T) {
	dir := t.TempDir()
	const writes = 3*passes + 1
	slept := make(chan uint64, 1)
	type chain struct {
		op     disk.Op
		left   int
		ready  bool
		sleeps uint64
	}
	begin := messageFunc(func(s *Shard) {
		f, err := disk.OS().OpenFile(filepath.Join(dir, "chain"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Error(err)
			slept <- 0
			return
		}
		s.State = &chain{op: disk.Op{Kind: disk.Write, File: f, Bufs: [][]byte{make([]byte, 100)}}, left: writes, ready: true, sleeps: s.Counters().Sleeps}
	})
	h := &hooks{
		turn: func(s *Shard) {
			if c, ok := s.State.(*chain); ok && c.ready {
				c.ready = false
				s.Disk.Submit(&c.op)
			}
		},
		disk: func(s *Shard, _ *disk.Op) {
			c := s.State.(*chain)
			if c.left--; c.left > 0 {
				c.ready = true
				return
			}
			_ = c.op.File.Close()
			slept <- s.Counters().Sleeps - c.sleeps
		},
	}
	v := New(Options{Shards: 1, Disk: disk.Options{Backend: "auto"}}, h)
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	defer v.Stop()
	v.Shards()[0].Post(begin)
	if n := <-slept; n != 0 {
		t.Fatalf("the shard slept %d times between completions", n)
	}
}

type messageFunc func(s *Shard)

// Deliver implements Message.
func (m messageFunc) Deliver(s *Shard) { m(s) }
