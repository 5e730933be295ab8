package netpoll

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// regression: C-74, a close behind a long poll was seen only when the poll ended.
func TestConnCloseIsNoticedWhilePaused(t *testing.T) {
	bothPollers(t, func(t *testing.T, poller string) {
		r := newRig(t, Options{Poller: poller})
		for _, how := range []string{"close", "half-close", "reset"} {
			peer, c := r.tcpPair(SocketOptions{})
			writeAll(t, peer, frame([]byte("fetch")))
			r.until("the request", func() bool { return len(r.frames) > 0 })
			r.frames = nil
			c.Pause()
			r.turn(0)
			switch how {
			case "close":
				peer = dupAndClose(t, peer)
			case "half-close":
				unix.Shutdown(peer, unix.SHUT_WR)
			case "reset":
				unix.SetsockoptLinger(peer, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
				peer = dupAndClose(t, peer)
			}
			r.until(how+" noticed", func() bool { _, ok := r.closed[c]; return ok })
			if how != "reset" && !errors.Is(r.closed[c], io.EOF) || how == "reset" && !errors.Is(r.closed[c], unix.ECONNRESET) {
				t.Fatalf("%s: closed with %v", how, r.closed[c])
			}
		}
	})
}

// dupAndClose closes fd and puts something harmless in its place, for the clean-up that will close the number.
func dupAndClose(t *testing.T, fd int) int {
	t.Helper()
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Dup3(null, fd, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	unix.Close(null)
	return fd
}

func TestConnWhatCameBeforeTheCloseIsNotLost(t *testing.T) {
	bothPollers(t, func(t *testing.T, poller string) {
		r := newRig(t, Options{Poller: poller})
		peer, c := r.tcpPair(SocketOptions{})
		c.Pause()
		r.turn(0)
		writeAll(t, peer, frame([]byte("last words")))
		unix.Shutdown(peer, unix.SHUT_WR)
		for range 20 {
			r.turn(1_000_000)
		}
		if len(r.frames) != 0 || len(r.closed) != 0 {
			t.Fatalf("%d frames and %d closes while paused", len(r.frames), len(r.closed))
		}
		_, before := r.n.Waits()
		r.turn(0)
		c.Resume()
		r.until("closed", func() bool { return len(r.closed) == 1 })
		if len(r.frames) != 1 || string(r.frames[0]) != "last words" || !errors.Is(r.closed[c], io.EOF) {
			t.Fatalf("frames %q, closed with %v", r.frames, r.closed[c])
		}
		if _, after := r.n.Waits(); after-before > 10 {
			t.Fatal("the loop was busy with a close that it had seen")
		}
	})
}

func TestConnKnownCloseDoesNotKeepTheLoopBusy(t *testing.T) {
	r := newRig(t, Options{})
	peer, c := r.tcpPair(SocketOptions{})
	c.Pause()
	r.turn(0)
	writeAll(t, peer, frame([]byte("unread")))
	unix.Shutdown(peer, unix.SHUT_WR)
	r.until("close seen", func() bool { return c.hupSeen })
	r.turn(0)
	polls, sleeps := r.n.Waits()
	r.turn(2_000_000)
	if p, s := r.n.Waits(); p != polls+1 || s != sleeps+1 {
		t.Fatal("the loop does not sleep while a closed peer's bytes wait")
	}
}

func TestConnCloseDropsWhatIsUnsent(t *testing.T) {
	r := newRig(t, Options{})
	_, c := r.unixPair()
	var released countReleases
	c.Out().Borrow(make([]byte, 8<<20), &released)
	r.turn(0)
	if released != 0 || c.OutBytes() == 0 {
		t.Fatal("8 MiB went into a socket that nobody reads")
	}
	c.Close(nil)
	c.Out().Borrow([]byte("late"), &released)
	c.Out().Span(0, 0, 10, &released)
	copy(c.Out().Append(100), "late")
	r.turn(0)
	if released != 3 || !errors.Is(r.closed[c], ErrClosed) {
		t.Fatalf("%d of 3 released, closed with %v", released, r.closed[c])
	}
}

func TestConnCloseAfterFlushOfNothingCloses(t *testing.T) {
	r := newRig(t, Options{})
	_, c := r.unixPair()
	c.CloseAfterFlush(nil)
	r.turn(0)
	r.turn(0)
	if !errors.Is(r.closed[c], ErrClosed) {
		t.Fatalf("closed with %v", r.closed[c])
	}
}

func TestConnUsesFewSystemCallsPerFrame(t *testing.T) {
	r := newRig(t, Options{})
	peer, _ := r.tcpPair(SocketOptions{})
	r.onFrame = func(c *Conn, f Frame) {
		copy(c.Out().Append(8), f.B)
		f.Buf.Release()
	}
	ask, answer := frame([]byte("12345678")), make([]byte, 8)
	for range 10 {
		before := r.n.Stats
		polls, sleeps := r.n.Waits()
		writeAll(t, peer, ask)
		if err := r.n.Turn(-1); err != nil {
			t.Fatal(err)
		}
		r.n.FlushOut()
		if n, err := unix.Read(peer, answer); n != 8 || err != nil {
			t.Fatal(n, err)
		}
		after := r.n.Stats
		p, s := r.n.Waits()
		if after.Reads-before.Reads != 1 || after.Sends-before.Sends != 1 || after.Mods != before.Mods || p-polls != 1 || s-sleeps > 1 {
			t.Fatalf("a frame cost %d reads, %d sends, %d changes of interest, %d polls, %d sleeps",
				after.Reads-before.Reads, after.Sends-before.Sends, after.Mods-before.Mods, p-polls, s-sleeps)
		}
	}
}

func TestConnAllocatesNothingPerFrame(t *testing.T) {
	f := tempFile(t, pattern(64<<10, 3))
	for _, size := range []int{16, 3000, 40_000, 300_000} {
		r := newRig(t, Options{})
		peer, _ := r.unixPair()
		var released countReleases
		r.onFrame = func(c *Conn, f2 Frame) {
			f2.Buf.Release()
			copy(c.Out().Append(20), "head")
			c.Out().Span(f, 100, 5000, &released)
			copy(c.Out().Append(3), "end")
		}
		ask, answer := frame(pattern(size, 1)), make([]byte, 5023)
		iov := make([]iovec, 1)
		round := func() {
			rest := ask
			for len(rest) > 0 {
				setIovec(&iov[0], rest[:min(len(rest), 50_000)])
				n, _ := sysSend(peer, iov, len(rest), false)
				rest = rest[n:]
				r.turn(0)
			}
			if n := readFull(peer, answer); n != len(answer) {
				t.Fatalf("answer of %d bytes", n)
			}
		}
		for range 20 {
			round()
		}
		if n := testing.AllocsPerRun(200, round); n != 0 {
			t.Fatalf("frames of %d bytes: %v allocations each", size, n)
		}
	}
}

func TestConnMemory(t *testing.T) {
	const conns = 500
	r := newRig(t, Options{})
	onHeap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	// Under the race detector the arena's memory is Go's, and slabs are made ahead: there only what is handed out can be told.
	start := onHeap()
	big := r.a.Get(8 << 20)
	arenaInHeap := onHeap()-start > 4<<20
	big.Release()
	heap := func() int64 {
		if arenaInHeap {
			return r.a.InUse()
		}
		return onHeap() + r.a.InUse()
	}
	r.unixPair()
	r.turn(0)
	// Twice what the test itself keeps per connection is not worth subtracting: it is a few words.
	before := heap()
	var peers []int
	for range conns {
		p, _ := r.unixPair()
		peers = append(peers, p)
	}
	r.turn(0)
	check := func(what string, most int64) {
		t.Helper()
		if per := (heap() - before) / conns; per > most {
			t.Fatalf("%s: %d bytes a connection, more than %d", what, per, most)
		}
	}
	check("fresh", 8<<10)
	begun := frame(pattern(2<<20, 1))[:reserveAt]
	for _, p := range peers {
		writeAll(t, p, begun)
	}
	r.until("all read", func() bool { return r.n.Stats.BytesIn == conns*reserveAt })
	check("before the first whole frame", 64<<10)
	for _, c := range r.opened {
		c.Close(nil)
	}
	r.turn(0)
	r.opened, r.closed = nil, map[*Conn]error{}

	peers = peers[:0]
	var idle []*Conn
	for range conns {
		p, c := r.unixPair()
		peers = append(peers, p)
		idle = append(idle, c)
	}
	r.onFrame = func(c *Conn, f Frame) {
		copy(c.Out().Append(2000), f.B)
		f.Buf.Release()
	}
	for _, p := range peers {
		writeAll(t, p, frame(pattern(2000, 1)))
	}
	r.turn(0)
	r.until("all answered", func() bool { return r.n.Stats.OutOwned == conns*2000 && idle[conns-1].OutBytes() == 0 })
	check("idle after an answer", 8<<10)
}

func TestConnLimits(t *testing.T) {
	const second = int64(1e9)
	o := Options{IdleNs: 600 * second, FrameNs: 10 * second, SlowNs: 30 * second}
	for _, c := range []struct {
		name  string
		do    func(r *rig, peer int, c *Conn)
		after int64
		want  error
	}{
		{"idle", func(*rig, int, *Conn) {}, 600, ErrIdle},
		{"frame-begun", func(r *rig, peer int, _ *Conn) { writeAll(r.t, peer, frame(pattern(50, 1))[:20]) }, 10, ErrFrameStalled},
		{"size-begun", func(r *rig, peer int, _ *Conn) { writeAll(r.t, peer, []byte{0}) }, 10, ErrFrameStalled},
		{"slow-reader", func(_ *rig, _ int, c *Conn) { c.Out().Borrow(make([]byte, 8<<20), nil) }, 30, ErrSlowReader},
		{"paused-frame-begun", func(r *rig, peer int, c *Conn) {
			writeAll(r.t, peer, frame(pattern(50, 1))[:20])
			r.turn(0)
			c.Pause()
		}, 600, ErrIdle},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, o)
			r.n.Sweep(1000 * second)
			peer, conn := r.unixPair()
			c.do(r, peer, conn)
			r.turn(0)
			r.n.Sweep((1000+c.after)*second - 1)
			r.turn(0)
			if len(r.closed) != 0 {
				t.Fatalf("closed too early: %v", r.closed[conn])
			}
			r.n.Sweep((1000 + c.after) * second)
			r.turn(0)
			if !errors.Is(r.closed[conn], c.want) {
				t.Fatalf("closed with %v, want %v", r.closed[conn], c.want)
			}
		})
	}
}

func TestConnProgressIsNotSlow(t *testing.T) {
	const second = int64(1e9)
	r := newRig(t, Options{SlowNs: 30 * second})
	peer, c := r.unixPair()
	r.n.Sweep(second)
	c.Out().Borrow(pattern(4<<20, 1), nil)
	r.turn(0)
	b := make([]byte, 300_000)
	for now := int64(20); c.OutBytes() > 0; now += 20 {
		r.n.SetNow(now * second)
		readSome(t, peer, b)
		r.turn(0)
		r.n.Sweep(now * second)
		r.turn(0)
		if len(r.closed) != 0 {
			t.Fatal("a reader that takes something every 20 s was closed")
		}
	}
}

func TestConnIsNotReadWhileTooMuchOutputWaits(t *testing.T) {
	r := newRig(t, Options{MaxOut: 1 << 20})
	peer, c := r.unixPair()
	r.onFrame = func(c *Conn, f Frame) {
		r.frames = append(r.frames, nil)
		f.Buf.Release()
		c.Out().Borrow(pattern(700<<10, 5), nil)
	}
	for range 10 {
		writeAll(t, peer, frame([]byte("more")))
		r.turn(0)
	}
	if len(r.frames) > 3 {
		t.Fatalf("%d requests were read while %d bytes wait", len(r.frames), c.OutBytes())
	}
	var got []byte
	b := make([]byte, 1<<20)
	r.until("everything", func() bool {
		got = append(got, b[:readSome(t, peer, b)]...)
		return len(r.frames) == 10 && len(got) == 10*700<<10
	})
	for i := range 10 {
		if !bytes.Equal(got[i*700<<10:(i+1)*700<<10], pattern(700<<10, 5)) {
			t.Fatalf("answer %d differs", i)
		}
	}
}

func TestLimiter(t *testing.T) {
	lim := NewLimiter(3, 2, nil)
	var refused []error
	l, err := Listen("127.0.0.1:0", ListenOptions{Limiter: lim, OnRefused: func(err error) { refused = append(refused, err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	r := newRig(t, Options{Limiter: lim})
	accept := func() *Conn {
		t.Helper()
		peer := dialBlocking(t, l.Addr())
		fd, remote, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(peer) })
		r.n.Adopt(fd, remote)
		return r.opened[len(r.opened)-1]
	}
	first := accept()
	accept()
	third := dialBlocking(t, l.Addr())
	defer unix.Close(third)
	// The third is refused inside Accept; the next one is taken, since a place has come back by then.
	first.Close(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if fd, _, err := l.Accept(); err == nil {
			unix.Close(fd)
			lim.Give(first.Remote.Addr())
		}
	}()
	if n, _ := unix.Read(third, make([]byte, 1)); n != 0 {
		t.Fatal("a connection above the limit was served")
	}
	r.turn(0)
	fourth := dialBlocking(t, l.Addr())
	defer unix.Close(fourth)
	<-done
	if len(refused) != 1 || !errors.Is(refused[0], ErrTooManyFromIP) {
		t.Fatalf("refused: %v", refused)
	}
	r.n.Close()
	if lim.Open() != 0 {
		t.Fatalf("%d places are still taken", lim.Open())
	}
}

func TestLimiterInAll(t *testing.T) {
	lim := NewLimiter(1, 0, nil)
	a := r4(1)
	if err := lim.Take(a); err != nil {
		t.Fatal(err)
	}
	if err := lim.Take(r4(2)); !errors.Is(err, ErrTooManyConnections) {
		t.Fatalf("second place: %v", err)
	}
	lim.Give(a)
	if err := lim.Take(r4(2)); err != nil {
		t.Fatal(err)
	}
}

func TestDial(t *testing.T) {
	l, err := Listen("127.0.0.1:0", ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bothPollers(t, func(t *testing.T, poller string) {
		r := newRig(t, Options{Poller: poller})
		c, err := r.n.Dial(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		copy(c.Out().Append(5), "early") // goes when the connection is there
		fd, _, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		unix.SetNonblock(fd, false)
		r.until("opened", func() bool { return len(r.opened) == 1 && c.OutBytes() == 0 })
		b := make([]byte, 5)
		if readFull(fd, b); string(b) != "early" {
			t.Fatalf("got %q", b)
		}
		writeAll(t, fd, frame([]byte("answer")))
		r.until("the answer", func() bool { return len(r.frames) == 1 })
	})
	addr := l.Addr().String()
	l.Release()
	r := newRig(t, Options{})
	c, err := r.n.Dial(addr)
	if err == nil {
		r.until("refused", func() bool { return len(r.closed) == 1 })
		err = r.closed[c]
	}
	if !errors.Is(err, unix.ECONNREFUSED) || len(r.opened) != 0 {
		t.Fatalf("dial to a closed port: %v, %d opened", err, len(r.opened))
	}
	if _, err := r.n.Dial("localhost:1"); !errors.Is(err, ErrNotNumeric) {
		t.Fatalf("dial of a name: %v", err)
	}
}

func TestListenerCloseEndsAccept(t *testing.T) {
	before := openFDs(t)
	l, err := Listen("127.0.0.1:0", ListenOptions{Socket: SocketOptions{SendBuffer: 1 << 16, RecvBuffer: 1 << 16, KeepAliveSec: 30, Congestion: "reno"}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { _, _, err := l.Accept(); done <- err }()
	l.Close()
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Fatalf("Accept: %v", err)
	}
	if after := openFDs(t); after != before {
		t.Fatalf("%d descriptors, %d before", after, before)
	}
}
