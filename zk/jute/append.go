package jute

import "encoding/binary"

// AppendInt writes a 32-bit number.
func AppendInt(dst []byte, v int32) []byte { return binary.BigEndian.AppendUint32(dst, uint32(v)) }

// AppendLong writes a 64-bit number.
func AppendLong(dst []byte, v int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(v)) }

// AppendBool writes one byte.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendBuffer writes a length and the bytes; nil is written as null, length -1.
func AppendBuffer(dst, b []byte) []byte {
	if b == nil {
		return AppendInt(dst, -1)
	}
	return append(AppendInt(dst, int32(len(b))), b...)
}

// AppendTexts writes a vector of strings.
func AppendTexts(dst []byte, v []string) []byte {
	dst = AppendInt(dst, int32(len(v)))
	for _, s := range v {
		dst = AppendText(dst, s)
	}
	return dst
}

// PutInt writes a 32-bit number in place.
func PutInt(b []byte, v int32) { binary.BigEndian.PutUint32(b, uint32(v)) }
