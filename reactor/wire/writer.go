package wire

import "encoding/binary"

// Writer appends Kafka's primitives to a buffer.
type Writer struct{ B []byte }

// Int8 appends one byte.
func (w *Writer) Int8(v int8) { w.B = append(w.B, byte(v)) }

// Int16 appends two bytes.
func (w *Writer) Int16(v int16) { w.B = binary.BigEndian.AppendUint16(w.B, uint16(v)) }

// Int32 appends four bytes.
func (w *Writer) Int32(v int32) { w.B = binary.BigEndian.AppendUint32(w.B, uint32(v)) }

// Int64 appends eight bytes.
func (w *Writer) Int64(v int64) { w.B = binary.BigEndian.AppendUint64(w.B, uint64(v)) }

// Uvarint appends an unsigned varint.
func (w *Writer) Uvarint(v uint32) { w.B = binary.AppendUvarint(w.B, uint64(v)) }

// Array appends an array's count.
func (w *Writer) Array(flex bool, n int) {
	if flex {
		w.Uvarint(uint32(n + 1))
	} else {
		w.Int32(int32(n))
	}
}

// NullArray appends an array that is null.
func (w *Writer) NullArray(flex bool) { w.Array(flex, -1) }

// String appends a string that is not null.
func (w *Writer) String(flex bool, s []byte) {
	if flex {
		w.Uvarint(uint32(len(s) + 1))
	} else {
		w.Int16(int16(len(s)))
	}
	w.B = append(w.B, s...)
}

// NullableString appends s, "" as null.
func (w *Writer) NullableString(flex bool, s string) {
	switch {
	case s == "" && flex:
		w.Uvarint(0)
	case s == "":
		w.Int16(-1)
	case flex:
		w.Uvarint(uint32(len(s) + 1))
		w.B = append(w.B, s...)
	default:
		w.Int16(int16(len(s)))
		w.B = append(w.B, s...)
	}
}

// UUID appends sixteen bytes.
func (w *Writer) UUID(id [16]byte) { w.B = append(w.B, id[:]...) }

// Tags appends an empty section of tagged fields.
func (w *Writer) Tags(flex bool) {
	if flex {
		w.B = append(w.B, 0)
	}
}

// UvarintLen is the number of bytes that Uvarint appends for v.
func UvarintLen(v uint32) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}
