package netpoll

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// A loop that watches the port takes whoever waits, at most so many at once, and refuses those above the limit.
func TestAcceptReady(t *testing.T) {
	for _, host := range []string{"127.0.0.1:0", "[::1]:0"} {
		lim := NewLimiter(3, 3, nil)
		var refused []error
		l, err := Listen(host, ListenOptions{Limiter: lim, OnRefused: func(err error) { refused = append(refused, err) }})
		if err != nil {
			if host[0] == '[' {
				continue // a machine without IPv6
			}
			t.Fatal(err)
		}
		defer l.Release()
		var remotes []netip.AddrPort
		take := func(fd int, remote netip.AddrPort) {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
				t.Errorf("flags %#x, %v", flags, err)
			}
			remotes = append(remotes, remote)
			unix.Close(fd)
		}
		if err := l.AcceptReady(5, take); err != nil || len(remotes) != 0 {
			t.Fatalf("nobody waits: %v, %v", remotes, err)
		}
		var peers []net.Conn
		for range 4 {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			peers = append(peers, c)
		}
		for i, want := range []int{2, 3, 3} {
			if err := l.AcceptReady(2, take); err != nil || len(remotes) != want {
				t.Fatalf("call %d: %v, %v", i, remotes, err)
			}
		}
		if len(refused) != 1 || !errors.Is(refused[0], ErrTooManyConnections) {
			t.Fatalf("refused: %v", refused)
		}
		for i, r := range remotes {
			if r.String() != peers[i].LocalAddr().String() {
				t.Errorf("remote %s, its socket is %s", r, peers[i].LocalAddr())
			}
		}
		l.Close()
		if err := l.AcceptReady(2, take); !errors.Is(err, ErrClosed) {
			t.Fatalf("after the end: %v", err)
		}
	}
}
