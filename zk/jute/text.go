package jute

import (
	"encoding/binary"
	"unicode/utf8"
)

// decodeText turns the bytes of a string into Go text. The usual case, ASCII or well-formed
// UTF-8, is one copy; what is malformed becomes U+FFFD in the portions in which Java's decoder replaces it.
func decodeText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n <= 1 {
			n = malformed(b)
		}
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return string(out)
}

// malformed is how many bytes Java replaces by one character at the beginning of b: as much as could begin a
// character, and a whole encoded surrogate.
func malformed(b []byte) int {
	cont := func(i int) bool { return i < len(b) && b[i]&0xC0 == 0x80 }
	switch c := b[0]; {
	case c >= 0xE0 && c <= 0xEF:
		if !cont(1) || c == 0xE0 && b[1] < 0xA0 {
			return 1
		}
		if cont(2) {
			return 3
		}
		return 2
	case c >= 0xF0 && c <= 0xF4:
		switch {
		case !cont(1) || c == 0xF0 && b[1] < 0x90 || c == 0xF4 && b[1] > 0x8F:
			return 1
		case !cont(2):
			return 2
		}
		return 3
	}
	return 1
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
