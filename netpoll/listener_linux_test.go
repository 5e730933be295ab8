package netpoll

import (
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What a listener was given holds for every connection that it accepts, and for one that is dialled.
func TestSocketOptionsReachTheConnections(t *testing.T) {
	type option struct {
		name         string
		level, opt   int
		given, plain int
	}
	o := SocketOptions{SendBuffer: 1 << 16, RecvBuffer: 1 << 16, RecvLowWater: 100, BusyPollUs: 40, KeepAliveSec: 30, Congestion: "reno"}
	options := []option{
		{"SO_SNDBUF", unix.SOL_SOCKET, unix.SO_SNDBUF, 2 << 16, -1}, // the kernel doubles it; plain ones grow
		{"SO_RCVBUF", unix.SOL_SOCKET, unix.SO_RCVBUF, 2 << 16, -1},
		{"SO_RCVLOWAT", unix.SOL_SOCKET, unix.SO_RCVLOWAT, 100, 1},
		{"SO_BUSY_POLL", unix.SOL_SOCKET, unix.SO_BUSY_POLL, 40, 0},
		{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1, 0},
		{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 30, -1},
		{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1, 1},
	}
	check := func(fd int, who string, plain bool) {
		t.Helper()
		for _, c := range options {
			want := c.given
			if plain {
				want = c.plain
			}
			got, err := unix.GetsockoptInt(fd, c.level, c.opt)
			if err != nil || want >= 0 && got != want {
				t.Errorf("%s: %s is %d, want %d, %v", who, c.name, got, want, err)
			}
		}
		control, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		if control = strings.TrimRight(control, "\x00"); err != nil || !plain && control != "reno" {
			t.Errorf("%s: congestion control %q, %v", who, control, err)
		}
	}
	for _, plain := range []bool{false, true} {
		given := o
		if plain {
			given = SocketOptions{}
		}
		l, err := Listen("127.0.0.1:0", ListenOptions{Socket: given})
		if err != nil {
			t.Fatal(err)
		}
		peer, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fd, _, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		check(fd, "accepted", plain)
		unix.Close(fd)
		peer.Close()
		if fd, err = dialTCP(l.Addr().String(), given); err != nil {
			t.Fatal(err)
		}
		check(fd, "dialled", plain)
		unix.Close(fd)
		l.Release()
	}
	if l, err := Listen("127.0.0.1:0", ListenOptions{Socket: SocketOptions{Congestion: "no-such-control"}}); err == nil {
		l.Release()
		t.Error("a congestion control that the kernel does not have was taken")
	}
}
