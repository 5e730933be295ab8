package producer

import (
	"encoding/binary"
	"hash/crc32"
	"sort"
)

// A snapshot file: version (int16), CRC-32C of all that follows the CRC (uint32), count (int32), entries.
// An entry: producer id (int64), epoch (int16), last sequence (int32), last offset (int64), offset delta (int32), timestamp (int64),
// coordinator epoch (int32), first offset of the open transaction (int64, -1 = none).
const (
	snapshotVersion = 1
	snapshotHeader  = 10
	snapshotEntry   = 46
)

// EncodeSnapshot writes the written half, producers in order of their ids.
func (t *Table) EncodeSnapshot() []byte {
	all := make([]*entry, 0, len(t.entries))
	for _, e := range t.entries {
		if e.epoch >= 0 {
			all = append(all, e)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].id < all[j].id })
	b := make([]byte, snapshotHeader, snapshotHeader+len(all)*snapshotEntry)
	binary.BigEndian.PutUint16(b, snapshotVersion)
	binary.BigEndian.PutUint32(b[6:], uint32(len(all)))
	for _, e := range all {
		last := Batch{FirstSeq: -1, LastSeq: -1, LastOffset: -1, Timestamp: e.lastTime}
		if e.n > 0 {
			last = e.window[e.n-1]
		}
		b = binary.BigEndian.AppendUint64(b, uint64(e.id))
		b = binary.BigEndian.AppendUint16(b, uint16(e.epoch))
		b = binary.BigEndian.AppendUint32(b, uint32(last.LastSeq))
		b = binary.BigEndian.AppendUint64(b, uint64(last.LastOffset))
		b = binary.BigEndian.AppendUint32(b, uint32(last.OffsetDelta))
		b = binary.BigEndian.AppendUint64(b, uint64(e.lastTime))
		b = binary.BigEndian.AppendUint32(b, uint32(e.coordEpoch))
		b = binary.BigEndian.AppendUint64(b, uint64(e.txnFirst))
	}
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[6:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// SnapshotEntry is one producer as a snapshot has it.
type SnapshotEntry struct {
	ProducerID       int64
	Epoch            int16
	LastSequence     int32 // -1 when no batch is known
	LastOffset       int64
	OffsetDelta      int32
	Timestamp        int64
	CoordinatorEpoch int32
	TxnFirst         int64 // first offset of its open transaction, -1 without one
}

// Last is the batch that the entry remembers; FirstSeq is -1 when there is none.
func (e *SnapshotEntry) Last() Batch {
	b := Batch{FirstSeq: -1, LastSeq: e.LastSequence, LastOffset: e.LastOffset, OffsetDelta: e.OffsetDelta, Timestamp: e.Timestamp}
	if e.LastSequence >= 0 {
		b.FirstSeq = firstSeq(e.LastSequence, e.OffsetDelta)
	}
	return b
}

// ReadSnapshot returns the entries of a snapshot in their order.
func ReadSnapshot(b []byte) ([]SnapshotEntry, error) {
	if len(b) < snapshotHeader || binary.BigEndian.Uint16(b) != snapshotVersion {
		return nil, ErrSnapshot
	}
	if binary.BigEndian.Uint32(b[2:]) != crc32.Checksum(b[6:], crc32.MakeTable(crc32.Castagnoli)) {
		return nil, ErrSnapshot
	}
	n := int(int32(binary.BigEndian.Uint32(b[6:])))
	b = b[snapshotHeader:]
	if n < 0 || n != len(b)/snapshotEntry || len(b)%snapshotEntry != 0 {
		return nil, ErrSnapshot
	}
	list := make([]SnapshotEntry, 0, n)
	for ; len(b) > 0; b = b[snapshotEntry:] {
		list = append(list, SnapshotEntry{
			ProducerID: int64(binary.BigEndian.Uint64(b)), Epoch: int16(binary.BigEndian.Uint16(b[8:])),
			LastSequence: int32(binary.BigEndian.Uint32(b[10:])), LastOffset: int64(binary.BigEndian.Uint64(b[14:])),
			OffsetDelta: int32(binary.BigEndian.Uint32(b[22:])), Timestamp: int64(binary.BigEndian.Uint64(b[26:])),
			CoordinatorEpoch: int32(binary.BigEndian.Uint32(b[34:])), TxnFirst: int64(binary.BigEndian.Uint64(b[38:])),
		})
	}
	return list, nil
}

// DecodeSnapshot makes the table that a snapshot describes; nowMs starts every producer's idle time.
func DecodeSnapshot(b []byte, nowMs int64) (*Table, error) {
	list, err := ReadSnapshot(b)
	if err != nil {
		return nil, err
	}
	t := NewTable()
	for i := range list {
		s := &list[i]
		e := &entry{id: s.ProducerID, epoch: s.Epoch, lastTime: s.Timestamp, coordEpoch: s.CoordinatorEpoch, txnFirst: s.TxnFirst, seenMs: nowMs}
		if s.LastSequence >= 0 {
			e.push(s.Last())
		}
		if e.id < 0 || t.entries[e.id] != nil {
			return nil, ErrSnapshot
		}
		if e.txnFirst >= 0 {
			t.open = append(t.open, Txn{ProducerID: e.id, FirstOffset: e.txnFirst, LastOffset: -1})
		}
		t.entries[e.id] = e
	}
	sort.Slice(t.open, func(i, j int) bool { return t.open[i].FirstOffset < t.open[j].FirstOffset })
	return t, nil
}

// firstSeq is the sequence number delta before last, across the wrap.
func firstSeq(last, delta int32) int32 {
	if delta > last {
		return int32(0x7fffffff) - (delta - last) + 1
	}
	return last - delta
}
