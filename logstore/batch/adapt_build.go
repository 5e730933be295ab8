package batch

import (
	"encoding/binary"
	"fmt"
)

// begin gets ready for the records of the new form.
func (a *adaption) begin() {
	a.newest = NoTimestamp
	if !a.keeps && a.to.Magic == 2 {
		a.batch = a.lim.Codecs.builder(a.codec())
		a.batch.Level = a.level()
	}
}

// add takes a record over; one that stays where it is is only counted.
func (a *adaption) add(ts int64, key, value []byte) {
	switch {
	case a.keeps:
	case a.batch != nil:
		a.batch.Add(ts, key, value)
	default:
		offset := int64(0) // of a plain message the log decides
		if a.codec() != None {
			offset = int64(a.count)
		}
		at := len(a.set)
		a.set = appendMessage(a.set, a.to.Magic, offset, ts, 0, key, value)
		if a.codec() == None {
			a.noteOld(at, len(a.set)-at, 0, ts, 1)
		}
	}
	a.count++
	a.newest = max(a.newest, ts)
}

// finish writes the new form behind dst.
func (a *adaption) finish(dst []byte) ([]byte, error) {
	at := len(dst)
	var err error
	switch {
	case a.batch != nil:
		dst, err = a.batch.Append(dst)
	case a.codec() == None:
		dst = append(dst, a.set...)
	default:
		dst, err = appendWrapper(dst, a.lim.Codecs, a.to.Magic, a.codec(), a.level(), a.set, int64(a.count-1), a.newest, 0)
	}
	if err != nil {
		return nil, err
	}
	b := dst[at:]
	if a.batch != nil {
		defer a.lim.Codecs.putBuilder(a.batch)
	}
	switch {
	case a.batch != nil:
		h, err := ParseHeader(b)
		if err != nil {
			return nil, err
		}
		a.note(BatchInfo{Header: h, Bytes: int32(len(b)), MaxTimestampDelta: a.batch.newest})
	case a.codec() != None:
		a.noteOld(0, len(b), int16(a.codec()), a.newest, a.count)
	}
	return b, a.sizes()
}

// sizes checks what was written against the largest batch allowed once more: it may have grown.
func (a *adaption) sizes() error {
	for i := range a.out.Batches {
		if a.lim.MaxBatchBytes > 0 && a.out.Batches[i].Bytes > a.lim.MaxBatchBytes {
			return ErrTooLarge
		}
	}
	return nil
}

// noteOld describes a message of an old format that was made here.
func (a *adaption) noteOld(pos, size int, attr int16, ts int64, count int32) {
	if a.to.Magic == 0 {
		ts = NoTimestamp
	}
	a.note(BatchInfo{Pos: int32(pos), Bytes: int32(size), Header: Header{
		Length: int32(size - LogOverhead), LeaderEpoch: NoEpoch, Magic: a.to.Magic, Attributes: attr, LastOffsetDelta: count - 1,
		FirstTimestamp: ts, MaxTimestamp: ts, ProducerID: NoProducerID, ProducerEpoch: -1, BaseSequence: NoSequence, Count: count,
	}})
}

// noteKept describes a message that stays as it came, and puts right what Kafka does: its time is that of its records, and the broker's
// sign is not the client's to set.
func (a *adaption) noteKept(b []byte, pos int, ts int64, count int32) {
	if b[legacyMagic] == 1 && (int64(binary.BigEndian.Uint64(b[legacyTime:])) != ts || b[legacyAttr]&attrLogAppendTime != 0) {
		b[legacyAttr] &^= attrLogAppendTime
		binary.BigEndian.PutUint64(b[legacyTime:], uint64(ts))
		sealLegacy(b)
	}
	a.noteOld(pos, len(b), int16(b[legacyAttr]&attrCodec), ts, count)
}

// note adds one batch to the info.
func (a *adaption) note(bi BatchInfo) {
	out := a.out
	out.Batches = append(out.Batches, bi)
	if bi.MaxTimestamp > out.MaxTimestamp {
		out.MaxTimestamp, out.MaxTimestampIndex = bi.MaxTimestamp, out.Count+bi.MaxTimestampDelta
	}
	out.Count += bi.Count
	out.Bytes += bi.Bytes
	out.HasProducer = out.HasProducer || bi.ProducerID >= 0
}

// appendWrapper writes a message around compressed ones.
func appendWrapper(dst []byte, codecs *Codecs, magic int8, codec Codec, level int, set []byte, last, newest int64, attr int16) ([]byte, error) {
	if codec > LZ4 {
		return dst, fmt.Errorf("%w: %s", ErrNeedsNewFormat, codec)
	}
	packed, err := codecs.Compress(nil, codec, level, set)
	if err != nil {
		return dst, err
	}
	if codec == LZ4 && magic == 0 {
		breakLZ4(packed)
	}
	return appendMessage(dst, magic, last, newest, attr|int16(codec), nil, packed), nil
}

// Rebase makes anew a wrapper of format 0, whose inner messages carry offsets that count from the log's start: base is that of the first.
// It appends to dst.
func (it *Iterator) Rebase(dst, b []byte, base int64) ([]byte, error) {
	e, err := ParseEntry(b)
	if err != nil {
		return dst, err
	}
	var set []byte
	next := base
	err = it.Each(b, func(r Record) bool {
		set = appendMessage(set, 0, next, NoTimestamp, 0, r.Key, r.Value)
		next++
		return true
	})
	if err != nil {
		return dst, err
	}
	return appendWrapper(dst, it.Codecs, 0, e.Codec(), 0, set, next-1, NoTimestamp, 0)
}
