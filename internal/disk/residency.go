package disk

import "github.com/pelton-broker/pelton/internal/uring"

// scratchBytes is where ReadAhead reads to: small enough to stay in a core's cache, and nobody ever looks at it.
const scratchBytes = 64 << 10

// residency answers what is in the page cache. It belongs to one Disk.
type residency struct {
	scratch []byte
	probe   uring.Vec
	ahead   []aheadRange // what is being loaded now
	// Set when the kernel has no such call.
	noCachestat bool
}

// aheadRange is a range that a ReadAhead is loading. Its pages are in the page cache, and count as such, before their bytes have come.
type aheadRange struct {
	op       *Op
	off, end int64
}

// loading notes that op is about to load its range, and lends it the scratch buffer.
func (r *residency) loading(op *Op) {
	op.scratch = r.scratchBuffer()
	r.ahead = append(r.ahead, aheadRange{op: op, off: op.Off, end: op.Off + int64(op.ReadLen)})
}

func (r *residency) loaded(op *Op) {
	for i := range r.ahead {
		if r.ahead[i].op == op {
			last := len(r.ahead) - 1
			r.ahead[i] = r.ahead[last]
			r.ahead[last] = aheadRange{}
			r.ahead = r.ahead[:last]
			return
		}
	}
}

// isLoading says whether a part of the range is being loaded.
func (r *residency) isLoading(f *File, off, n int64) bool {
	for i := range r.ahead {
		a := &r.ahead[i]
		if a.op.File == f && a.off < off+n && off < a.end {
			return true
		}
	}
	return false
}

func (r *residency) scratchBuffer() []byte {
	if r.scratch == nil {
		r.scratch = make([]byte, scratchBytes)
	}
	return r.scratch
}

// fillScratch makes v cover n bytes, or as many as one call takes, with scratch again and again.
func fillScratch(v *uring.Vec, scratch []byte, n int) {
	v.Reset()
	for n > 0 {
		piece := min(n, len(scratch))
		if !v.Add(scratch[:piece]) {
			return
		}
		n -= piece
	}
}
