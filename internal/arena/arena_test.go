package arena

import (
	"testing"

	"github.com/pelton-broker/pelton/internal/invariant"
	"pgregory.net/rapid"
)

func mustBreak(t *testing.T, what string, fn func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Fatalf("%s did not break an invariant", what)
		}
	}()
	fn()
}

func TestClassHoldsAndIsTight(t *testing.T) {
	prev := 0
	for c := range classCount {
		size := classSize(c)
		if size <= prev {
			t.Fatalf("class %d has %d bytes, the one below %d", c, size, prev)
		}
		for _, n := range []int{prev + 1, size} {
			if got := classOf(n); got != c {
				t.Fatalf("classOf(%d) = %d (%d bytes), want %d (%d bytes)", n, got, classSize(got), c, size)
			}
		}
		if size > classFine && size%pageBytes != 0 {
			t.Fatalf("class %d of %d bytes is not whole pages", c, size)
		}
		prev = size
	}
	if prev != MaxBuf {
		t.Fatalf("largest class %d, want %d", prev, MaxBuf)
	}
}

func TestArenaGetSizes(t *testing.T) {
	a := New(Options{})
	for _, n := range []int{1, 255, 256, 257, 4096, 65537, 1 << 20, 1<<20 + 100, 100 << 20, MaxBuf} {
		b := a.Get(n)
		if b == nil || len(b.B) != n || cap(b.B) != classSize(classOf(n)) {
			t.Fatalf("Get(%d): %v", n, b)
		}
		b.B[0], b.B[n-1] = 1, 2
		b.Release()
	}
	if a.InUse() != 0 {
		t.Fatalf("%d bytes in use after every release", a.InUse())
	}
	if a.Get(0) != nil || a.Get(-1) != nil || a.Get(MaxBuf+1) != nil {
		t.Fatal("a size out of bounds was served")
	}
	a.Close()
}

func TestArenaReusesMemory(t *testing.T) {
	a := New(Options{})
	defer a.Close()
	for _, n := range []int{100, 1000, 1 << 20, 5 << 20} {
		first := a.Get(n)
		at := &first.B[0]
		first.Release()
		second := a.Get(n)
		if &second.B[0] != at {
			t.Fatalf("Get(%d) mapped new memory though a free buffer was there", n)
		}
		second.Release()
	}
}

func TestBufReferences(t *testing.T) {
	a := New(Options{})
	b := a.Get(10)
	b.Retain()
	b.Release()
	if a.InUse() == 0 || b.B == nil {
		t.Fatal("a buffer with a reference left was freed")
	}
	mem := b.B[:1]
	mem[0] = 7
	b.Release()
	if a.InUse() != 0 {
		t.Fatal("the last release did not free")
	}
	if invariant.Enabled && mem[0] != poison {
		t.Fatalf("released memory reads %#x in a check build", mem[0])
	}
	mustBreak(t, "a second release", b.Release)
	mustBreak(t, "Retain after release", b.Retain)
	a.Close()
	mustBreak(t, "Get after Close", func() { a.Get(1) })
}

func TestArenaCloseRefusesLiveBuffers(t *testing.T) {
	a := New(Options{})
	b := a.Get(10)
	mustBreak(t, "Close with a live buffer", a.Close)
	b.Release()
	a.Close()
}

func TestArenaLimit(t *testing.T) {
	a := New(Options{SlabBytes: 1 << 20, MaxBytes: 4 << 20})
	var small []*Buf
	for b := a.Get(1000); b != nil; b = a.Get(1000) {
		small = append(small, b)
	}
	if a.Mapped() > 4<<20 || len(small) != 4096 {
		t.Fatalf("%d buffers of 1 KiB in %d mapped bytes", len(small), a.Mapped())
	}
	if a.Get(2<<20) != nil {
		t.Fatal("a large buffer was mapped above the limit")
	}
	for _, b := range small {
		b.Release()
	}
	// Everything is free, but cut as 1 KiB: the limit must not starve other sizes for ever.
	big := a.Get(2 << 20)
	if big == nil {
		t.Fatal("free slabs of another class starve a large buffer")
	}
	mid := a.Get(5000)
	if mid == nil {
		t.Fatal("free slabs of another class starve a small buffer")
	}
	if a.Mapped() > 4<<20 {
		t.Fatalf("%d bytes mapped above the limit", a.Mapped())
	}
	mid.Release()
	big.Release()
	a.Close()
}

func TestArenaFixedIndex(t *testing.T) {
	a := New(Options{SlabBytes: 1 << 20})
	defer a.Close()
	b := a.Get(1000)
	if b.FixedIndex() != -1 {
		t.Fatal("a slab that was never listed has an index")
	}
	slabs := a.Slabs()
	i := b.FixedIndex()
	if i != 0 || &slabs[i][0:1][0] != &b.slab.mem[0] {
		t.Fatalf("index %d does not name the buffer's slab", i)
	}
	big := a.Get(1 << 20)
	if big.FixedIndex() != -1 {
		t.Fatal("a large buffer has an index")
	}
	big.Release()
	b.Release()
}

func TestArenaSteadyStateAllocatesNothing(t *testing.T) {
	a := New(Options{})
	defer a.Close()
	sizes := []int{100, 4000, 70000, 1 << 20}
	round := func() {
		var held [4]*Buf
		for i, n := range sizes {
			held[i] = a.Get(n)
			held[i].Retain()
		}
		for _, b := range held {
			b.Release()
			b.Release()
		}
	}
	round()
	if n := testing.AllocsPerRun(200, round); n != 0 {
		t.Fatalf("%v allocations per round", n)
	}
}

// TestArenaModel gets and releases at random against a model: no two live buffers overlap, the counts agree, the limit holds.
func TestArenaModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New(Options{SlabBytes: 64 << 10, MaxBytes: 1 << 20})
		var live []*Buf
		var marks []byte
		var inUse int64
		for i := range rapid.IntRange(1, 150).Draw(t, "steps") {
			if len(live) > 0 && rapid.Bool().Draw(t, "release") {
				at := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				b := live[at]
				for _, c := range []byte{b.B[0], b.B[len(b.B)-1]} {
					if c != marks[at] {
						t.Fatalf("another buffer wrote into this one: %d, want %d", c, marks[at])
					}
				}
				inUse -= int64(len(b.mem))
				b.Release()
				live = append(live[:at], live[at+1:]...)
				marks = append(marks[:at], marks[at+1:]...)
				continue
			}
			b := a.Get(rapid.SampledFrom([]int{1, 300, 5000, 16384, 20000, 70000, 300000}).Draw(t, "size"))
			if a.Mapped() > 1<<20 {
				t.Fatalf("mapped %d", a.Mapped())
			}
			if b == nil {
				continue
			}
			b.B[0], b.B[len(b.B)-1] = byte(i), byte(i)
			live, marks = append(live, b), append(marks, byte(i))
			inUse += int64(len(b.mem))
			if a.InUse() != inUse {
				t.Fatalf("InUse %d, model %d", a.InUse(), inUse)
			}
		}
		for _, b := range live {
			b.Release()
		}
		a.Close()
	})
}
