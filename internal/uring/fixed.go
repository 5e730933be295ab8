package uring

import (
	"slices"
	"unsafe"
)

// Fixed finds the registered buffer that a slice lies in: memory that the kernel has looked up and pinned once, and not for each write.
type Fixed struct {
	ring   Ring
	ranges []fixedRange // in order of address
	most   int
}

type fixedRange struct {
	base, end uintptr
	index     int
}

// NewFixed makes room for that many buffers in a ring's table, and tries it out: locked memory may be short.
func NewFixed(ring Ring, most int) (*Fixed, error) {
	if err := ring.ReserveBuffers(most); err != nil {
		return nil, err
	}
	page := make([]byte, 4096)
	if err := ring.SetBuffer(0, page); err != nil {
		return nil, err
	}
	return &Fixed{ring: ring, most: most}, nil
}

// Add registers a buffer, which must stay in place while the ring is open.
func (f *Fixed) Add(b []byte) error {
	if len(f.ranges) == f.most || len(b) == 0 {
		return ErrNoRoom
	}
	r := fixedRange{base: uintptr(unsafe.Pointer(unsafe.SliceData(b))), index: len(f.ranges)}
	r.end = r.base + uintptr(len(b))
	if err := f.ring.SetBuffer(r.index, b); err != nil {
		return err
	}
	at, _ := slices.BinarySearchFunc(f.ranges, r.base, func(x fixedRange, base uintptr) int {
		if x.base < base {
			return -1
		}
		return 1
	})
	f.ranges = slices.Insert(f.ranges, at, r)
	return nil
}

// Find is the index of the registered buffer that all of b lies in, -1 when it does not.
func (f *Fixed) Find(b []byte) int {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	lo, hi := 0, len(f.ranges)
	for lo < hi {
		if mid := (lo + hi) / 2; f.ranges[mid].base <= from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || from+uintptr(len(b)) > f.ranges[lo-1].end {
		return -1
	}
	return f.ranges[lo-1].index
}

// Len is how many buffers are registered.
func (f *Fixed) Len() int { return len(f.ranges) }
