package netpoll

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"sync/atomic"

	"github.com/panjf2000/gnet/v2/pkg/socket"
	"golang.org/x/sys/unix"
)

// Listener accepts connections. Accept, or AcceptReady in its place, may be called by one goroutine, Close by any.
type Listener struct {
	o      ListenOptions
	fd     int
	stopFD int
	addr   netip.AddrPort
	stop   atomic.Bool
	done   atomic.Int32 // 1 once the descriptors were given back
}

// Listen opens a listening socket on host:port; the port 0 picks a free one. Host names are looked up here.
func Listen(addr string, o ListenOptions) (*Listener, error) {
	ints, strs := o.Socket.list()
	// The options are set before the socket listens: accepted ones inherit them, and the window scale follows the receive buffer.
	ints = append(ints, socket.Option[int]{SetSockOpt: socket.SetReuseAddr, Opt: 1})
	if o.ReusePort {
		ints = append(ints, socket.Option[int]{SetSockOpt: socket.SetReuseport, Opt: 1})
	}
	fd, _, err := socket.TCPSocket("tcp", addr, true, ints, strs)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		fd, _, err = socket.TCPSocket("tcp4", addr, true, ints, strs) // a kernel without IPv6
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	l := &Listener{o: o, fd: fd}
	sa, err := unix.Getsockname(fd)
	if err == nil {
		l.addr = addrPortOf(sa)
		l.stopFD, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	}
	if err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("listen", err)
	}
	return l, nil
}

// Addr is where it listens.
func (l *Listener) Addr() netip.AddrPort { return l.addr }

// acceptRetryMs is the pause after an error that only time can mend, like too many open files.
const acceptRetryMs = 50

// Accept waits for a connection within the limits. It returns ErrClosed after Close.
func (l *Listener) Accept() (int, netip.AddrPort, error) {
	for {
		if l.stop.Load() {
			l.leave()
			return -1, netip.AddrPort{}, ErrClosed
		}
		fd, sa, err := unix.Accept4(l.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
			if fd >= descriptorsForConns() { // whoever waits longer than this pause sees the connection refused, and files can still be opened
				unix.Close(fd)
				l.wait(false, acceptRetryMs)
				continue
			}
			remote := addrPortOf(sa)
			if err := l.admit(remote.Addr()); err != nil {
				unix.Close(fd)
				continue
			}
			return fd, remote, nil
		case unix.EAGAIN:
			l.wait(true, -1)
		case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
			l.wait(false, acceptRetryMs)
		case unix.EBADF, unix.EINVAL, unix.ENOTSOCK, unix.EFAULT:
			return -1, netip.AddrPort{}, os.NewSyscallError("accept4", err)
		default:
			// Everything else is an error of the connection that was about to be accepted.
		}
	}
}

// leftForFiles is how many descriptors connections leave to files: a server without one cannot write. Of a small limit it is a quarter.
const leftForFiles = 256

// descriptorsForConns is the first descriptor that no connection gets. The kernel gives the lowest that is free, so a high one tells how many
// are in use.
func descriptorsForConns() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur > math.MaxInt32 {
		return math.MaxInt32
	}
	most := int(limit.Cur)
	return most - min(leftForFiles, most/4)
}

func (l *Listener) admit(ip netip.Addr) error {
	if l.o.Limiter == nil {
		return nil
	}
	err := l.o.Limiter.Take(ip)
	if err != nil && l.o.OnRefused != nil {
		l.o.OnRefused(err)
	}
	return err
}

// wait sleeps until a connection waits (if asked to look), Close was called or ms have passed.
func (l *Listener) wait(look bool, ms int) {
	fds := [2]unix.PollFd{{Fd: int32(l.stopFD), Events: unix.POLLIN}, {Fd: int32(l.fd), Events: unix.POLLIN}}
	n := 1
	if look {
		n = 2
	}
	_, _ = unix.Poll(fds[:n], ms)
}

// Close ends Accept and stops listening. A goroutine in Accept, or the next call of it, gives the descriptors back.
func (l *Listener) Close() {
	if l.stop.Swap(true) {
		return
	}
	_ = unix.Shutdown(l.fd, unix.SHUT_RDWR) // refuse newcomers from now on
	wakeEventFD(l.stopFD)
}

// Release gives the descriptors back when no Accept will be called any more.
func (l *Listener) Release() {
	l.Close()
	l.leave()
}

func (l *Listener) leave() {
	if l.done.Swap(1) == 0 {
		unix.Close(l.fd)
		unix.Close(l.stopFD)
	}
}

func addrPortOf(sa unix.Sockaddr) netip.AddrPort {
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// dialTCP begins a connection and does not wait for it.
func dialTCP(addr string, o SocketOptions) (int, error) {
	ints, strs := o.list()
	fd, a, err := socket.TCPSocket("tcp", addr, false, ints, strs)
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return -1, &net.OpError{Op: "dial", Net: "tcp", Addr: a, Err: err}
	}
	return fd, nil
}

// list is the options in the form that package socket wants.
func (o SocketOptions) list() (ints []socket.Option[int], strs []socket.Option[string]) {
	add := func(set func(fd, v int) error, v int) {
		ints = append(ints, socket.Option[int]{SetSockOpt: set, Opt: v})
	}
	if !o.Nagle {
		add(socket.SetNoDelay, 1)
	}
	if o.SendBuffer > 0 {
		add(socket.SetSendBuffer, o.SendBuffer)
	}
	if o.RecvBuffer > 0 {
		add(socket.SetRecvBuffer, o.RecvBuffer)
	}
	if o.RecvLowWater > 0 {
		add(func(fd, v int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, v) }, o.RecvLowWater)
	}
	if o.BusyPollUs > 0 {
		add(func(fd, v int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BUSY_POLL, v) }, o.BusyPollUs)
	}
	if o.KeepAliveSec > 0 {
		add(socket.SetKeepAlivePeriod, o.KeepAliveSec)
	}
	if o.Congestion != "" {
		set := func(fd int, v string) error {
			return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, v)
		}
		strs = append(strs, socket.Option[string]{SetSockOpt: set, Opt: o.Congestion})
	}
	return ints, strs
}
