package wire

import (
	"encoding/binary"
	"fmt"
)

// MaxTags is how many tagged fields one structure may carry. Kafka defines at most a handful;
// millions of two-byte tags in a header are an attack (CVE-2026-111115).
const MaxTags = 64

// Reader walks a frame. Its strings and byte fields are views into the frame.
type Reader struct {
	b   []byte
	err error
}

// NewReader returns a reader at the start of b.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Err is the first fault met, nil when there was none.
func (r *Reader) Err() error { return r.err }

// Left is the number of bytes not yet read.
func (r *Reader) Left() int { return len(r.b) }

// Rest returns what has not been read.
func (r *Reader) Rest() []byte { return r.b }

func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

// Take returns the next n bytes.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail(ErrTruncated)
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// Int8 reads one byte.
func (r *Reader) Int8() int8 {
	if len(r.b) < 1 {
		r.fail(ErrTruncated)
		return 0
	}
	v := int8(r.b[0])
	r.b = r.b[1:]
	return v
}

// Int16 reads two bytes, big endian as all of Kafka.
func (r *Reader) Int16() int16 {
	if len(r.b) < 2 {
		r.fail(ErrTruncated)
		return 0
	}
	v := int16(binary.BigEndian.Uint16(r.b))
	r.b = r.b[2:]
	return v
}

// Int32 reads four bytes.
func (r *Reader) Int32() int32 {
	if len(r.b) < 4 {
		r.fail(ErrTruncated)
		return 0
	}
	v := int32(binary.BigEndian.Uint32(r.b))
	r.b = r.b[4:]
	return v
}

// Int64 reads eight bytes.
func (r *Reader) Int64() int64 {
	if len(r.b) < 8 {
		r.fail(ErrTruncated)
		return 0
	}
	v := int64(binary.BigEndian.Uint64(r.b))
	r.b = r.b[8:]
	return v
}

// Uvarint reads an unsigned varint of at most five bytes.
func (r *Reader) Uvarint() uint32 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || n > 5 || v > 1<<32-1 {
		r.fail(ErrTruncated)
		return 0
	}
	r.b = r.b[n:]
	return uint32(v)
}

// UUID reads sixteen bytes.
func (r *Reader) UUID() (id [16]byte) {
	copy(id[:], r.Take(16))
	return id
}

// length reads the length of a string, byte field or array: -1 is null.
func (r *Reader) length(flex, short bool) int {
	switch {
	case flex:
		return int(r.Uvarint()) - 1
	case short:
		return int(r.Int16())
	default:
		return int(r.Int32())
	}
}

// String reads a string as a view; null is nil, the empty string is not.
func (r *Reader) String(flex bool) []byte { return r.sized(r.length(flex, true)) }

// Bytes reads a byte field as a view; null is nil.
func (r *Reader) Bytes(flex bool) []byte { return r.sized(r.length(flex, false)) }

func (r *Reader) sized(n int) []byte {
	if n == -1 {
		return nil
	}
	return r.Take(n)
}

// Array reads an array's count, 0 for null. A count that the rest of the frame cannot hold, at
// least bytes an element, is refused before anybody allocates for it.
func (r *Reader) Array(flex bool, least int) int {
	n := r.length(flex, false)
	if n == -1 {
		return 0
	}
	if n < 0 || n > len(r.b)/least {
		r.fail(fmt.Errorf("wire: an array of %d elements in %d bytes: %w", n, len(r.b), ErrTruncated))
		return 0
	}
	return n
}

// Tags skips a section of tagged fields. known, when not nil, may read a field it knows and says so.
func (r *Reader) Tags(flex bool, known func(tag uint32, field *Reader) bool) {
	if !flex {
		return
	}
	n := r.Uvarint()
	if n > MaxTags {
		r.fail(fmt.Errorf("wire: %d tagged fields, the bound is %d", n, MaxTags))
		return
	}
	last := int64(-1)
	for range n {
		tag := r.Uvarint()
		if int64(tag) <= last {
			r.fail(fmt.Errorf("wire: tag %d after tag %d", tag, last))
			return
		}
		last = int64(tag)
		field := NewReader(r.Take(int(r.Uvarint())))
		if known != nil && r.err == nil && known(tag, &field) && field.err != nil {
			r.fail(field.err)
		}
	}
}
