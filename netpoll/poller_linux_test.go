package netpoll

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// suite is a poller with the events of its last turn.
type suite struct {
	t   *testing.T
	p   Poller
	got map[int]Event
}

func openSuite(t *testing.T, name string) *suite {
	s := &suite{t: t, got: map[int]Event{}}
	p, err := OpenPoller(name, 0, func(fd int, ev Event) { s.got[fd] |= ev })
	if err != nil {
		t.Fatal(err)
	}
	s.p = p
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// turn returns what was reported.
func (s *suite) turn(timeoutNs int64) map[int]Event {
	s.t.Helper()
	clear(s.got)
	if err := s.p.Wait(timeoutNs); err != nil {
		s.t.Fatal(err)
	}
	if err := s.p.Dispatch(); err != nil {
		s.t.Fatal(err)
	}
	return s.got
}

func (s *suite) pair() (a, b int) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	return fds[0], fds[1]
}

func (s *suite) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestPollerSuite(t *testing.T) {
	bothPollers(t, func(t *testing.T, name string) {
		t.Run("nothing-ready", func(t *testing.T) {
			s := openSuite(t, name)
			for _, ns := range []int64{0, 1, 999, 1_000_000, 0, 1_500_000} {
				if got := s.turn(ns); len(got) != 0 {
					t.Fatalf("events %v", got)
				}
			}
		})
		t.Run("read-then-drained", func(t *testing.T) {
			s := openSuite(t, name)
			a, b := s.pair()
			s.must(s.p.Add(a, EventRead|EventPeerClosed))
			if got := s.turn(0); got[a] != 0 {
				t.Fatalf("events %v before there is something", got)
			}
			writeAll(t, b, []byte("x"))
			for range 3 { // level-triggered: it is reported until it is read
				if got := s.turn(-1); got[a]&EventRead == 0 {
					t.Fatalf("events %v", got)
				}
			}
			unix.Read(a, make([]byte, 1))
			if got := s.turn(1_000_000); got[a] != 0 {
				t.Fatalf("events %v after it was read", got)
			}
		})
		t.Run("write-when-there-is-room", func(t *testing.T) {
			s := openSuite(t, name)
			a, b := s.pair()
			big := make([]byte, 8<<20)
			n, _ := unix.Write(a, big)
			s.must(s.p.Add(a, EventRead|EventPeerClosed))
			s.must(s.p.Mod(a, EventRead|EventWrite|EventPeerClosed))
			if got := s.turn(0); got[a]&EventWrite != 0 {
				t.Fatal("writable while full")
			}
			for n > 0 {
				m, _ := unix.Read(b, big[:n])
				n -= m
			}
			if got := s.turn(-1); got[a]&EventWrite == 0 {
				t.Fatalf("events %v", got)
			}
			s.must(s.p.Mod(a, EventRead|EventPeerClosed))
			if got := s.turn(0); got[a] != 0 {
				t.Fatalf("events %v after the interest was dropped", got)
			}
		})
		t.Run("peer-closed-while-not-reading", func(t *testing.T) {
			s := openSuite(t, name)
			a, b := s.pair()
			s.must(s.p.Add(a, EventRead|EventPeerClosed))
			s.must(s.p.Mod(a, EventPeerClosed))
			s.turn(0)
			unix.Shutdown(b, unix.SHUT_WR)
			if got := s.turn(-1); got[a]&EventPeerClosed == 0 {
				t.Fatalf("events %v", got)
			}
		})
		t.Run("deleted", func(t *testing.T) {
			s := openSuite(t, name)
			a, b := s.pair()
			s.must(s.p.Add(a, EventRead))
			writeAll(t, b, []byte("x"))
			s.must(s.p.Del(a))
			if got := s.turn(0); len(got) != 0 {
				t.Fatalf("events %v", got)
			}
		})
		t.Run("many-at-once", func(t *testing.T) {
			s := openSuite(t, name)
			want := map[int]bool{}
			for range 300 {
				a, b := s.pair()
				s.must(s.p.Add(a, EventRead))
				writeAll(t, b, []byte("x"))
				want[a] = true
			}
			for range 20 {
				for fd := range s.turn(0) {
					delete(want, fd)
				}
			}
			if len(want) != 0 {
				t.Fatalf("%d descriptors were never reported", len(want))
			}
		})
		t.Run("woken-from-other-threads", func(t *testing.T) {
			s := openSuite(t, name)
			a, b := s.pair()
			s.must(s.p.Add(a, EventRead))
			for range 200 {
				go s.p.Wake()
				s.turn(-1)
			}
			// A wake before the wait counts too, and one together with an event loses neither.
			s.p.Wake()
			s.turn(-1)
			writeAll(t, b, []byte("x"))
			s.p.Wake()
			for s.turn(-1)[a] == 0 {
			}
			s.p.Wake()
			s.turn(-1)
		})
	})
}

// The loop locks its thread, and the gnet poller's coroutine has to stay on it.
func TestPollerOnALockedThread(t *testing.T) {
	bothPollers(t, func(t *testing.T, name string) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
			r := newRig(t, Options{Poller: name})
			peer, _ := r.unixPair()
			want := unix.Gettid()
			r.onFrame = func(_ *Conn, f Frame) {
				if tid := unix.Gettid(); tid != want {
					t.Errorf("up-call on thread %d, the loop runs on %d", tid, want)
				}
				r.frames = append(r.frames, nil)
				f.Buf.Release()
			}
			for range 100 {
				writeAll(t, peer, frame([]byte("x")))
				r.turn(-1)
			}
			if len(r.frames) != 100 {
				t.Errorf("%d frames", len(r.frames))
			}
			r.n.Close()
		}()
		<-done
	})
}

func TestOpenPollerRefusesUnknownNames(t *testing.T) {
	if _, err := OpenPoller("kqueue", 0, nil); !errors.Is(err, ErrUnknownPoller) {
		t.Fatal(err)
	}
}

func TestPollerWithoutNanosecondWait(t *testing.T) {
	s := openSuite(t, PollerEpoll)
	s.p.(*epollPoller).noNs = true
	a, b := s.pair()
	s.must(s.p.Add(a, EventRead))
	s.turn(1)
	s.turn(1_000_001)
	writeAll(t, b, []byte("x"))
	if got := s.turn(-1); got[a] == 0 {
		t.Fatal("no event")
	}
}

// A nap hides the sleep from Go's scheduler; the collector must be able to end it all the same. This one would last an hour: a collection
// that waited for it would never end.
func TestPollerNapDoesNotHoldTheCollectorUp(t *testing.T) {
	stop, done := make(chan struct{}), make(chan uint64, 1)
	opened := make(chan *epollPoller, 1)
	go func() {
		runtime.LockOSThread()
		o, err := OpenPoller(PollerEpoll, maxNap, func(int, Event) {})
		if err != nil {
			t.Error(err)
			close(opened)
			return
		}
		p := o.(*epollPoller)
		p.napNs = int64(time.Hour)
		opened <- p
		for {
			select {
			case <-stop:
				done <- p.sleeps
				p.Close()
				return
			default:
				if err := p.Wait(-1); err != nil {
					t.Error(err)
				}
				p.Dispatch()
			}
		}
	}()
	p, ok := <-opened
	if !ok {
		return
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 50
	for range rounds {
		runtime.GC()
	}
	runtime.ReadMemStats(&after)
	close(stop)
	p.Wake()
	if sleeps := <-done; sleeps == 0 {
		t.Fatal("it never slept")
	}
	t.Logf("mean pause %d µs", int(after.PauseTotalNs-before.PauseTotalNs)/rounds/1000)
}

func TestPollerNoNapSleepsOnce(t *testing.T) {
	s := openSuite(t, PollerEpoll)
	s.p.NoNap()
	_, before := s.p.Waits()
	s.turn(3_000_000)
	if _, after := s.p.Waits(); after != before+1 {
		t.Fatalf("%d sleeps", after-before)
	}
	if s.p.(*epollPoller).noNap {
		t.Fatal("it holds for more than one wait")
	}
}

func BenchmarkTurn(b *testing.B) {
	for _, name := range []string{PollerEpoll, PollerGnet} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, Options{Poller: name})
			peer, _ := r.tcpPair(SocketOptions{})
			r.onFrame = func(c *Conn, f Frame) {
				copy(c.Out().Append(len(f.B)), f.B)
				f.Buf.Release()
			}
			ask, answer := frame(pattern(64, 1)), make([]byte, 64)
			b.ReportAllocs()
			for b.Loop() {
				writeAll(b, peer, ask)
				r.turn(-1)
				readFull(peer, answer)
			}
		})
	}
}
