package batch

import (
	"encoding/binary"
	"math/bits"
)

// Builder makes one batch of format 2. Set the fields, Add records, Bytes; Reset to begin again with the same memory.
type Builder struct {
	Codec         Codec
	Level         int // of the codec; 0 = its default
	BaseOffset    int64
	LeaderEpoch   int32
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	Transactional bool
	Control       bool
	LogAppendTime bool
	// DeleteHorizon is the cleaner's: when this batch's tombstones may go. It takes the place of the first timestamp; 0 = none.
	DeleteHorizon int64
	// LastDelta is the last offset delta of a batch whose last records are gone; it counts when it is above that of the last record.
	LastDelta int32

	// Codecs lends compressors; nil makes new ones.
	Codecs *Codecs

	records []byte
	first   int64
	max     int64
	newest  int32 // offset delta of the first record that has the largest timestamp
	count   int32
	last    int32
}

// NewBuilder returns a builder of a plain batch without a producer.
func NewBuilder(codec Codec) *Builder {
	return &Builder{Codec: codec, LeaderEpoch: NoEpoch, ProducerID: NoProducerID, ProducerEpoch: -1, BaseSequence: NoSequence}
}

// Reset forgets the records and keeps the fields.
func (bd *Builder) Reset() { bd.records, bd.count, bd.last = bd.records[:0], 0, 0 }

// Count is how many records were added.
func (bd *Builder) Count() int32 { return bd.count }

// Size is about how many bytes the batch has before compression.
func (bd *Builder) Size() int { return HeaderSize + len(bd.records) }

// Add appends a record; nil key or value means null.
func (bd *Builder) Add(ts int64, key, value []byte, headers ...RecordHeader) {
	delta := int32(0)
	if bd.count > 0 {
		delta = bd.last + 1
	}
	bd.AddAt(delta, ts, key, value, headers...)
}

// AddAt is Add with the record's offset delta, which must grow: compaction leaves gaps.
func (bd *Builder) AddAt(delta int32, ts int64, key, value []byte, headers ...RecordHeader) {
	size := varintLen(int64(len(headers)))
	for i := range headers {
		size += varintLen(int64(len(headers[i].Key))) + len(headers[i].Key) + fieldLen(headers[i].Value)
	}
	b := bd.head(delta, ts, key, value, size)
	b = binary.AppendVarint(b, int64(len(headers)))
	for _, h := range headers {
		b = binary.AppendVarint(b, int64(len(h.Key)))
		b = append(b, h.Key...)
		b = appendField(b, h.Value)
	}
	bd.take(b, delta)
}

// Copy adds a record of another batch as it is, at its own offset.
func (bd *Builder) Copy(r *Record) {
	delta := int32(r.Offset - bd.BaseOffset)
	b := bd.head(delta, r.Timestamp, r.Key, r.Value, varintLen(int64(r.NHeaders))+len(r.Headers))
	b = binary.AppendVarint(b, int64(r.NHeaders))
	bd.take(append(b, r.Headers...), delta)
}

// head begins a record; size is that of its headers.
func (bd *Builder) head(delta int32, ts int64, key, value []byte, size int) []byte {
	if bd.count == 0 {
		bd.first, bd.max, bd.newest = ts, ts, delta
		if bd.DeleteHorizon > 0 {
			bd.first = bd.DeleteHorizon
		}
	}
	if ts > bd.max {
		bd.max, bd.newest = ts, delta
	}
	size += 1 + varintLen(ts-bd.first) + varintLen(int64(delta)) + fieldLen(key) + fieldLen(value)
	b := binary.AppendVarint(bd.records, int64(size))
	b = append(b, 0)
	b = binary.AppendVarint(b, ts-bd.first)
	b = binary.AppendVarint(b, int64(delta))
	b = appendField(b, key)
	return appendField(b, value)
}

// take ends a record.
func (bd *Builder) take(b []byte, delta int32) {
	bd.records = b
	bd.count++
	bd.last = delta
}

// varintLen is how many bytes a zigzag varint takes.
func varintLen(v int64) int { return (bits.Len64(uint64(v)<<1^uint64(v>>63)|1) + 6) / 7 }

func fieldLen(v []byte) int {
	if v == nil {
		return 1
	}
	return varintLen(int64(len(v))) + len(v)
}

func appendField(b, v []byte) []byte {
	if v == nil {
		return append(b, 1) // zigzag of -1
	}
	b = binary.AppendVarint(b, int64(len(v)))
	return append(b, v...)
}

// Append writes the batch behind dst.
func (bd *Builder) Append(dst []byte) ([]byte, error) {
	at := len(dst)
	var room [HeaderSize]byte
	dst = append(dst, room[:]...)
	dst, err := bd.Codecs.Compress(dst, bd.Codec, bd.Level, bd.records)
	if err != nil {
		return dst[:at], err
	}
	h := Header{
		BaseOffset: bd.BaseOffset, Length: int32(len(dst) - at - LogOverhead), LeaderEpoch: bd.LeaderEpoch, Magic: 2,
		Attributes: int16(bd.Codec), LastOffsetDelta: max(bd.last, bd.LastDelta), FirstTimestamp: bd.first, MaxTimestamp: bd.max,
		ProducerID: bd.ProducerID, ProducerEpoch: bd.ProducerEpoch, BaseSequence: bd.BaseSequence, Count: bd.count,
	}
	if bd.Transactional {
		h.Attributes |= attrTransactional
	}
	if bd.Control {
		h.Attributes |= attrControl
	}
	if bd.DeleteHorizon > 0 {
		h.Attributes |= attrDeleteHorizon
	}
	if bd.LogAppendTime {
		h.Attributes |= attrLogAppendTime
	}
	h.Put(dst[at:])
	SealCRC(dst[at:])
	return dst, nil
}

// Bytes returns the batch in memory of its own.
func (bd *Builder) Bytes() []byte {
	b, err := bd.Append(nil)
	if err != nil { // only an unknown codec can do this
		return nil
	}
	return b
}

// Emptied makes the batch that stays when all records of a batch go and its place must be known: a header alone.
func Emptied(h Header) []byte {
	h.Length = HeaderSize - LogOverhead
	h.Count = 0
	h.Attributes &^= attrCodec
	b := make([]byte, HeaderSize)
	h.Put(b)
	SealCRC(b)
	return b
}

// BuildMarker makes a transaction marker: kind 0 aborts, 1 commits.
func BuildMarker(producerID int64, producerEpoch int16, kind int16, coordinatorEpoch int32, ts int64) []byte {
	bd := NewBuilder(None)
	bd.ProducerID, bd.ProducerEpoch, bd.Transactional, bd.Control = producerID, producerEpoch, true, true
	key := []byte{0, 0, byte(kind >> 8), byte(kind)}
	value := binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(coordinatorEpoch))
	bd.Add(ts, key, value)
	return bd.Bytes()
}
