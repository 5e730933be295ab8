package netpoll

import (
	"encoding/binary"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FD is readable while somebody waits to be accepted: for a loop that takes newcomers with AcceptReady instead of a goroutine in Accept.
func (l *Listener) FD() int { return l.fd }

// AcceptReady hands fn up to most of the connections that wait, within the limits, and never sleeps. Errors: ErrClosed after Close; ErrNoRoom
// when only time can help, like with too many open files.
func (l *Listener) AcceptReady(most int, fn func(fd int, remote netip.AddrPort)) error {
	for range most {
		if l.stop.Load() {
			return ErrClosed
		}
		fd, remote, errno := sysAccept(l.fd)
		switch errno {
		case 0:
			if l.admit(remote.Addr()) != nil {
				unix.Close(fd)
				continue
			}
			fn(fd, remote)
		case unix.EAGAIN:
			return nil
		case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
			return ErrNoRoom
		case unix.EBADF, unix.EINVAL, unix.ENOTSOCK, unix.EFAULT:
			if l.stop.Load() {
				return ErrClosed
			}
			return os.NewSyscallError("accept4", errno)
		default:
			// Everything else is an error of the connection that was about to be accepted.
		}
	}
	return nil
}

// sysAccept is accept4 without the scheduler, which it cannot hold up, and without the question for the protocol that package unix asks.
func sysAccept(l int) (int, netip.AddrPort, unix.Errno) {
	var sa unix.RawSockaddrAny
	size := uint32(unix.SizeofSockaddrAny)
	fd, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(l), uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, netip.AddrPort{}, errno
	}
	return int(fd), addrPortOfRaw(&sa), 0
}

func addrPortOfRaw(sa *unix.RawSockaddrAny) netip.AddrPort {
	switch sa.Addr.Family {
	case unix.AF_INET:
		a := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), netOrder(a.Port))
	case unix.AF_INET6:
		a := (*unix.RawSockaddrInet6)(unsafe.Pointer(sa))
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), netOrder(a.Port))
	}
	return netip.AddrPort{}
}

// netOrder reads a port, whose two bytes lie in network order.
func netOrder(port uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], port)
	return binary.BigEndian.Uint16(b[:])
}
