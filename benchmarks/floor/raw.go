//go:build linux

package main

import (
	"fmt"
	"net/netip"
	"reflect"

	"golang.org/x/sys/unix"
)

// memory is a mapped buffer whose address a raw system call can take: it neither moves nor dies.
type memory struct {
	b    []byte
	addr uintptr
}

func newMemory(n int) (memory, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return memory{}, fmt.Errorf("map %d bytes: %w", n, err)
	}
	return memory{b: b, addr: reflect.ValueOf(b).Pointer()}, nil
}

// call makes a system call without telling Go's scheduler, and again when a signal cut it short.
func call(trap, a, b, c, d uintptr) (int, error) {
	for {
		n, _, errno := unix.RawSyscall6(trap, a, b, c, d, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return 0, errno
		}
		return int(n), nil
	}
}

func (m memory) read(fd, from, to int) (int, error) {
	return call(unix.SYS_READ, uintptr(fd), m.addr+uintptr(from), uintptr(to-from), 0)
}

// writeAll writes to a socket until everything is taken.
func (m memory) writeAll(fd, from, to int) error {
	for from < to {
		n, err := call(unix.SYS_WRITE, uintptr(fd), m.addr+uintptr(from), uintptr(to-from), 0)
		if err != nil {
			return err
		}
		from += n
	}
	return nil
}

func (m memory) pwriteAll(fd, from, to int, at int64) error {
	for from < to {
		n, err := call(unix.SYS_PWRITE64, uintptr(fd), m.addr+uintptr(from), uintptr(to-from), uintptr(at))
		if err != nil {
			return err
		}
		from, at = from+n, at+int64(n)
	}
	return nil
}

func fdatasync(fd int) error {
	_, err := call(unix.SYS_FDATASYNC, uintptr(fd), 0, 0, 0)
	return err
}

func listen(addr string) (fd, port int, err error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().Is4() {
		return 0, 0, fmt.Errorf("-listen %q is not an IPv4 address and port", addr)
	}
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, fmt.Errorf("socket: %w", err)
	}
	for _, opt := range [][2]int{{unix.SOL_SOCKET, unix.SO_REUSEADDR}, {unix.IPPROTO_TCP, unix.TCP_NODELAY}} {
		if err := unix.SetsockoptInt(fd, opt[0], opt[1], 1); err != nil {
			return 0, 0, fmt.Errorf("socket option: %w", err)
		}
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		return 0, 0, fmt.Errorf("bind %s: %w", addr, err)
	}
	if err := unix.Listen(fd, 1024); err != nil {
		return 0, 0, fmt.Errorf("listen: %w", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, 0, err
	}
	return fd, name.(*unix.SockaddrInet4).Port, nil
}
