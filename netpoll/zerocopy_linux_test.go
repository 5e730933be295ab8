package netpoll

import (
	"bytes"
	"errors"
	"math/rand"
	"testing"

	"golang.org/x/sys/unix"
)

// small are sockets that hold little, so that most of what is sent waits at its sender.
func small() SocketOptions { return SocketOptions{SendBuffer: 1 << 20, RecvBuffer: 4096} }

// fillArena takes and overwrites what the arena has to give of a size, as the next requests would.
func (r *rig) fillArena(size int) {
	for range 64 {
		buf := r.a.Get(size)
		for i := range buf.B {
			buf.B[i] = 0xEE
		}
		defer buf.Release()
	}
}

// spanOf hands a span of all of content to a connection, until the socket has taken it.
func (r *rig) spanOf(c *Conn, content []byte, release Releaser) {
	r.t.Helper()
	c.Out().Span(tempFile(r.t, content), 0, int64(len(content)), release)
	r.until("the socket has taken it", func() bool { return c.OutBytes() == 0 })
}

// receives reads all that is due.
func (r *rig) receives(peer int, due []byte) {
	r.t.Helper()
	got := make([]byte, 0, len(due))
	b := make([]byte, 64<<10)
	r.until("all of it", func() bool {
		got = append(got, b[:readSome(r.t, peer, b)]...)
		return len(got) == len(due)
	})
	if !bytes.Equal(got, due) {
		r.t.Fatal("a buffer was used again before the kernel had sent from it")
	}
}

// Every way of a span to the socket sends the same bytes, also to readers that take little at a time.
func TestSendPathsSendTheSame(t *testing.T) {
	content := pattern(1<<20, 77)
	for _, path := range []string{SendFile, SendCopy, SendZeroCopy} {
		t.Run(path, func(t *testing.T) {
			bothPollers(t, func(t *testing.T, poller string) {
				file := tempFile(t, content)
				r := newRig(t, Options{Poller: poller, SendPath: path})
				rnd := rand.New(rand.NewSource(3))
				var released countReleases
				pieces := 0
				for range 3 {
					peer, c := r.tcpPair(SocketOptions{SendBuffer: 64 << 10})
					due, n := mixed(c, rnd, 512<<10, file, content, &released)
					pieces += n
					got := 0
					b := make([]byte, 256<<10)
					r.until("all bytes", func() bool {
						n := readSome(t, peer, b[:1+rnd.Intn(len(b))])
						if !bytes.Equal(b[:n], due[got:got+n]) {
							t.Fatalf("bytes %d to %d differ", got, got+n)
						}
						got += n
						return got == len(due)
					})
					r.until("the kernel has done with it", func() bool { c.reapZeroCopy(); return len(c.zc.out) == 0 })
				}
				s := r.n.Stats
				if int(released) != pieces {
					t.Errorf("%d of %d pieces were released", released, pieces)
				}
				if bySendfile := s.OutSpan > 0; bySendfile != (path == SendFile) || bySendfile == (s.SpanCopied > 0) {
					t.Errorf("%d bytes by sendfile, %d read", s.OutSpan, s.SpanCopied)
				}
				if (s.ZeroCopies > 0) != (path == SendZeroCopy) {
					t.Errorf("%d sends by reference", s.ZeroCopies)
				}
			})
		})
	}
}

// The kernel sends by reference, also long after the call: memory that is written over arrives written over.
func TestZeroCopyGivesMemoryByReference(t *testing.T) {
	r := newRig(t, Options{})
	peer, c := r.tcpPair(small())
	if err := sysZeroCopy(c.FD()); err != nil {
		t.Fatal(err)
	}
	b := bytes.Repeat([]byte{'o'}, 1<<20)
	sent := 0
	for sent < len(b) {
		n, err := sysSendZeroCopy(c.FD(), b[sent:min(len(b), sent+bounceBytes)], false)
		if isAgain(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sent += n
	}
	for i := range b {
		b[i] = 'w'
	}
	late, got := 0, make([]byte, 64<<10)
	for at := 0; at < sent; {
		n := readSome(t, peer, got)
		late += bytes.Count(got[:n], []byte{'w'})
		at += n
	}
	if late == 0 || late == sent {
		t.Fatalf("%d of %d bytes arrived as they were later", late, sent)
	}
}

// A buffer goes back to the arena when the kernel tells that it has done with it, and not when the socket has taken its bytes.
func TestZeroCopyKeepsBuffersUntilTheKernelHasDone(t *testing.T) {
	bothPollers(t, func(t *testing.T, poller string) {
		content := pattern(400<<10, 5)
		r := newRig(t, Options{Poller: poller, SendPath: SendZeroCopy})
		peer, c := r.tcpPair(small())
		var released countReleases
		r.spanOf(c, content, &released)
		if released != 1 || len(c.zc.out) == 0 {
			t.Fatalf("released %d, %d buffers with the kernel", released, len(c.zc.out))
		}
		c.Pause() // what the kernel tells comes as an error of the socket, and must not be taken for one
		r.fillArena(bounceBytes)
		r.receives(peer, content)
		before := r.n.Stats.ZeroCopies
		r.until("the buffers are free", func() bool { return len(c.zc.out) == 0 })
		if len(r.closed) != 0 || before == 0 {
			t.Fatalf("closed with %v, %d sends by reference", r.closed[c], before)
		}
		_, sleeps := r.n.Waits()
		for range 10 {
			r.turn(1_000_000)
		}
		if _, after := r.n.Waits(); after-sleeps < 10 {
			t.Fatal("the loop is kept busy by notifications that it has read")
		}
	})
}

// The same when the connection has been closed meanwhile: what the socket had taken arrives as it was, and the descriptor is closed after.
func TestZeroCopyOfAClosedConnection(t *testing.T) {
	for _, reads := range []bool{true, false} {
		content := pattern(400<<10, 6)
		r := newRig(t, Options{SendPath: SendZeroCopy})
		r.n.SetNow(1)
		peer, c := r.tcpPair(small())
		r.spanOf(c, content, nil)
		before := openFDs(t)
		c.Close(nil)
		r.turn(0)
		if len(r.closed) != 1 || len(r.n.lingers) != 1 || openFDs(t) != before {
			t.Fatalf("%d closes, %d sockets linger", len(r.closed), len(r.n.lingers))
		}
		r.fillArena(bounceBytes)
		if reads {
			r.receives(peer, content)
			r.until("the buffers are free", func() bool { r.n.Sweep(2); return len(r.n.lingers) == 0 })
		} else {
			r.n.Sweep(lingerNs)
			if len(r.n.lingers) != 1 {
				t.Fatal("the socket was cut off before its time")
			}
			r.until("it is cut off", func() bool { r.n.Sweep(lingerNs + 1); return len(r.n.lingers) == 0 })
		}
		if openFDs(t) != before-1 {
			t.Fatalf("%d descriptors, %d before the close", openFDs(t), before)
		}
	}
}

func TestZeroCopyIsRefusedAtStart(t *testing.T) {
	_, err := NewNet(Options{SendPath: SendZeroCopy, ProbeZeroCopy: func() error { return unix.EOPNOTSUPP }}, nil, nil)
	if !errors.Is(err, ErrNoZeroCopy) || !errors.Is(err, unix.EOPNOTSUPP) {
		t.Fatalf("got %v", err)
	}
	if err := probeZeroCopy(); err != nil {
		t.Skipf("this kernel sends nothing by reference from memory: %v", err)
	}
}

// A file that ends before its span, or cannot be read, is the file's fault on every path.
func TestSendPathsTellTheFilesFault(t *testing.T) {
	for _, path := range []string{SendCopy, SendZeroCopy} {
		file := tempFile(t, pattern(100, 1))
		r := newRig(t, Options{SendPath: path})
		_, c := r.tcpPair(SocketOptions{})
		var released countReleases
		c.Out().Span(file, 50, 1000, &released)
		r.until("closed", func() bool { return len(r.closed) == 1 })
		var fe *FileError
		if !errors.As(r.closed[c], &fe) || fe.FD != file || !errors.Is(fe, ErrShortFile) || released != 1 {
			t.Fatalf("%s: closed with %v, released %d", path, r.closed[c], released)
		}
	}
}

// What holds an answer together, counted in packets.
func TestCork(t *testing.T) {
	file := tempFile(t, pattern(10_000, 9))
	for _, c := range []struct {
		cork         string
		plain, ended uint64 // corks of an answer whose span is its end, and of one with something behind it
		packets      uint32 // of the latter
	}{{CorkAuto, 0, 1, 1}, {CorkAlways, 1, 1, 1}, {CorkNever, 0, 0, 3}} {
		t.Run(c.cork, func(t *testing.T) {
			r := newRig(t, Options{Cork: c.cork})
			peer, conn := r.tcpPair(SocketOptions{})
			answer := func(tail int) (corks uint64, packets uint32) {
				info := func() uint32 {
					i, err := unix.GetsockoptTCPInfo(conn.FD(), unix.IPPROTO_TCP, unix.TCP_INFO)
					if err != nil {
						t.Fatal(err)
					}
					return i.Data_segs_out
				}
				corksBefore, before := r.n.Stats.Corks, info()
				conn.Out().Append(60)
				conn.Out().Span(file, 10, 1000, nil)
				conn.Out().Append(tail)
				r.turn(0)
				if got := readFull(peer, make([]byte, 1060+tail)); got != 1060+tail {
					t.Fatalf("%d bytes", got)
				}
				return r.n.Stats.Corks - corksBefore, info() - before
			}
			corks, _ := answer(0)
			ended, packets := answer(3)
			if corks != c.plain || ended != c.ended || packets != c.packets {
				t.Fatalf("%d and %d corks, %d packets", corks, ended, packets)
			}
		})
	}
}

func TestSocketKnobsReachTheSocket(t *testing.T) {
	get := func(c *Conn, option int) int {
		v, err := unix.GetsockoptInt(c.FD(), unix.IPPROTO_TCP, option)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for ack, want := range map[string]int{QuickAckOn: 1, QuickAckOff: 0} {
		r := newRig(t, Options{QuickAck: ack})
		peer, c := r.tcpPair(SocketOptions{})
		writeAll(t, peer, frame([]byte("x")))
		r.until("the frame", func() bool { return len(r.frames) == 1 })
		if got := get(c, unix.TCP_QUICKACK); got != want {
			t.Errorf("%s: TCP_QUICKACK is %d", ack, got)
		}
	}
	for _, nagle := range []bool{false, true} {
		r := newRig(t, Options{})
		_, c := r.tcpPair(SocketOptions{Nagle: nagle})
		if off := get(c, unix.TCP_NODELAY) == 0; off != nagle {
			t.Errorf("Nagle %v: TCP_NODELAY off is %v", nagle, off)
		}
	}
}
