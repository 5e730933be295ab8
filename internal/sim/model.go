package sim

import (
	"encoding/binary"

	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// Kept is a batch that the model holds.
type Kept struct {
	Base, Last int64
	CRC        uint32 // over everything but the base offset and the epoch
	Epoch      int32  // leader epoch
	Times      []int64
	Keys       []string
	Values     []string // "" is a tombstone
	AppendMs   int64
	PID        int64
	PEpoch     int16
	Seq        int32
	Txn        bool
	Marker     int // 0 abort, 1 commit, -1 none
	Fresh      bool
}

// crcOf reads the checksum of an encoded batch.
func crcOf(b []byte) uint32 { return binary.BigEndian.Uint32(b[17:]) }

// Model is what one partition must hold.
type Model struct {
	Log     []Kept // all that were answered with success, also those below the start
	Maybe   []Kept // outcome unknown: failed or interrupted; they may come back after a crash
	Start   int64
	HW      int64
	Durable int64 // promised to survive a power cut
	Safe    int64 // what the next start must find
	// StartSafe is a start that was written down: no start of the log lies below it any more.
	StartSafe int64
	// Hurt is the first offset that bit rot or a misdirected write may have reached; -1 when none did.
	Hurt int64
	// HurtSide: a file beside the log was hit, which may be noticed late.
	HurtSide bool
	// Next is the offset of the next record.
	Next int64

	tx   []txn // in order of their first offsets
	open map[int64]int
	prod map[int64]*producerState
}

// NewModel is an empty partition.
func NewModel() *Model {
	m := &Model{Hurt: -1}
	m.relearn()
	return m
}

// at is the place of the batch that holds offset, len(Log) when it lies behind.
func (m *Model) at(offset int64) int {
	low, high := 0, len(m.Log)
	for low < high {
		mid := (low + high) / 2
		if m.Log[mid].Last < offset {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// txn is a transaction as the log tells it.
type txn struct {
	pid         int64
	first, last int64 // last is the marker's offset, -1 while it is open
	aborted     bool
	fresh       bool // its marker came since the log was opened
}

// producerState is what the log says of one producer.
type producerState struct {
	epoch   int16
	lastSeq int32 // -1 when its newest epoch has only a marker
	batches []Kept
	txn     int64
}

// add puts a batch at the end.
func (m *Model) add(k Kept) {
	m.Log = append(m.Log, k)
	m.Next = k.Last + 1
	m.learn(k)
}

// relearn makes what follows from the log anew.
func (m *Model) relearn() {
	m.tx, m.open, m.prod = nil, map[int64]int{}, map[int64]*producerState{}
	for _, k := range m.Log {
		m.learn(k)
	}
}

func (m *Model) learn(k Kept) {
	if k.PID < 0 {
		return
	}
	p := m.prod[k.PID]
	if p == nil {
		p = &producerState{epoch: -1, lastSeq: -1, txn: -1}
		m.prod[k.PID] = p
	}
	if p.epoch != k.PEpoch {
		p.epoch, p.lastSeq, p.batches = k.PEpoch, -1, nil
	}
	if k.Marker >= 0 {
		p.txn = -1
		if i, ok := m.open[k.PID]; ok {
			m.tx[i].last, m.tx[i].aborted, m.tx[i].fresh = k.Base, k.Marker == 0, k.Fresh
			delete(m.open, k.PID)
		}
		return
	}
	p.lastSeq = k.Seq + int32(k.Last-k.Base)
	p.batches = append(p.batches, k)
	if _, ok := m.open[k.PID]; k.Txn && !ok {
		p.txn = k.Base
		m.open[k.PID] = len(m.tx)
		m.tx = append(m.tx, txn{pid: k.PID, first: k.Base, last: -1})
	}
}

// stable bounds the last stable offset: low counts every transaction whose marker is not below the high watermark, high only those that the
// log cannot have forgotten by a restart.
func (m *Model) stable(hw int64) (low, high int64) {
	low, high = hw, hw
	for _, t := range m.tx {
		if t.last >= 0 && t.last < hw || t.last < 0 && t.first >= hw {
			continue
		}
		low = min(low, max(t.first, m.Start))
		if t.last < 0 || t.fresh {
			high = min(high, max(t.first, m.Start))
		}
	}
	return low, high
}

// wantTime is the answer of a lookup by time: the first record from start on whose timestamp is not below ts.
func (m *Model) wantTime(ts int64) (offset, stamp int64) {
	for i := m.at(m.Start); i < len(m.Log); i++ {
		for j, t := range m.Log[i].Times {
			if o := m.Log[i].Base + int64(j); t >= ts && o >= m.Start {
				return o, t
			}
		}
	}
	return -1, -1
}

// wantAborted lists the aborted transactions that a reader of [from, to) must know.
func (m *Model) wantAborted(from, to int64) map[logstore.AbortedTxn]bool {
	out := map[logstore.AbortedTxn]bool{}
	for _, t := range m.tx {
		if t.aborted && t.last >= from && t.first < to {
			out[logstore.AbortedTxn{ProducerID: t.pid, FirstOffset: t.first, LastOffset: t.last}] = true
		}
	}
	return out
}

// latest maps each key to its last value that counts, with its offset and the time of its append; what is aborted or open does not count.
type latestValue struct {
	offset   int64
	value    string
	appendMs int64
}

func (m *Model) latest() map[string]latestValue {
	skip := map[int64]bool{} // first offsets of batches in aborted or open transactions
	txns := m.tx
	for _, k := range m.Log {
		for _, t := range txns {
			if k.Txn && k.PID == t.pid && k.Base >= t.first && (t.last < 0 || k.Base < t.last) && (t.aborted || t.last < 0) {
				skip[k.Base] = true
			}
		}
	}
	out := map[string]latestValue{}
	for _, k := range m.Log {
		if k.Marker >= 0 || skip[k.Base] {
			continue
		}
		for j, key := range k.Keys {
			if key != "" {
				out[key] = latestValue{k.Base + int64(j), k.Values[j], k.AppendMs}
			}
		}
	}
	return out
}

// keep describes an encoded set of one batch that was built here.
func keep(b []byte, nowMs int64) Kept {
	k := Kept{CRC: crcOf(b), Marker: -1, PID: -1, AppendMs: nowMs}
	// What was just built can be read.
	_ = batch.Iterate(b, func(r batch.Record) bool {
		k.Times = append(k.Times, r.Timestamp)
		k.Keys = append(k.Keys, string(r.Key))
		k.Values = append(k.Values, string(r.Value))
		k.PID, k.PEpoch, k.Seq, k.Txn = r.Batch.ProducerID, r.Batch.ProducerEpoch, r.Batch.BaseSequence, r.Batch.IsTransactional()
		if kind, ok := r.Marker(); ok {
			k.Marker, k.Keys = int(kind), nil
		}
		return true
	})
	k.Last = int64(len(k.Times) - 1)
	return k
}
