package main

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// format prints a record by kcat's directives:
// %s value, %S its length (-1 null), %R the same as 4 bytes, %k key, %K its length, %t topic, %p partition, %o offset,
// %T time in ms, %h headers as k=v,k=v, %% a percent sign; and \n \r \t \0 \xHH.
type format struct {
	parts []formatPart
}

type formatPart struct {
	literal string
	verb    byte // 0: literal
}

func parseFormat(text string) (*format, error) {
	f := &format{}
	plain := string(unescape(text))
	for plain != "" {
		before, rest, found := strings.Cut(plain, "%")
		if before != "" {
			f.parts = append(f.parts, formatPart{literal: before})
		}
		if !found {
			break
		}
		if rest == "" || !strings.Contains("sSRkKtpoTh%", rest[:1]) {
			return nil, usageError("-f %q: after %% there must be one of s S R k K t p o T h %%", text)
		}
		if rest[0] == '%' {
			f.parts = append(f.parts, formatPart{literal: "%"})
		} else {
			f.parts = append(f.parts, formatPart{verb: rest[0]})
		}
		plain = rest[1:]
	}
	return f, nil
}

// append adds the record's text to b.
func (f *format) append(b []byte, r *kgo.Record) []byte {
	for _, p := range f.parts {
		switch p.verb {
		case 0:
			b = append(b, p.literal...)
		case 's':
			b = append(b, r.Value...)
		case 'S':
			b = strconv.AppendInt(b, length(r.Value), 10)
		case 'R':
			b = binary.BigEndian.AppendUint32(b, uint32(length(r.Value)))
		case 'k':
			b = append(b, r.Key...)
		case 'K':
			b = strconv.AppendInt(b, length(r.Key), 10)
		case 't':
			b = append(b, r.Topic...)
		case 'p':
			b = strconv.AppendInt(b, int64(r.Partition), 10)
		case 'o':
			b = strconv.AppendInt(b, r.Offset, 10)
		case 'T':
			b = strconv.AppendInt(b, r.Timestamp.UnixMilli(), 10)
		case 'h':
			b = appendHeaders(b, r.Headers)
		}
	}
	return b
}

func length(b []byte) int64 {
	if b == nil {
		return -1
	}
	return int64(len(b))
}

func appendHeaders(b []byte, headers []kgo.RecordHeader) []byte {
	for i, h := range headers {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, h.Key...)
		b = append(b, '=')
		if h.Value == nil {
			b = append(b, "NULL"...)
		}
		b = append(b, h.Value...)
	}
	return b
}

// unescape replaces \n \r \t \0 \\ and \xHH by what they stand for; everything else stays.
func unescape(text string) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		i++
		switch text[i] {
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case '0':
			out = append(out, 0)
		case '\\':
			out = append(out, '\\')
		case 'x':
			if i+2 < len(text) {
				if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
					out = append(out, byte(n))
					i += 2
					continue
				}
			}
			out = append(out, '\\', 'x')
		default:
			out = append(out, '\\', text[i])
		}
	}
	return out
}
