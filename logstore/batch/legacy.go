package batch

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// Positions in a message of formats 0 and 1, from the start of its entry.
const (
	legacyCRC   = 12
	legacyMagic = 16
	legacyAttr  = 17
	legacyTime  = 18 // format 1
)

func parseLegacyEntry(b []byte, size int, magic int8) (Entry, error) {
	need := legacyTime
	if magic == 1 {
		need += 8
	}
	if len(b) < need {
		return Entry{}, ErrTruncated
	}
	e := Entry{Size: size, Last: int64(binary.BigEndian.Uint64(b))}
	e.Header = Header{
		BaseOffset: e.Last, Length: int32(size - LogOverhead), LeaderEpoch: NoEpoch, Magic: magic, CRC: binary.BigEndian.Uint32(b[legacyCRC:]),
		Attributes: int16(b[legacyAttr]), FirstTimestamp: NoTimestamp, MaxTimestamp: NoTimestamp,
		ProducerID: NoProducerID, ProducerEpoch: -1, BaseSequence: NoSequence, Count: 1,
	}
	if magic == 0 {
		e.Attributes &= attrCodec
	} else {
		e.Attributes &= attrCodec | attrLogAppendTime
		e.MaxTimestamp = int64(binary.BigEndian.Uint64(b[legacyTime:]))
		e.FirstTimestamp = e.MaxTimestamp
	}
	if e.Codec() != None {
		e.BaseOffset, e.Count = -1, -1
	}
	return e, nil
}

// CheckEntryCRC reports whether the checksum of a whole entry of any format is right.
func CheckEntryCRC(b []byte) bool {
	if len(b) < PrefixSize {
		return false
	}
	if b[legacyMagic] == 2 {
		return CheckCRC(b)
	}
	return len(b) >= LogOverhead+minLegacySize && binary.BigEndian.Uint32(b[legacyCRC:]) == crc32.ChecksumIEEE(b[legacyMagic:])
}

// message is one parsed message of formats 0 and 1.
type message struct {
	offset     int64
	magic      int8
	attr       int16
	timestamp  int64
	key, value []byte
}

// readMessage parses the message at the start of b, whose size it returns.
func readMessage(b []byte) (m message, size int, err error) {
	size, magic, err := EntrySize(b)
	if err != nil {
		return m, 0, err
	}
	if size > len(b) {
		return m, 0, ErrTruncated
	}
	if magic > 1 {
		return m, 0, ErrMagic
	}
	b = b[:size]
	m = message{offset: int64(binary.BigEndian.Uint64(b)), magic: magic, attr: int16(b[legacyAttr]), timestamp: NoTimestamp}
	p := legacyTime
	if magic == 1 {
		if size < LogOverhead+minLegacySize+8 {
			return m, 0, ErrTruncated
		}
		m.timestamp = int64(binary.BigEndian.Uint64(b[p:]))
		p += 8
	}
	var ok1, ok2 bool
	m.key, p, ok1 = legacyField(b, p)
	m.value, p, ok2 = legacyField(b, p)
	if !ok1 || !ok2 || p != size {
		return m, 0, invalid(-1, "a field does not fit the message's length")
	}
	return m, size, nil
}

func legacyField(b []byte, p int) (field []byte, next int, ok bool) {
	if p < 0 || len(b)-p < 4 {
		return nil, p, false
	}
	n := int32(binary.BigEndian.Uint32(b[p:]))
	p += 4
	if n == -1 {
		return nil, p, true
	}
	if n < 0 || int(n) > len(b)-p {
		return nil, p, false
	}
	return b[p : p+int(n) : p+int(n)], p + int(n), true
}

// legacy walks one entry of formats 0 and 1: a message, or a wrapper around compressed ones.
func (it *Iterator) legacy(b []byte, fn func(Record) bool) (bool, error) {
	if !CheckEntryCRC(b) {
		return false, ErrCRC
	}
	e, err := ParseEntry(b)
	if err != nil {
		return false, err
	}
	m, _, err := readMessage(b)
	if err != nil {
		return false, err
	}
	if e.Codec() == None {
		return fn(Record{Batch: &e.Header, Offset: m.offset, Timestamp: m.timestamp, Key: m.key, Value: m.value}), nil
	}
	s := it.Codecs.get()
	defer it.Codecs.put(s)
	inner, err := s.openWrapper(&m, it.MaxDecompressed)
	if err != nil {
		return false, err
	}
	return eachInner(&e, &m, inner, fn)
}

// openWrapper returns the message set inside a wrapper.
func (s *scratch) openWrapper(m *message, most int64) ([]byte, error) {
	codec := Codec(m.attr & attrCodec)
	if codec > LZ4 {
		return nil, ErrCodec
	}
	in := m.value
	if codec == LZ4 && m.magic == 0 {
		in = mendLZ4(in)
	}
	return s.decompress(codec, in, most)
}

// eachInner gives out the messages inside a wrapper with their real offsets and timestamps.
func eachInner(e *Entry, w *message, set []byte, fn func(Record) bool) (bool, error) {
	shift := int64(0)
	if w.magic == 1 { // relative offsets: the wrapper's own is that of the last one inside
		_, last, err := countInner(set, w.magic)
		if err != nil {
			return false, err
		}
		shift = w.offset - last
	}
	for len(set) > 0 {
		m, size, err := readMessage(set)
		if err != nil {
			return false, err
		}
		r := Record{Batch: &e.Header, Offset: m.offset + shift, Timestamp: m.timestamp, Key: m.key, Value: m.value}
		if e.IsLogAppendTime() {
			r.Timestamp = w.timestamp
		}
		if !fn(r) {
			return false, nil
		}
		set = set[size:]
	}
	return true, nil
}

// countInner counts the messages of an inner set and tells the last one's offset field.
func countInner(set []byte, magic int8) (n int32, last int64, err error) {
	for len(set) > 0 {
		m, size, err := readMessage(set)
		if err != nil {
			return 0, 0, err
		}
		if m.magic != magic || Codec(m.attr&attrCodec) != None {
			return 0, 0, invalid(n, "a message inside a wrapper is of another format or compressed itself")
		}
		n, last = n+1, m.offset
		set = set[size:]
	}
	if n == 0 {
		return 0, 0, invalid(-1, "an empty wrapper message")
	}
	return n, last, nil
}

const lz4Magic = 0x184D2204

// mendLZ4 corrects the frame descriptor's checksum, which clients that write format 0 compute over the magic number too.
// It returns b itself when there is nothing to mend.
func mendLZ4(b []byte) []byte {
	if len(b) < 7 || binary.LittleEndian.Uint32(b) != lz4Magic {
		return b
	}
	n := 2 // FLG, BD
	if b[4]&0x08 != 0 {
		n += 8
	}
	if len(b) < 4+n+1 {
		return b
	}
	right := byte(xxh32Short(b[4:4+n]) >> 8)
	if b[4+n] == right {
		return b
	}
	out := append([]byte(nil), b...)
	out[4+n] = right
	return out
}

// xxh32Short is xxHash32 with seed 0 of fewer than 16 bytes, which is all that a frame descriptor has.
func xxh32Short(b []byte) uint32 {
	const p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	h := uint32(p5) + uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*p3, 17) * p4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*p5, 11) * p1
	}
	h ^= h >> 15
	h *= p2
	h ^= h >> 13
	h *= p3
	return h ^ h>>16
}

// PatchLegacy writes the broker's offset into a message or wrapper of formats 0 and 1: that of its last record. The offset lies outside
// the CRC; with logAppendTime a message of format 1 also gets the broker's timestamp and a new CRC.
func PatchLegacy(b []byte, lastOffset int64, logAppendTime bool, ms int64) {
	_ = b[LogOverhead+minLegacySize-1]
	binary.BigEndian.PutUint64(b, uint64(lastOffset))
	if !logAppendTime || b[legacyMagic] != 1 || len(b) < legacyTime+8 {
		return
	}
	b[legacyAttr] |= attrLogAppendTime
	binary.BigEndian.PutUint64(b[legacyTime:], uint64(ms))
	binary.BigEndian.PutUint32(b[legacyCRC:], crc32.ChecksumIEEE(b[legacyMagic:]))
}
