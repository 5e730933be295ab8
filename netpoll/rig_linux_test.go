package netpoll

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"testing"

	"github.com/pelton-broker/pelton/internal/arena"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is one loop driven by the test itself, with plain sockets as peers: nothing runs beside it, so every step is in order.
type rig struct {
	t       testing.TB
	n       *Net
	a       *arena.Arena
	opened  []*Conn
	frames  [][]byte // copies of what came, in order, unless onFrame is set
	closed  map[*Conn]error
	onFrame func(c *Conn, f Frame)
	onRaw   func(c *Conn, first []byte) bool
}

func newRig(t testing.TB, o Options) *rig {
	t.Helper()
	r := &rig{t: t, a: arena.New(arena.Options{}), closed: map[*Conn]error{}}
	n, err := NewNet(o, r.a, r)
	if err != nil {
		t.Fatal(err)
	}
	r.n = n
	t.Cleanup(r.end)
	return r
}

// end closes everything; whatever buffer is still out makes the arena's Close break.
func (r *rig) end() {
	r.n.Close()
	if r.a.InUse() != 0 {
		r.t.Errorf("%d bytes of buffers were not released", r.a.InUse())
		return
	}
	r.a.Close()
}

func (r *rig) OnOpen(c *Conn) { r.opened = append(r.opened, c) }

func (r *rig) OnFrame(c *Conn, f Frame) {
	if r.onFrame != nil {
		r.onFrame(c, f)
		return
	}
	r.frames = append(r.frames, append([]byte{}, f.B...))
	f.Buf.Release()
}

func (r *rig) OnClose(c *Conn, cause error) {
	if _, twice := r.closed[c]; twice {
		r.t.Errorf("OnClose called twice for connection %d", c.ID)
	}
	r.closed[c] = cause
}

func (r *rig) OnRaw(c *Conn, first []byte) bool { return r.onRaw != nil && r.onRaw(c, first) }

func (r *rig) turn(timeoutNs int64) {
	r.t.Helper()
	if err := r.n.Turn(timeoutNs); err != nil {
		r.t.Fatal(err)
	}
	r.n.FlushOut()
}

// until turns the loop until cond holds. The bound only ends a test that would hang.
func (r *rig) until(what string, cond func() bool) {
	r.t.Helper()
	for range 4000 {
		if cond() {
			return
		}
		r.turn(5_000_000)
	}
	r.t.Fatalf("never: %s", what)
}

// unixPair is a connection over a socket pair: what is written is readable at once.
func (r *rig) unixPair() (peer int, c *Conn) {
	r.t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return fds[1], r.adopt(fds[0], fds[1])
}

// tcpPair is a connection over loopback TCP, with the listener's options.
func (r *rig) tcpPair(o SocketOptions) (peer int, c *Conn) {
	r.t.Helper()
	l, err := Listen("127.0.0.1:0", ListenOptions{Socket: o})
	if err != nil {
		r.t.Fatal(err)
	}
	defer l.Release()
	peer = dialBlocking(r.t, l.Addr())
	fd, _, err := l.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	return peer, r.adopt(fd, peer)
}

func (r *rig) adopt(fd, peer int) *Conn {
	if err := unix.SetNonblock(fd, true); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { unix.Close(peer) })
	before := len(r.opened)
	r.n.Adopt(fd, netip.MustParseAddrPort("192.0.2.1:5"))
	if len(r.opened) != before+1 {
		r.t.Fatal("OnOpen was not called")
	}
	return r.opened[before]
}

func dialBlocking(t testing.TB, to netip.AddrPort) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		t.Fatal(err)
	}
	return fd
}

func frame(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func writeAll(t testing.TB, fd int, b []byte) {
	t.Helper()
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err != nil {
			t.Fatal(err)
		}
		b = b[n:]
	}
}

// readSome reads without blocking; 0 when nothing waits.
func readSome(t testing.TB, fd int, b []byte) int {
	t.Helper()
	n, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT)
	if err != nil {
		if errors.Is(err, unix.EAGAIN) {
			return 0
		}
		t.Fatal(err)
	}
	return n
}

// pattern is bytes that differ by place, so that a shifted or repeated piece shows.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func openFDs(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// bothPollers runs a test on each poller.
func bothPollers(t *testing.T, fn func(t *testing.T, poller string)) {
	for _, p := range []string{PollerEpoll, PollerGnet} {
		t.Run(p, func(t *testing.T) { fn(t, p) })
	}
}

// countReleases is a Releaser that counts.
type countReleases int

func (c *countReleases) Release() { *c++ }
