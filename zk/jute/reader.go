package jute

import (
	"encoding/binary"
)

// Reader takes a record apart. It never copies byte fields and never reads past its input;
// after an error every further read yields zero values, so callers check Err once at the end.
type Reader struct {
	b   []byte
	err error
}

// NewReader returns a reader over b.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Err is the first error met.
func (r *Reader) Err() error { return r.err }

// Rest is what has not been read yet.
func (r *Reader) Rest() []byte { return r.b }

// Len is the number of bytes not read yet.
func (r *Reader) Len() int { return len(r.b) }

func (r *Reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if len(r.b) < n {
		r.err = ErrShort
		r.b = nil
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

// Int reads a 32-bit number.
func (r *Reader) Int() int32 {
	b := r.take(4)
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

// Long reads a 64-bit number.
func (r *Reader) Long() int64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// Bytes reads n bytes without copying; nil when there are fewer.
func (r *Reader) Bytes(n int) []byte { return r.take(n) }

// Bool reads one byte; only 1 is true, as in Java's DataInput any other non-zero byte is true too.
func (r *Reader) Bool() bool {
	b := r.take(1)
	return b != nil && b[0] != 0
}

// Buffer reads a length and as many bytes, without copying. A length of -1 yields nil, 0 an empty slice.
func (r *Reader) Buffer() []byte {
	n := r.Int()
	switch {
	case r.err != nil || n == -1:
		return nil
	case n < 0 || int(n) > len(r.b):
		r.fail(ErrLength)
		return nil
	}
	return r.take(int(n))
}

// Text reads a string. null tells a length of -1 from an empty string. Malformed UTF-8 is
// replaced as Java's decoder does, so that what is echoed back is what ZooKeeper would echo.
func (r *Reader) Text() (s string, null bool) {
	b := r.Buffer()
	if b == nil {
		return "", true
	}
	return decodeText(b), false
}

// String reads a string and makes no difference between null and empty.
func (r *Reader) String() string {
	s, _ := r.Text()
	return s
}

// Count reads the number of elements of a vector, each of at least minSize bytes; null is -1.
// A count that the rest of the record cannot hold is an error, so the caller may allocate for it.
func (r *Reader) Count(minSize int) int {
	n := r.Int()
	if r.err != nil {
		return 0
	}
	if n == -1 {
		return -1
	}
	if n < 0 || int64(n)*int64(minSize) > int64(len(r.b)) {
		r.fail(ErrLength)
		return 0
	}
	return int(n)
}

// Strings reads a vector of strings; null yields nil.
func (r *Reader) Strings() []string {
	n := r.Count(4)
	if n < 0 || r.err != nil {
		return nil
	}
	out := make([]string, 0, n)
	for range n {
		s := r.String()
		if r.err != nil {
			return nil
		}
		out = append(out, s)
	}
	return out
}
