package netpoll

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// probeZeroCopy asks the kernel whether it sends by reference from memory.
func probeZeroCopy() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	return os.NewSyscallError("setsockopt SO_ZEROCOPY", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1))
}

// sysSendZeroCopy sends b by reference. ENOBUFS: the kernel has no room to account for it now.
func sysSendZeroCopy(fd int, b []byte, more bool) (int, error) {
	flags := unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT | unix.MSG_ZEROCOPY
	if more {
		flags |= unix.MSG_MORE
	}
	for {
		n, err := unix.SendmsgN(fd, b, nil, nil, flags)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// zeroCopyDone reads a socket's error queue and gives the memory of finished sends back. copied counts those that the kernel copied after
// all, as it does for a receiver on the same machine.
func zeroCopyDone(fd int, out []zcBuf) (rest []zcBuf, copied int) {
	var control [128]byte
	for len(out) > 0 {
		_, n, _, _, err := unix.Recvmsg(fd, nil, control[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return out, copied
		}
		messages, err := unix.ParseSocketControlMessage(control[:n])
		if err != nil {
			return out, copied
		}
		for i := range messages {
			first, last, wasCopied, ok := notification(&messages[i])
			if !ok {
				continue
			}
			kept := out[:0]
			for _, z := range out {
				if z.id-first <= last-first { // numbers wrap
					z.buf.Release()
					if wasCopied {
						copied++
					}
					continue
				}
				kept = append(kept, z)
			}
			clear(out[len(kept):])
			out = kept
		}
	}
	return out, copied
}

// Layout of struct sock_extended_err behind a control message's header.
const (
	extendedErrBytes = 16
	originZeroCopy   = 5
	codeCopied       = 1
)

// notification is the range of sends that a control message tells of.
func notification(m *unix.SocketControlMessage) (first, last uint32, copied, ok bool) {
	v4 := m.Header.Level == unix.SOL_IP && m.Header.Type == unix.IP_RECVERR
	v6 := m.Header.Level == unix.SOL_IPV6 && m.Header.Type == unix.IPV6_RECVERR
	if !v4 && !v6 || len(m.Data) < extendedErrBytes {
		return 0, 0, false, false
	}
	errno, origin, code := binary.NativeEndian.Uint32(m.Data[0:]), m.Data[4], m.Data[6]
	if errno != 0 || origin != originZeroCopy {
		return 0, 0, false, false
	}
	return binary.NativeEndian.Uint32(m.Data[8:]), binary.NativeEndian.Uint32(m.Data[12:]), code&codeCopied != 0, true
}

// stillBroken tells whether a socket that reported an error still does once its notifications have been read.
func stillBroken(fd int) bool {
	fds := [1]unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(fds[:], 0)
	return err != nil || n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}

// sysZeroCopy tells a socket that it will be sent from by reference.
func sysZeroCopy(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1) }

// sysShutdown ends both directions; what is queued still goes.
func sysShutdown(fd int) { _ = unix.Shutdown(fd, unix.SHUT_RDWR) }

func isNoBuffers(err error) bool { return err == unix.ENOBUFS }

// sysQuickAck sets TCP_QUICKACK until the kernel changes its mind.
func sysQuickAck(fd int, on bool) {
	v := 0
	if on {
		v = 1
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, v)
}

// sysReadAt is pread.
func sysReadAt(file int, b []byte, off int64) (int, error) {
	for {
		n, err := unix.Pread(file, b, off)
		if err != unix.EINTR {
			return n, err
		}
	}
}
