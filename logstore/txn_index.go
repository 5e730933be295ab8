package logstore

import (
	"encoding/binary"
	"errors"

	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/producer"
)

// AbortedTxn is an aborted transaction, as the .txnindex of the segment with its marker holds it.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset int64
	LastOffset  int64 // of the marker
	LastStable  int64 // last stable offset when it was written
}

// An entry of .txnindex: version (int16), producer id, first offset, last offset, last stable offset (int64 each).
const (
	txnEntry   = 34
	txnVersion = 0
)

var errTxnIndex = errors.New("logstore: not a transaction index, or a damaged one")

func encodeTxnIndex(list []AbortedTxn) []byte {
	b := make([]byte, 0, len(list)*txnEntry)
	for _, x := range list {
		b = binary.BigEndian.AppendUint16(b, txnVersion)
		b = binary.BigEndian.AppendUint64(b, uint64(x.ProducerID))
		b = binary.BigEndian.AppendUint64(b, uint64(x.FirstOffset))
		b = binary.BigEndian.AppendUint64(b, uint64(x.LastOffset))
		b = binary.BigEndian.AppendUint64(b, uint64(x.LastStable))
	}
	return b
}

func decodeTxnIndex(b []byte) ([]AbortedTxn, error) {
	if len(b)%txnEntry != 0 {
		return nil, errTxnIndex
	}
	var list []AbortedTxn
	for ; len(b) > 0; b = b[txnEntry:] {
		x := AbortedTxn{
			ProducerID: int64(binary.BigEndian.Uint64(b[2:])), FirstOffset: int64(binary.BigEndian.Uint64(b[10:])),
			LastOffset: int64(binary.BigEndian.Uint64(b[18:])), LastStable: int64(binary.BigEndian.Uint64(b[26:])),
		}
		if binary.BigEndian.Uint16(b) != txnVersion || x.FirstOffset >= x.LastOffset || (len(list) > 0 && x.LastOffset <= list[len(list)-1].LastOffset) {
			return nil, errTxnIndex
		}
		list = append(list, x)
	}
	return list, nil
}

// AbortedIn appends the aborted transactions that a reader of [from, to) must know, in order of their markers.
func (l *Log) AbortedIn(from, to int64, dst []AbortedTxn) []AbortedTxn {
	for i := l.segmentFor(from); i < len(l.segments); i++ {
		for _, x := range l.segments[i].txns {
			if x.LastOffset >= from && x.FirstOffset < to {
				dst = append(dst, x)
			}
			if x.LastStable >= to { // later entries begin at or behind this one's last stable offset
				return dst
			}
		}
	}
	return dst
}

// markerWrote carries out a transaction marker that was written.
func (l *Log) markerWrote(seg *Segment, b []byte) {
	applyMarker(l.producers, seg, b, l.records, l.nowMs)
}

// applyMarker ends the transactions that the markers of a control batch name; an aborted one goes into the segment's index.
func applyMarker(t *producer.Table, seg *Segment, b []byte, it *batch.Iterator, nowMs int64) {
	// A control batch that is no marker, or damaged, changes nothing: its CRC was checked where it came in.
	_ = it.Each(b, func(r batch.Record) bool {
		kind, ok := r.Marker()
		if !ok || kind > 1 {
			return true
		}
		h := r.Batch
		done, open := t.Marker(h.ProducerID, h.ProducerEpoch, r.CoordinatorEpoch(), kind == 0, r.Offset, r.Timestamp, nowMs)
		if open && done.Aborted {
			seg.txns = append(seg.txns, AbortedTxn{done.ProducerID, done.FirstOffset, done.LastOffset, t.LastStableIfEnded(done)})
		}
		return true
	})
}
