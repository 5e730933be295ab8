package batch

import "errors"

var (
	errLength  = errors.New("the record's length does not fit the batch")
	errHeaders = errors.New("the count of headers does not fit the record")
	errFields  = errors.New("a field does not fit the record's length")
)

// reader takes varints and sized fields from a record. After a fault bad stays true and everything reads as 0.
type reader struct {
	b   []byte
	i   int
	bad bool
}

func (r *reader) uvarint(most int) uint64 {
	var v uint64
	for n := 0; n < most && r.i < len(r.b) && !r.bad; n++ {
		c := r.b[r.i]
		r.i++
		v |= uint64(c&0x7f) << (7 * n)
		if c < 0x80 {
			return v
		}
	}
	r.bad = true
	return 0
}

// varint32 reads a zigzag varint of at most five bytes.
func (r *reader) varint32() int32 {
	v := r.uvarint(5)
	if v > 0xffffffff {
		r.bad = true
		return 0
	}
	u := uint32(v)
	return int32(u>>1) ^ -int32(u&1)
}

// varint64 reads a zigzag varint of at most ten bytes.
func (r *reader) varint64() int64 {
	v := r.uvarint(10)
	return int64(v>>1) ^ -int64(v&1)
}

func (r *reader) skip(n int) {
	if r.bad || n < 0 || n > len(r.b)-r.i {
		r.bad = true
		return
	}
	r.i += n
}

// field skips a sized field and reports whether it is there: length -1 means null.
func (r *reader) field() bool {
	n := r.varint32()
	if n == -1 {
		return false
	}
	r.skip(int(n))
	return !r.bad
}

// bytes is field with its content; nil for null.
func (r *reader) bytes() []byte {
	n := r.varint32()
	if n == -1 || r.bad {
		return nil
	}
	from := r.i
	if r.skip(int(n)); r.bad {
		return nil
	}
	return r.b[from:r.i:r.i]
}
