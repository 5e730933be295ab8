package batch

import (
	"encoding/binary"
	"hash/crc32"
)

// Sizes of the fixed parts.
const (
	// HeaderSize is the length of a format 2 batch header, base offset and length included.
	HeaderSize = 61
	// LogOverhead is the length of the base offset and length fields that every format starts with.
	LogOverhead = 12
	// PrefixSize is how many bytes tell the base offset, size and format of an entry of any format.
	PrefixSize = 17

	// minLegacySize is the smallest message of formats 0 and 1: crc, magic, attributes, key length, value length.
	minLegacySize = 14
)

// Values of fields that mean "none".
const (
	NoTimestamp  int64 = -1
	NoProducerID int64 = -1
	NoSequence   int32 = -1
	NoEpoch      int32 = -1
)

// Bits of Header.Attributes.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

const (
	posCRC        = 17
	posAttributes = 21
)

// castagnoli is the table of CRC-32C; hash/crc32 computes it with the CPU's instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is the fixed part of a batch, as numbers.
type Header struct {
	BaseOffset      int64
	Length          int32 // of everything behind this field
	LeaderEpoch     int32
	Magic           int8
	CRC             uint32
	Attributes      int16
	LastOffsetDelta int32
	FirstTimestamp  int64
	MaxTimestamp    int64
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32
}

// ParseHeader reads the header of a format 2 batch. It checks nothing but that it is one:
// ErrTruncated when b is too short, ErrMagic when the format is another.
func ParseHeader(b []byte) (Header, error) {
	var h Header
	if len(b) < HeaderSize {
		if len(b) >= PrefixSize && b[16] != 2 {
			return h, ErrMagic
		}
		return h, ErrTruncated
	}
	b = b[:HeaderSize]
	h.BaseOffset = int64(binary.BigEndian.Uint64(b))
	h.Length = int32(binary.BigEndian.Uint32(b[8:]))
	h.LeaderEpoch = int32(binary.BigEndian.Uint32(b[12:]))
	h.Magic = int8(b[16])
	if h.Magic != 2 {
		return h, ErrMagic
	}
	h.CRC = binary.BigEndian.Uint32(b[posCRC:])
	h.Attributes = int16(binary.BigEndian.Uint16(b[posAttributes:]))
	h.LastOffsetDelta = int32(binary.BigEndian.Uint32(b[23:]))
	h.FirstTimestamp = int64(binary.BigEndian.Uint64(b[27:]))
	h.MaxTimestamp = int64(binary.BigEndian.Uint64(b[35:]))
	h.ProducerID = int64(binary.BigEndian.Uint64(b[43:]))
	h.ProducerEpoch = int16(binary.BigEndian.Uint16(b[51:]))
	h.BaseSequence = int32(binary.BigEndian.Uint32(b[53:]))
	h.Count = int32(binary.BigEndian.Uint32(b[57:]))
	return h, nil
}

// Put writes h over the first HeaderSize bytes of b.
func (h *Header) Put(b []byte) {
	b = b[:HeaderSize]
	binary.BigEndian.PutUint64(b, uint64(h.BaseOffset))
	binary.BigEndian.PutUint32(b[8:], uint32(h.Length))
	binary.BigEndian.PutUint32(b[12:], uint32(h.LeaderEpoch))
	b[16] = byte(h.Magic)
	binary.BigEndian.PutUint32(b[posCRC:], h.CRC)
	binary.BigEndian.PutUint16(b[posAttributes:], uint16(h.Attributes))
	binary.BigEndian.PutUint32(b[23:], uint32(h.LastOffsetDelta))
	binary.BigEndian.PutUint64(b[27:], uint64(h.FirstTimestamp))
	binary.BigEndian.PutUint64(b[35:], uint64(h.MaxTimestamp))
	binary.BigEndian.PutUint64(b[43:], uint64(h.ProducerID))
	binary.BigEndian.PutUint16(b[51:], uint16(h.ProducerEpoch))
	binary.BigEndian.PutUint32(b[53:], uint32(h.BaseSequence))
	binary.BigEndian.PutUint32(b[57:], uint32(h.Count))
}

// Codec is the compression of the records.
func (h *Header) Codec() Codec { return Codec(h.Attributes & attrCodec) }

// IsTransactional reports whether the batch belongs to a transaction.
func (h *Header) IsTransactional() bool { return h.Attributes&attrTransactional != 0 }

// IsControl reports whether the batch holds a marker and no data.
func (h *Header) IsControl() bool { return h.Attributes&attrControl != 0 }

// HasDeleteHorizon reports whether FirstTimestamp is the cleaner's delete horizon.
func (h *Header) HasDeleteHorizon() bool { return h.Attributes&attrDeleteHorizon != 0 }

// IsLogAppendTime reports whether MaxTimestamp was set by a broker and stands for every record.
func (h *Header) IsLogAppendTime() bool { return h.Attributes&attrLogAppendTime != 0 }

// TimestampType is 0 for the client's timestamps and 1 for the broker's.
func (h *Header) TimestampType() int8 { return int8(h.Attributes & attrLogAppendTime >> 3) }

// Size is the whole length of the batch in bytes.
func (h *Header) Size() int { return int(h.Length) + LogOverhead }

// LastOffset is the offset of the last record.
func (h *Header) LastOffset() int64 { return h.BaseOffset + int64(h.LastOffsetDelta) }

// LastSequence is the sequence number of the last record, which wraps from 2147483647 to 0; NoSequence without one.
func (h *Header) LastSequence() int32 {
	if h.BaseSequence == NoSequence {
		return NoSequence
	}
	return AddSequence(h.BaseSequence, h.LastOffsetDelta)
}

// AddSequence adds n to a sequence number; 2147483647 is followed by 0.
func AddSequence(seq, n int32) int32 {
	if seq > int32(0x7fffffff)-n {
		return n - (0x7fffffff - seq) - 1
	}
	return seq + n
}

// PatchAppend writes what the broker decides into a batch: both fields lie outside the CRC.
func PatchAppend(b []byte, baseOffset int64, leaderEpoch int32) {
	_ = b[PrefixSize-1]
	binary.BigEndian.PutUint64(b, uint64(baseOffset))
	binary.BigEndian.PutUint32(b[12:], uint32(leaderEpoch))
}

// PatchLogAppendTime makes ms the timestamp of every record of a whole batch, and computes the CRC anew.
func PatchLogAppendTime(b []byte, ms int64) {
	_ = b[HeaderSize-1]
	b[posAttributes+1] |= attrLogAppendTime
	binary.BigEndian.PutUint64(b[35:], uint64(ms))
	SealCRC(b)
}

// patchMaxTimestamp corrects the max timestamp of a whole batch, and its CRC.
func patchMaxTimestamp(b []byte, ms int64) {
	binary.BigEndian.PutUint64(b[35:], uint64(ms))
	SealCRC(b)
}

// SealCRC computes the CRC of a whole batch and writes it.
func SealCRC(b []byte) {
	binary.BigEndian.PutUint32(b[posCRC:], crc32.Checksum(b[posAttributes:], castagnoli))
}

// CheckCRC reports whether the CRC of a whole batch is right.
func CheckCRC(b []byte) bool {
	return len(b) >= HeaderSize && binary.BigEndian.Uint32(b[posCRC:]) == crc32.Checksum(b[posAttributes:], castagnoli)
}
