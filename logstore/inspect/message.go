package inspect

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// Record is one record, or one message of formats 0 and 1, also one inside a wrapper.
type Record struct {
	batch.Record
	Sequence int32 // -1 without one
	// Of formats 0 and 1: the message's own checksum, which a record of format 2 does not have.
	Legacy bool
	CRC    uint32
	Valid  bool
}

// Records gives out the records of a batch until fn says false.
func Records(it *batch.Iterator, b *Batch, fn func(*Record) bool) error {
	if b.Magic == 2 {
		next := b.BaseSequence
		return it.Each(b.Raw, func(r batch.Record) bool {
			rec := Record{Record: r, Sequence: batch.NoSequence}
			if next != batch.NoSequence {
				rec.Sequence = batch.AddSequence(next, int32(r.Offset-b.BaseOffset))
			}
			return fn(&rec)
		})
	}
	if b.Codec() == batch.None {
		return it.Each(b.Raw, func(r batch.Record) bool { return fn(legacy(r, b.Raw)) })
	}
	inner, err := it.Unwrap(nil, b.Raw)
	if err != nil {
		return err
	}
	return it.Each(b.Raw, func(r batch.Record) bool {
		size := batch.LogOverhead + int(binary.BigEndian.Uint32(inner[8:])) // Each has looked at every head before it gives the first one out
		rec := legacy(r, inner[:size])
		inner = inner[size:]
		return fn(rec)
	})
}

// legacy adds what stands in the message itself.
func legacy(r batch.Record, raw []byte) *Record {
	crc := binary.BigEndian.Uint32(raw[batch.LogOverhead:])
	return &Record{Record: r, Sequence: batch.NoSequence, Legacy: true, CRC: crc, Valid: crc == crc32.ChecksumIEEE(raw[batch.LogOverhead+4:])}
}
