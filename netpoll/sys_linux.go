package netpoll

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls of the hot path. Those on non-blocking sockets go raw: they cannot sleep, and telling Go's scheduler costs
// more than some of them. Package unix offers no raw form, hence unsafe in this file and in accept_linux.go.

// rawMax bounds what a raw call may copy, about 0.2 ms a MiB for which a collection would wait. A call that the scheduler knows of costs
// more than that wait as soon as it lasts 20 microseconds: the runtime's monitor then wakes up for each, a tenth of the CPU of large requests.
const rawMax = 4 << 20

type iovec = unix.Iovec

func setIovec(v *iovec, b []byte) {
	v.Base = &b[0]
	v.SetLen(len(b))
}

func epollPoll(fd int, events []unix.EpollEvent) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	return int(n), errno
}

func epollSleepMs(fd int, events []unix.EpollEvent, ms int) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(ms), 0, 0)
	return int(n), errno
}

// epollNap sleeps for a bounded time without telling the scheduler.
func epollNap(fd int, events []unix.EpollEvent, ns int64) (int, unix.Errno) {
	ts := [2]int64{ns / 1e9, ns % 1e9}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	return int(n), errno
}

// epollSleepNs waits with epoll_pwait2, whose time is two 64-bit words on every architecture.
func epollSleepNs(fd int, events []unix.EpollEvent, ns int64) (int, unix.Errno) {
	if ns < 0 {
		n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
		return int(n), errno
	}
	ts := [2]int64{ns / 1e9, ns % 1e9}
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(fd), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	return int(n), errno
}

func wakeEventFD(fd int) {
	one := uint64(1)
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}

// sysRead fills first and then rest, either of which may be empty.
func sysRead(fd int, first, rest []byte) (int, error) {
	var n uintptr
	var errno unix.Errno
	for {
		switch {
		case len(first) == 0:
			n, errno = rawOrNot(unix.SYS_READ, uintptr(fd), unsafe.Pointer(&rest[0]), uintptr(len(rest)), len(rest))
		case len(rest) == 0:
			n, errno = rawOrNot(unix.SYS_READ, uintptr(fd), unsafe.Pointer(&first[0]), uintptr(len(first)), len(first))
		default:
			var iov [2]iovec
			setIovec(&iov[0], first)
			setIovec(&iov[1], rest)
			n, errno = rawOrNot(unix.SYS_READV, uintptr(fd), unsafe.Pointer(&iov), 2, len(first)+len(rest))
		}
		if errno == 0 {
			return int(n), nil
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

func rawOrNot(trap, fd uintptr, p unsafe.Pointer, n uintptr, bytes int) (uintptr, unix.Errno) {
	if bytes <= rawMax {
		r, _, errno := unix.RawSyscall(trap, fd, uintptr(p), n)
		return r, errno
	}
	r, _, errno := unix.Syscall(trap, fd, uintptr(p), n)
	return r, errno
}

// sysSend sends the vectors in order; more says that bytes follow at once, so that the last packet waits for them.
func sysSend(fd int, iov []iovec, bytes int, more bool) (int, error) {
	flags := uintptr(unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT)
	if more {
		flags |= unix.MSG_MORE
	}
	for {
		var n uintptr
		var errno unix.Errno
		if len(iov) == 1 {
			n, errno = rawOrNot6(unix.SYS_SENDTO, uintptr(fd), unsafe.Pointer(iov[0].Base), uintptr(iov[0].Len), flags, bytes)
		} else {
			msg := unix.Msghdr{Iov: &iov[0]}
			msg.SetIovlen(len(iov))
			n, errno = rawOrNot6(unix.SYS_SENDMSG, uintptr(fd), unsafe.Pointer(&msg), flags, 0, bytes)
		}
		if errno == 0 {
			return int(n), nil
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

func rawOrNot6(trap, fd uintptr, p unsafe.Pointer, a, b uintptr, bytes int) (uintptr, unix.Errno) {
	if bytes <= rawMax {
		r, _, errno := unix.RawSyscall6(trap, fd, uintptr(p), a, b, 0, 0)
		return r, errno
	}
	r, _, errno := unix.Syscall6(trap, fd, uintptr(p), a, b, 0, 0)
	return r, errno
}

// sysSendfile goes through the scheduler: a page that left the cache after it was found there makes it wait for the disk.
func sysSendfile(sock, file int, off, n int64) (int, error) {
	for {
		at := off
		sent, err := unix.Sendfile(sock, file, &at, int(min(n, 1<<30)))
		if err == nil {
			return sent, nil
		}
		if err != unix.EINTR {
			return 0, err
		}
	}
}

func sysLowWater(fd, bytes int) error {
	v := int32(bytes)
	_, _, errno := unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, uintptr(unsafe.Pointer(&v)), 4, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func sysCork(fd int, on bool) {
	v := int32(0)
	if on {
		v = 1
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_CORK, uintptr(unsafe.Pointer(&v)), 4, 0)
}

// sysUnread is the number of bytes that wait in a socket.
func sysUnread(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}

// sysSocketError takes the socket's pending error.
func sysSocketError(fd int) error {
	v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if v != 0 {
		return unix.Errno(v)
	}
	return nil
}

// sysAbort resets a connection and throws its output away, while the descriptor stays: its error queue can still be read.
func sysAbort(fd int) {
	unspec := unix.RawSockaddrInet4{Family: unix.AF_UNSPEC}
	_, _, _ = unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&unspec)), unix.SizeofSockaddrInet4)
}

// sysClose closes a socket, which lingers in the kernel and not in the call.
func sysClose(fd int) { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

func isAgain(err error) bool { return err == unix.EAGAIN }

// isConnError tells a broken peer from a broken file in what sendfile returned.
func isConnError(err error) bool {
	switch err {
	case unix.EPIPE, unix.ECONNRESET, unix.ECONNABORTED, unix.ETIMEDOUT, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.ENETDOWN, unix.ENOTCONN, unix.ECONNREFUSED, unix.ENOBUFS, unix.ENOMEM:
		return true
	}
	return false
}
