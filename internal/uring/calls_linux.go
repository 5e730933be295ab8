package uring

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below are x/sys's without its allocations, and raw where the kernel promises not to sleep.

// rwfNoWait makes preadv2 and pwritev2 return EAGAIN instead of waiting.
const rwfNoWait = 8

// PreadNoWait reads what is in the page cache; EAGAIN when the first byte is not, EOPNOTSUPP when the file system cannot tell.
func PreadNoWait(fd int, b []byte, off int64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	iov := unix.Iovec{Base: unsafe.SliceData(b)}
	iov.SetLen(len(b))
	lo, hi := splitOffset(off)
	n, _, errno := syscall.RawSyscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&iov)), 1, lo, hi, rwfNoWait)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// PreadvNoWait is PreadNoWait over a list of buffers.
func PreadvNoWait(fd int, v *Vec, off int64) (int, error) {
	p, count := v.raw()
	lo, hi := splitOffset(off)
	n, _, errno := syscall.RawSyscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(p), uintptr(count), lo, hi, rwfNoWait)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// PwritevNoWait writes without waiting; EOPNOTSUPP or EINVAL where the file system has no such thing, as ext4 for buffered writes.
func PwritevNoWait(fd int, v *Vec, off int64) (int, error) {
	p, count := v.raw()
	lo, hi := splitOffset(off)
	n, _, errno := syscall.RawSyscall6(unix.SYS_PWRITEV2, uintptr(fd), uintptr(p), uintptr(count), lo, hi, rwfNoWait)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// Pwritev is pwritev; it may wait for the disk.
func Pwritev(fd int, v *Vec, off int64) (int, error) {
	p, count := v.raw()
	lo, hi := splitOffset(off)
	n, _, errno := syscall.Syscall6(unix.SYS_PWRITEV, uintptr(fd), uintptr(p), uintptr(count), lo, hi, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// Preadv is preadv; it may wait for the disk.
func Preadv(fd int, v *Vec, off int64) (int, error) {
	p, count := v.raw()
	lo, hi := splitOffset(off)
	n, _, errno := syscall.Syscall6(unix.SYS_PREADV, uintptr(fd), uintptr(p), uintptr(count), lo, hi, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// CachedPages counts the pages of a range that are in the page cache (cachestat, 6.5), read or being read.
func CachedPages(fd int, off, n int64) (int64, error) {
	span := unix.CachestatRange{Off: uint64(off), Len: uint64(n)}
	var stat unix.Cachestat_t
	_, _, errno := syscall.RawSyscall6(unix.SYS_CACHESTAT, uintptr(fd), uintptr(unsafe.Pointer(&span)), uintptr(unsafe.Pointer(&stat)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int64(stat.Cache), nil
}

// NewEventFD returns a non-blocking eventfd.
func NewEventFD() (int, error) { return unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK) }

// RaiseEventFD makes it readable.
func RaiseEventFD(fd int) {
	one := uint64(1)
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}

// DrainEventFD makes it unreadable again.
func DrainEventFD(fd int) {
	var count uint64
	_, _, _ = syscall.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&count)), 8)
}

// splitOffset gives the two halves that the vector calls take: the low one is whole on 64-bit machines.
func splitOffset(off int64) (lo, hi uintptr) {
	return uintptr(off), uintptr(uint64(off) >> 32 >> (unsafe.Sizeof(uintptr(0))*8 - 32))
}
