package jute

import (
	"encoding/binary"
	"unicode/utf8"
)

// decodeText turns the bytes of a string into Go text. The usual case, ASCII or well-formed
// UTF-8, is one copy; each malformed byte becomes U+FFFD.
func decodeText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return string(out)
}

// AppendText writes s with its length. Characters beyond the basic plane are written as two
// surrogates of three bytes each: ZooKeeper encodes Java chars one by one.
func AppendText(dst []byte, s string) []byte {
	at := len(dst)
	dst = AppendInt(dst, int32(len(s)))
	for i := 0; i < len(s); i++ {
		if s[i] >= 0xF0 {
			return appendSurrogates(dst[:at], s)
		}
	}
	return append(dst, s...)
}

func appendSurrogates(dst []byte, s string) []byte {
	at := len(dst)
	dst = AppendInt(dst, 0)
	for _, r := range s {
		if r < 0x10000 {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		r -= 0x10000
		for _, c := range [2]rune{0xD800 + r>>10, 0xDC00 + r&0x3FF} {
			dst = append(dst, 0xE0|byte(c>>12), 0x80|byte(c>>6)&0xBF, 0x80|byte(c)&0xBF)
		}
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
