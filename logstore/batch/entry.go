package batch

import "encoding/binary"

// EntrySize tells the whole size and the format of the entry at the start of b, which needs PrefixSize bytes.
// The size may be more than len(b). ErrTruncated for a length that no entry can have, ErrMagic for an unknown format.
func EntrySize(b []byte) (size int, magic int8, err error) {
	if len(b) < PrefixSize {
		return 0, 0, ErrTruncated
	}
	length := int32(binary.BigEndian.Uint32(b[8:]))
	magic = int8(b[16])
	switch {
	case magic < 0 || magic > 2:
		return 0, magic, ErrMagic
	case magic == 2 && length < HeaderSize-LogOverhead, length < minLegacySize:
		return 0, magic, ErrTruncated
	}
	return int(length) + LogOverhead, magic, nil
}

// Entry is a batch of any format, as far as a log needs to know it.
type Entry struct {
	Header     // for formats 0 and 1 what has no place there is "none"; BaseOffset is -1 when only the records tell it
	Size   int // whole, in bytes
	Last   int64
}

// ParseEntry reads the entry at the start of b without looking at its records.
// HeaderSize bytes are enough for format 2; formats 0 and 1 need up to 22 + LogOverhead.
func ParseEntry(b []byte) (Entry, error) {
	size, magic, err := EntrySize(b)
	if err != nil {
		return Entry{}, err
	}
	if magic == 2 {
		h, err := ParseHeader(b)
		if err != nil {
			return Entry{}, err
		}
		return Entry{Header: h, Size: size, Last: h.LastOffset()}, nil
	}
	return parseLegacyEntry(b, size, magic)
}
