package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// wire is a blocking socket. It stays outside Go's network poller: a woken read returns on the
// thread that waits in it, which is what a latency must not be measured beyond.
type wire struct{ fd int }

// silence is how long an answer may take before the run gives up.
const silence = 60 * time.Second

func dial(addr string) (*wire, error) {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", addr, err)
	}
	family, sa := unix.AF_INET6, unix.Sockaddr(nil)
	if v4 := at.IP.To4(); v4 != nil || at.IP == nil {
		s := &unix.SockaddrInet4{Port: at.Port, Addr: [4]byte{127, 0, 0, 1}}
		copy(s.Addr[:], v4)
		family, sa = unix.AF_INET, s
	} else {
		s := &unix.SockaddrInet6{Port: at.Port}
		copy(s.Addr[:], at.IP.To16())
		sa = s
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	w := &wire{fd: fd}
	tv := unix.NsecToTimeval(int64(silence))
	err = errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv))
	if err == nil {
		err = retry(func() error { return unix.Connect(fd, sa) })
	}
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("connect %s: %w", addr, err)
	}
	return w, nil
}

func retry(fn func() error) error {
	for {
		if err := fn(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Read blocks until something came; io.EOF when the peer has closed.
func (w *wire) Read(b []byte) (n int, err error) {
	err = retry(func() error { n, err = unix.Read(w.fd, b); return err })
	switch {
	case errors.Is(err, unix.EAGAIN):
		return 0, fmt.Errorf("no answer for %v", silence)
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write blocks until everything is taken.
func (w *wire) Write(b []byte) (int, error) {
	for done := 0; done < len(b); {
		n, err := unix.Write(w.fd, b[done:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return done, err
		}
		done += n
	}
	return len(b), nil
}

// Wait blocks until a read would not, or for ns nanoseconds.
func (w *wire) Wait(ns int64) (readable bool, err error) {
	fds := [1]unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	ts := unix.NsecToTimespec(ns)
	n, err := unix.Ppoll(fds[:], &ts, nil)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err
}

// Abort makes a blocked Read or Write of another goroutine return.
func (w *wire) Abort() { _ = unix.Shutdown(w.fd, unix.SHUT_RDWR) }

// Close frees the socket.
func (w *wire) Close() { _ = unix.Close(w.fd) }

// precise ties the goroutine to a thread whose sleeps end on time.
func precise() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}
