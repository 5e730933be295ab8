package ensemble

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// end is one member's links and a channel that says when something came.
type end struct {
	*Links
	came chan struct{}
	addr string
}

func newEnd(t *testing.T, me uint64, key string) *end { return newCoveredEnd(t, me, key, nil) }

func newCoveredEnd(t *testing.T, me uint64, key string, cover *PeerTLS) *end {
	t.Helper()
	l, err := newLinks(me, "127.0.0.1:0", []byte(key), cover, 5000, rand.Reader, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	e := &end{Links: l, came: make(chan struct{}, 1000), addr: l.lis.Addr().String()}
	l.SetWake(func() { e.came <- struct{}{} })
	t.Cleanup(l.Close)
	return e
}

// next waits for a message; the ends of links are passed over.
func (e *end) next(t *testing.T) Inbound {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		for _, in := range e.Take() {
			if in.Body != nil {
				return in
			}
		}
		select {
		case <-e.came:
		case <-timeout:
			t.Fatal("nothing came")
		}
	}
}

// up waits until the way to a member is open.
func (e *end) up(t *testing.T, to uint64) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); {
		e.mu.Lock()
		up := e.mu.out[to] != nil && e.mu.out[to].up
		e.mu.Unlock()
		if up {
			return
		}
	}
	t.Fatal("no link")
}

func TestLinksCarryMessagesBothWays(t *testing.T) {
	a, b := newEnd(t, 1, "the same long key"), newEnd(t, 2, "the same long key")
	a.SetPeers(map[uint64]string{2: b.addr})
	b.SetPeers(map[uint64]string{1: a.addr})
	a.up(t, 2)
	b.up(t, 1)
	big := bytes.Repeat([]byte{7}, 3<<20)
	a.Send(Packet{To: 2, Body: []byte("one")})
	a.Send(Packet{To: 2, Body: big})
	if in := b.next(t); in.From != 1 || string(in.Body) != "one" {
		t.Fatalf("%d %q", in.From, in.Body)
	}
	if in := b.next(t); in.From != 1 || !bytes.Equal(in.Body, big) {
		t.Fatalf("%d bytes of %d", len(in.Body), in.From)
	}
	b.Send(Packet{To: 1, Body: []byte("back")})
	if in := a.next(t); in.From != 2 || string(in.Body) != "back" {
		t.Fatalf("%d %q", in.From, in.Body)
	}
}

// TestStrangersInjectNothing: whoever does not know the key, or is no member, or changes a byte on the way, gets no message in.
func TestStrangersInjectNothing(t *testing.T) {
	const key = "the key of the ensemble"
	dial := func(t *testing.T, e *end) net.Conn {
		c, err := net.Dial("tcp", e.addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	// shut waits until the other end has closed the connection.
	shut := func(t *testing.T, c net.Conn) {
		if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the connection stays open: %v", err)
		}
	}
	cases := map[string]func(t *testing.T, e *end, c net.Conn){
		"no handshake": func(t *testing.T, e *end, c net.Conn) {
			_, _ = c.Write(appendFrame(nil, nil, 0, bytes.Repeat([]byte("x"), 500)))
		},
		"another key": func(t *testing.T, e *end, c net.Conn) {
			if _, err := dialHandshake(c, []byte("another key, as long"), 2, 1, rand.Reader); !errors.Is(err, ErrStranger) {
				t.Errorf("let in: %v", err)
			}
		},
		"no member": func(t *testing.T, e *end, c net.Conn) {
			if _, err := dialHandshake(c, []byte(key), 9, 1, rand.Reader); !errors.Is(err, ErrStranger) {
				t.Errorf("let in: %v", err)
			}
		},
		"meant for another": func(t *testing.T, e *end, c net.Conn) {
			if _, err := dialHandshake(c, []byte(key), 2, 3, rand.Reader); !errors.Is(err, ErrStranger) {
				t.Errorf("let in: %v", err)
			}
		},
		"in its own name": func(t *testing.T, e *end, c net.Conn) {
			if _, err := dialHandshake(c, []byte(key), 1, 1, rand.Reader); !errors.Is(err, ErrStranger) {
				t.Errorf("let in: %v", err)
			}
		},
		"a changed byte": func(t *testing.T, e *end, c net.Conn) {
			link, err := dialHandshake(c, []byte(key), 2, 1, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			frame := appendFrame(nil, link, 0, []byte("message"))
			frame[6] ^= 1
			_, _ = c.Write(frame)
		},
		"a frame twice": func(t *testing.T, e *end, c net.Conn) {
			link, err := dialHandshake(c, []byte(key), 2, 1, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			frame := appendFrame(nil, link, 0, []byte("once"))
			_, _ = c.Write(append(frame, frame...))
			if in := e.next(t); string(in.Body) != "once" {
				t.Fatalf("%q", in.Body)
			}
		},
		"the key of another link": func(t *testing.T, e *end, c net.Conn) {
			old := dial(t, e)
			link, err := dialHandshake(old, []byte(key), 2, 1, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dialHandshake(c, []byte(key), 2, 1, rand.Reader); err != nil {
				t.Fatal(err)
			}
			_, _ = c.Write(appendFrame(nil, link, 0, []byte("replayed")))
		},
		"a length without end": func(t *testing.T, e *end, c net.Conn) {
			if _, err := dialHandshake(c, []byte(key), 2, 1, rand.Reader); err != nil {
				t.Fatal(err)
			}
			_, _ = c.Write([]byte{0xFF, 0xFF, 0xFF, 0xFF})
		},
	}
	for name, attack := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEnd(t, 1, key)
			e.SetPeers(map[uint64]string{2: "127.0.0.1:1"})
			c := dial(t, e)
			attack(t, e, c)
			shut(t, c)
			for _, in := range e.Take() {
				if in.Body != nil {
					t.Errorf("a message came through: %q", in.Body)
				}
			}
		})
	}
}

// TestImpostorIsNotSpokenTo: a server that took a member's address but does not know the key gets nothing to read.
func TestImpostorIsNotSpokenTo(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	e := newEnd(t, 1, "the key of the ensemble")
	e.SetPeers(map[uint64]string{2: lis.Addr().String()})
	c, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write(append([]byte(linkHello), make([]byte, nonceSize)...))
	if _, err := io.ReadFull(c, make([]byte, answerSize)); err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write(make([]byte, proofSize))
	e.Send(Packet{To: 2, Body: []byte("secret")})
	if n, err := io.Copy(io.Discard, c); n > 0 {
		t.Fatalf("%d bytes for somebody who does not know the key (%v)", n, err)
	}
}

// exhausted is a listener of a process without descriptors, closed from its second call on.
type exhausted struct {
	net.Listener
	calls int
}

func (e *exhausted) Accept() (net.Conn, error) {
	if e.calls++; e.calls > 1 {
		return nil, net.ErrClosed
	}
	return nil, syscall.EMFILE
}

func TestAcceptWaitsAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lis, began := &exhausted{}, time.Now()
		(&Links{lis: lis, log: slog.New(slog.DiscardHandler)}).accept(t.Context())
		if passed := time.Since(began); lis.calls != 2 || passed != acceptAgain {
			t.Fatalf("%d calls with %v of the bubble's clock between them", lis.calls, passed)
		}
	})
}

func FuzzHandshake(f *testing.F) {
	f.Add(make([]byte, answerSize), true)
	f.Add([]byte(linkHello), false)
	f.Fuzz(func(t *testing.T, in []byte, accept bool) {
		rw := struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(in), io.Discard}
		var err error
		if accept {
			_, _, err = acceptHandshake(rw, []byte("the key of the ensemble"), 1, rand.Reader, func(uint64) bool { return true })
		} else {
			_, err = dialHandshake(rw, []byte("the key of the ensemble"), 2, 1, rand.Reader)
		}
		if err == nil {
			t.Fatal("guessed")
		}
		if _, err := readFrame(bytes.NewReader(in), []byte("key"), 0); err == nil {
			t.Fatal("guessed")
		}
	})
}

// While the loop is busy with a state that it received, what the others send waits in their sockets, not in memory.
func TestLinksAreNotReadWhileTooMuchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Links{}
		l.mu.wake, l.mu.room = func() {}, sync.NewCond(&l.mu)
		l.put(Inbound{From: 2, Body: make([]byte, inboxBytes+1)})
		done := 0
		go func() { l.put(Inbound{From: 2, Body: []byte("next")}); done++ }()
		synctest.Wait()
		if done != 0 {
			t.Fatal("more was taken in")
		}
		if in := l.Take(); len(in) != 1 {
			t.Fatalf("%d messages", len(in))
		}
		synctest.Wait()
		if in := l.Take(); done != 1 || len(in) != 1 || string(in[0].Body) != "next" {
			t.Fatalf("%d messages after room was made", len(in))
		}
	})
}

// A member that lets the link up and then reads nothing costs a bounded queue, one line when the first message is dropped, and one with their number.
func TestLinksDropAndSay(t *testing.T) {
	const key = "the same long key"
	var said bytes.Buffer
	var mu sync.Mutex
	l, err := newLinks(1, "127.0.0.1:0", []byte(key), nil, 60_000, rand.Reader, slog.New(slog.NewTextHandler(lockedWriter{&mu, &said}, nil)))
	if err != nil {
		t.Fatal(err)
	}
	a := &end{Links: l, came: make(chan struct{}, 1000)}
	l.SetWake(func() { a.came <- struct{}{} })
	defer l.Close()
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	proven := make(chan net.Conn, 1)
	go func() {
		c, err := deaf.Accept()
		if err == nil {
			_, _, err = acceptHandshake(c, []byte(key), 2, rand.Reader, func(id uint64) bool { return id == 1 })
		}
		if err == nil {
			proven <- c
		}
		_ = deaf.Close()
	}()
	a.SetPeers(map[uint64]string{2: deaf.Addr().String()})
	a.up(t, 2)
	c := <-proven
	body := make([]byte, 1<<20)
	const sent = 2 * queueBytes / (1 << 20)
	for range sent {
		a.Send(Packet{To: 2, Body: body})
	}
	a.mu.Lock()
	o := a.mu.out[2]
	lost, queued := o.lost, o.bytes
	a.mu.Unlock()
	if queued > queueBytes || lost < sent/4 || uint64(queued>>20)+lost > sent {
		t.Fatalf("%d bytes wait and %d messages of %d were dropped", queued, lost, sent)
	}
	_ = c.Close()
	for {
		select {
		case <-a.came:
		case <-time.After(time.Minute):
			t.Fatal("the end of the link was not told")
		}
		if in := a.Take(); len(in) > 0 && in[0].Body == nil {
			break
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, line := range []string{"more for it is dropped", "a link ended after messages were dropped"} {
		if bytes.Count(said.Bytes(), []byte(line)) != 1 {
			t.Errorf("not said once: %s\n%s", line, said.String())
		}
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	to io.Writer
}

func (w lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}
