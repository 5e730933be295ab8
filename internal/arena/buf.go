package arena

import "github.com/pelton-broker/pelton/internal/invariant"

// poison fills released memory in check builds, so that a use after release reads as a wrong checksum.
const poison = 0xDB

// Buf is one buffer. It is alive while it has references; B is nil afterwards.
type Buf struct {
	// B has the length that was asked for and the capacity of the class; the holder may reslice it.
	B []byte

	mem   []byte // the whole buffer
	arena *Arena
	slab  *slab // nil for a buffer with a mapping of its own
	next  *Buf  // in the free list
	class int
	refs  int // > 0 while held; 0 in the free list
}

// Retain adds a reference.
func (b *Buf) Retain() {
	if b.refs <= 0 {
		invariant.Broken("arena: Retain of a released buffer", b.refs)
	}
	b.refs++
}

// Release drops a reference; the last one returns the memory to its arena.
func (b *Buf) Release() {
	if b.refs <= 0 {
		invariant.Broken("arena: buffer released twice", b.refs)
	}
	b.refs--
	if b.refs == 0 {
		b.arena.put(b)
	}
}

// Refs is the number of references, for checks and tests.
func (b *Buf) Refs() int { return b.refs }

// FixedIndex is the index of the buffer's slab in Slabs, or -1 when it is not part of a slab that Slabs has listed.
func (b *Buf) FixedIndex() int {
	if b.slab == nil || b.slab.index >= b.arena.exported {
		return -1
	}
	return b.slab.index
}
