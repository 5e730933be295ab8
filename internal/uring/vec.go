package uring

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// VecMax is the number of pieces that the kernel takes in one call (IOV_MAX).
const VecMax = 1024

// Vec is a reusable list of buffers in the kernel's form. It lives in its owner, on the heap, until the completion.
type Vec struct{ iov []unix.Iovec }

// Reset empties the list and keeps its room.
func (v *Vec) Reset() {
	clear(v.iov) // drop the pointers: a finished operation must not keep buffers alive
	v.iov = v.iov[:0]
}

// Add appends a buffer; empty ones are left out. It returns false when the list is full.
func (v *Vec) Add(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if len(v.iov) == VecMax {
		return false
	}
	var iov unix.Iovec
	iov.Base = unsafe.SliceData(b)
	iov.SetLen(min(len(b), lenMax))
	v.iov = append(v.iov, iov)
	return true
}

// Len is the number of pieces.
func (v *Vec) Len() int { return len(v.iov) }

// Bytes is the sum of the pieces.
func (v *Vec) Bytes() int {
	n := 0
	for i := range v.iov {
		n += int(v.iov[i].Len)
	}
	return n
}

func (v *Vec) raw() (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(v.iov)), uint32(len(v.iov))
}
