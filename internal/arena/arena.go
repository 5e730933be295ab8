package arena

import (
	"github.com/pelton-broker/pelton/internal/invariant"
)

// Options are the limits of one arena. Zero fields get the defaults.
type Options struct {
	// SlabBytes is the size of one slab; buffers of at most a quarter of it are cut from slabs. Default 2 MiB.
	SlabBytes int
	// MaxBytes bounds what is mapped, handed out or kept. Zero means no bound.
	MaxBytes int64
	// HugePages asks for transparent huge pages in slabs and large buffers: fewer first-touch faults, more idle memory.
	HugePages bool
}

const defaultSlabBytes = 2 << 20

// Arena hands out buffers of one shard.
type Arena struct {
	o        Options
	slabMax  int              // the largest class that is cut from slabs, in bytes
	free     [classCount]*Buf // per class, linked through Buf.next
	slabs    []*slab
	inUse    int64 // bytes of classes handed out
	mapped   int64 // bytes of slabs and large mappings; mapped <= MaxBytes when that is set
	exported int   // slabs below this index were shown to Slabs and are never unmapped
	closed   bool
}

// slab is one mapping that is cut into buffers of one class. A slab whose buffers are all free can be cut anew for another class.
type slab struct {
	mem   []byte
	bufs  []Buf // of the current class
	class int
	out   int // buffers handed out
	index int
}

// New returns an empty arena; nothing is mapped before the first Get.
func New(o Options) *Arena {
	if o.SlabBytes <= 0 {
		o.SlabBytes = defaultSlabBytes
	}
	if o.SlabBytes < 4*classMin {
		o.SlabBytes = 4 * classMin
	}
	o.SlabBytes = (o.SlabBytes + pageBytes - 1) &^ (pageBytes - 1)
	return &Arena{o: o, slabMax: min(o.SlabBytes/4, classSize(classCount-1))}
}

// Get returns a buffer with one reference and len(B) == n, or nil when MaxBytes would be passed or n is above MaxBuf.
// The bytes are whatever the last user left, or poison in check builds.
func (a *Arena) Get(n int) *Buf {
	if a.closed {
		invariant.Broken("arena: Get after Close", n)
	}
	if n < 1 || n > MaxBuf {
		return nil
	}
	class := classOf(n)
	b := a.free[class]
	if b == nil {
		if !a.grow(class) {
			return nil
		}
		b = a.free[class]
	}
	a.free[class] = b.next
	b.next = nil
	if b.refs != 0 {
		invariant.Broken("arena: a free buffer has references", b.refs)
	}
	b.refs = 1
	b.B = b.mem[:n]
	if b.slab != nil {
		b.slab.out++
	}
	a.inUse += int64(len(b.mem))
	return b
}

// grow puts at least one buffer of class on its free list.
func (a *Arena) grow(class int) bool {
	size := classSize(class)
	if size > a.slabMax {
		if !a.room(int64(size)) {
			return false
		}
		mem, err := mapMemory(size, a.o.HugePages)
		if err != nil {
			return false
		}
		a.mapped += int64(size)
		a.free[class] = &Buf{mem: mem, arena: a, class: class}
		return true
	}
	if a.room(int64(a.o.SlabBytes)) {
		mem, err := mapMemory(a.o.SlabBytes, a.o.HugePages)
		if err != nil {
			return false
		}
		a.mapped += int64(len(mem))
		s := &slab{mem: mem, index: len(a.slabs)}
		a.slabs = append(a.slabs, s)
		a.cut(s, class)
		return true
	}
	if s := a.idleSlab(); s != nil {
		a.uncut(s)
		a.cut(s, class)
		return true
	}
	return false
}

// room makes sure that n more bytes may be mapped. Large buffers that nobody holds go first; slabs stay, since they are cut anew instead.
func (a *Arena) room(n int64) bool {
	if a.o.MaxBytes <= 0 || a.mapped+n <= a.o.MaxBytes {
		return true
	}
	if n > a.o.MaxBytes {
		return false
	}
	for class := classCount - 1; class >= 0 && classSize(class) > a.slabMax; class-- {
		for a.free[class] != nil && a.mapped+n > a.o.MaxBytes {
			b := a.free[class]
			a.free[class] = b.next
			a.mapped -= int64(len(b.mem))
			unmapMemory(b.mem)
			b.mem, b.B = nil, nil
		}
	}
	for a.mapped+n > a.o.MaxBytes {
		s := a.lastIdleSlab()
		if s == nil {
			return false
		}
		a.uncut(s)
		a.mapped -= int64(len(s.mem))
		unmapMemory(s.mem)
		last := len(a.slabs) - 1
		a.slabs[last].index = s.index
		a.slabs[s.index] = a.slabs[last]
		a.slabs = a.slabs[:last]
	}
	return true
}

func (a *Arena) idleSlab() *slab {
	for _, s := range a.slabs {
		if s.out == 0 {
			return s
		}
	}
	return nil
}

// lastIdleSlab finds a slab that may be unmapped. Only unexported ones may: the kernel holds the others, and their index must not change.
func (a *Arena) lastIdleSlab() *slab {
	for i := len(a.slabs) - 1; i >= a.exported; i-- {
		if a.slabs[i].out == 0 {
			return a.slabs[i]
		}
	}
	return nil
}

// cut makes buffers of class out of an uncut slab.
func (a *Arena) cut(s *slab, class int) {
	size := classSize(class)
	count := len(s.mem) / size
	s.class = class
	s.bufs = make([]Buf, count)
	for i := range s.bufs {
		b := &s.bufs[i]
		b.mem = s.mem[i*size : (i+1)*size : (i+1)*size]
		b.arena, b.slab, b.class = a, s, class
		b.next = a.free[class]
		a.free[class] = b
	}
}

// uncut takes an idle slab's buffers off their free list.
func (a *Arena) uncut(s *slab) {
	if s.out != 0 {
		invariant.Broken("arena: slab in use is cut anew", s.out)
	}
	link := &a.free[s.class]
	for *link != nil {
		if (*link).slab == s {
			*link = (*link).next
			continue
		}
		link = &(*link).next
	}
	s.bufs = nil
}

// put takes a buffer back whose last reference is gone.
func (a *Arena) put(b *Buf) {
	invariant.Fill(b.mem, poison)
	b.B = nil
	a.inUse -= int64(len(b.mem))
	if b.slab != nil {
		b.slab.out--
	}
	if a.closed {
		return
	}
	b.next = a.free[b.class]
	a.free[b.class] = b
}

// InUse is the number of bytes handed out, counted in whole classes.
func (a *Arena) InUse() int64 { return a.inUse }

// Mapped is the number of bytes that the arena holds from the kernel, handed out or kept.
func (a *Arena) Mapped() int64 { return a.mapped }

// Slabs lists the slabs mapped so far, for registration with a ring; from now on they keep their index and are never unmapped before Close.
func (a *Arena) Slabs() [][]byte {
	a.exported = len(a.slabs)
	out := make([][]byte, len(a.slabs))
	for i, s := range a.slabs {
		out[i] = s.mem
	}
	return out
}

// SlabCount is how many slabs there are; beyond those that Slabs listed last, there are new ones.
func (a *Arena) SlabCount() int { return len(a.slabs) }

// Close gives the memory back. Every buffer must have been released: the kernel or a connection could still write into one that is out.
func (a *Arena) Close() {
	if a.closed {
		return
	}
	if a.inUse != 0 {
		invariant.Broken("arena: closed with bytes in use", a.inUse)
	}
	a.closed = true
	for _, s := range a.slabs {
		unmapMemory(s.mem)
	}
	for class := range a.free {
		for b := a.free[class]; b != nil; b = b.next {
			if b.slab == nil {
				unmapMemory(b.mem)
			}
		}
		a.free[class] = nil
	}
	a.slabs, a.mapped = nil, 0
}
