package netpoll

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Pair returns two ends of a local stream: a descriptor for Adopt, and a connection for whoever speaks for a far client, such as the relay
// that takes TLS off.
func Pair() (fd int, far net.Conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, nil, os.NewSyscallError("socketpair", err)
	}
	f := os.NewFile(uintptr(fds[1]), "pair")
	far, err = net.FileConn(f)
	_ = f.Close() // FileConn has a descriptor of its own
	if err != nil {
		_ = unix.Close(fds[0])
		return -1, nil, err
	}
	return fds[0], far, nil
}
