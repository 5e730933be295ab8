package batch

import (
	"encoding/binary"
	"hash/crc32"
)

// DownConvert appends to dst the records of whole batches from offset from on in format magic, 0 or 1, for a client that knows no other.
// Batches of that format or an older one are copied as they are. Headers are dropped, control batches are left out, zstd is ErrCodec.
// Compressed batches stay compressed and whole: such clients skip what they did not ask for.
func (it *Iterator) DownConvert(dst, b []byte, magic int8, from int64) ([]byte, error) {
	if it.Codecs == nil {
		it.Codecs = NewCodecs()
	}
	for len(b) >= PrefixSize {
		size, have, err := EntrySize(b)
		if err != nil {
			return dst, err
		}
		if size > len(b) {
			return dst, nil
		}
		if have <= magic {
			dst = append(dst, b[:size]...)
		} else if dst, err = it.downBatch(dst, b[:size], magic, from); err != nil {
			return dst, err
		}
		b = b[size:]
	}
	return dst, nil
}

// downBatch converts one entry of a newer format.
func (it *Iterator) downBatch(dst, b []byte, magic int8, from int64) ([]byte, error) {
	e, err := ParseEntry(b)
	if err != nil {
		return dst, err
	}
	codec := e.Codec()
	if e.Magic == 2 && e.IsControl() {
		return dst, nil
	}
	if codec > LZ4 {
		return dst, ErrCodec
	}
	set := it.set[:0]
	if codec == None {
		set = dst
	} else {
		defer func() { it.keep(set) }()
	}
	base, last, newest, n := int64(-1), int64(-1), NoTimestamp, 0
	err = it.Each(b, func(r Record) bool {
		if codec == None && r.Offset < from {
			return true
		}
		if n == 0 {
			base = r.Offset
		}
		offset := r.Offset
		if codec != None && magic == 1 {
			offset -= base
		}
		n, last, newest = n+1, r.Offset, max(newest, r.Timestamp)
		set = appendMessage(set, magic, offset, r.Timestamp, e.Attributes&attrLogAppendTime, r.Key, r.Value)
		return true
	})
	if err != nil || n == 0 {
		return dst, err
	}
	if codec == None {
		return set, nil
	}
	return appendWrapper(dst, it.Codecs, magic, codec, 0, set, last, newest, e.Attributes&attrLogAppendTime)
}

// keep keeps memory for the messages of a wrapper.
func (it *Iterator) keep(set []byte) {
	if cap(set) <= keptBuffer {
		it.set = set
	}
}

// appendMessage writes one message of format 0 or 1.
func appendMessage(b []byte, magic int8, offset, ts int64, attr int16, key, value []byte) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint64(b, uint64(offset))
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0) // size and CRC
	if magic == 0 {
		attr &= attrCodec
	}
	b = append(b, byte(magic), byte(attr))
	if magic == 1 {
		b = binary.BigEndian.AppendUint64(b, uint64(ts))
	}
	b = appendLegacyField(b, key)
	b = appendLegacyField(b, value)
	binary.BigEndian.PutUint32(b[at+8:], uint32(len(b)-at-LogOverhead))
	sealLegacy(b[at:])
	return b
}

// sealLegacy computes the checksum of one whole message of formats 0 and 1 and writes it.
func sealLegacy(b []byte) {
	binary.BigEndian.PutUint32(b[legacyCRC:], crc32.ChecksumIEEE(b[legacyMagic:]))
}

func appendLegacyField(b, v []byte) []byte {
	if v == nil {
		return binary.BigEndian.AppendUint32(b, 0xffffffff)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
	return append(b, v...)
}

// breakLZ4 makes the frame descriptor's checksum the one that clients of format 0 compute and check: over the magic number too.
func breakLZ4(b []byte) {
	n := 6 // magic, FLG, BD
	if len(b) <= n || b[4]&0x08 != 0 {
		return
	}
	b[n] = byte(xxh32Short(b[:n]) >> 8)
}

// FilterLegacy returns what stays of an entry of formats 0 and 1 when keep decides over its records: the entry itself when all stay, a new
// wrapper with the same codec and offsets, or nothing.
func (it *Iterator) FilterLegacy(b []byte, keep func(*Record) bool) ([]byte, error) {
	e, err := ParseEntry(b)
	if err != nil {
		return nil, err
	}
	var set []byte
	all, base, last, newest, n := true, int64(-1), int64(-1), NoTimestamp, 0
	err = it.Each(b, func(r Record) bool {
		if !keep(&r) {
			all = false
			return true
		}
		if n == 0 {
			base = r.Offset
		}
		offset := r.Offset
		if e.Magic == 1 {
			offset -= base
		}
		n, last, newest = n+1, r.Offset, max(newest, r.Timestamp)
		set = appendMessage(set, e.Magic, offset, r.Timestamp, e.Attributes&attrLogAppendTime, r.Key, r.Value)
		return true
	})
	if err != nil || n == 0 {
		return nil, err
	}
	if all {
		return b, nil
	}
	return appendWrapper(nil, it.Codecs, e.Magic, e.Codec(), 0, set, last, newest, e.Attributes&attrLogAppendTime)
}
