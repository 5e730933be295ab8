package producer

import (
	"sort"

	"github.com/pelton-broker/pelton/internal/invariant"
)

// Verdict is the answer of Check.
type Verdict uint8

// The verdicts.
const (
	Next       Verdict = iota // write it
	Written                   // a repeat of a written batch: answer with that one's offsets
	Pending                   // a repeat of a batch that is queued or being written: wait for that one
	OutOfOrder                // a gap, or a repeat too old to know
	OldEpoch                  // the producer has been fenced
)

// Found is the batch that a repeat repeats: Batch for Written, Ticket for Pending.
type Found struct {
	Batch  Batch
	Ticket any
	Index  int32 // which of the ticket's batches
}

// Txn is a transaction that ended, or one that is open (LastOffset -1).
type Txn struct {
	ProducerID  int64
	FirstOffset int64
	LastOffset  int64 // of the marker
	Aborted     bool
}

// pend is one batch of the pending half.
type pend struct {
	e           *entry
	epoch       int16
	first, last int32
	ticket      any
	index       int32
}

// Table is all producers of one partition.
//
// The written half is what the log holds. The pending half is what was accepted and waits for its write, in order: Begin adds to
// its end, Commit moves its first batch to the written half, DropPending forgets it all.
type Table struct {
	entries map[int64]*entry
	queue   []pend
	head    int
	open    []Txn // open transactions by first offset
	ended   []Txn // ended ones whose marker is not below the high watermark, by first offset
}

// NewTable returns an empty table.
func NewTable() *Table { return &Table{entries: map[int64]*entry{}} }

// Len is how many producers are known.
func (t *Table) Len() int { return len(t.entries) }

// Check compares a batch with what its producer wrote and has pending. It changes nothing.
func (t *Table) Check(id int64, epoch int16, first, last int32) (Verdict, Found) {
	e := t.entries[id]
	if e == nil {
		return Next, Found{}
	}
	nowEpoch, lastSeq, known := e.epoch, e.lastSeq(), e.epoch >= 0
	if e.pending > 0 {
		nowEpoch, lastSeq, known = e.pendEpoch, e.pendLastSeq, true
	}
	switch {
	case known && epoch < nowEpoch:
		return OldEpoch, Found{}
	case known && epoch > nowEpoch:
		if first != 0 {
			return OutOfOrder, Found{}
		}
		return Next, Found{}
	case !known || first == nextSeq(lastSeq):
		return Next, Found{}
	}
	if e.pending > 0 {
		for i := len(t.queue) - 1; i >= t.head; i-- {
			if p := t.queue[i]; p.e == e && p.epoch == epoch && p.first == first && p.last == last {
				return Pending, Found{Ticket: p.ticket, Index: p.index}
			}
		}
	}
	if e.epoch == epoch {
		if b, ok := e.find(first, last); ok {
			return Written, Found{Batch: b}
		}
	}
	return OutOfOrder, Found{}
}

// nextSeq is the number after seq; 2147483647 is followed by 0, and -1 (none) too.
func nextSeq(seq int32) int32 {
	if seq == 0x7fffffff {
		return 0
	}
	return seq + 1
}

// Begin puts a batch at the end of the pending half.
func (t *Table) Begin(id int64, epoch int16, first, last int32, ticket any, index int32) {
	e := t.get(id)
	e.pending++
	e.pendEpoch, e.pendLastSeq = epoch, last
	if t.head > 0 && len(t.queue) == cap(t.queue) {
		n := copy(t.queue, t.queue[t.head:])
		clear(t.queue[n:])
		t.queue, t.head = t.queue[:n], 0
	}
	t.queue = append(t.queue, pend{e: e, epoch: epoch, first: first, last: last, ticket: ticket, index: index})
}

// Commit moves the first pending batch, which must be of producer id, to the written half.
func (t *Table) Commit(id int64, b Batch, txn bool, nowMs int64) {
	if t.head == len(t.queue) || t.queue[t.head].e.id != id {
		invariant.Broken("producer: a batch was written that is not the first pending one", id, t.head, len(t.queue))
	}
	p := &t.queue[t.head]
	e, epoch := p.e, p.epoch
	*p = pend{}
	if t.head++; t.head == len(t.queue) {
		t.queue, t.head = t.queue[:0], 0
	}
	e.pending--
	t.write(e, epoch, b, txn, nowMs)
}

// Add puts a batch into the written half at once: recovery, and batches of other origin than clients.
func (t *Table) Add(id int64, epoch int16, b Batch, txn bool, nowMs int64) {
	t.write(t.get(id), epoch, b, txn, nowMs)
}

func (t *Table) write(e *entry, epoch int16, b Batch, txn bool, nowMs int64) {
	if e.epoch != epoch {
		e.epoch, e.n = epoch, 0
	}
	e.push(b)
	e.lastTime, e.seenMs = b.Timestamp, nowMs
	if txn && e.txnFirst < 0 {
		e.txnFirst = b.FirstOffset()
		t.open = append(t.open, Txn{ProducerID: e.id, FirstOffset: e.txnFirst, LastOffset: -1})
	}
}

// DropPending forgets the pending half: its write failed.
func (t *Table) DropPending() {
	for i := t.head; i < len(t.queue); i++ {
		t.queue[i].e.pending = 0
		if e := t.queue[i].e; e.epoch < 0 && e.n == 0 {
			delete(t.entries, e.id)
		}
	}
	clear(t.queue)
	t.queue, t.head = t.queue[:0], 0
}

// PendingLen is how many batches are pending.
func (t *Table) PendingLen() int { return len(t.queue) - t.head }

// Marker ends the producer's transaction with the marker at offset. ok is false when none was open.
func (t *Table) Marker(id int64, epoch int16, coordEpoch int32, aborted bool, offset, ts, nowMs int64) (done Txn, ok bool) {
	e := t.get(id)
	if e.epoch != epoch {
		e.epoch, e.n = epoch, 0
	}
	e.lastTime, e.seenMs, e.coordEpoch = ts, nowMs, coordEpoch
	if e.txnFirst < 0 {
		return Txn{}, false
	}
	done = Txn{ProducerID: id, FirstOffset: e.txnFirst, LastOffset: offset, Aborted: aborted}
	e.txnFirst = -1
	for i := range t.open {
		if t.open[i].ProducerID == id {
			t.open = append(t.open[:i], t.open[i+1:]...)
			break
		}
	}
	t.ended = append(t.ended, done)
	sort.Slice(t.ended, func(i, j int) bool { return t.ended[i].FirstOffset < t.ended[j].FirstOffset })
	return done, true
}

// LastStableIfEnded is the last stable offset right after the transaction done ended: what an aborted transaction's index entry holds.
func (t *Table) LastStableIfEnded(done Txn) int64 {
	if len(t.open) > 0 {
		return t.open[0].FirstOffset
	}
	return done.LastOffset + 1
}

// HighWatermark forgets ended transactions that every reader may see now.
func (t *Table) HighWatermark(hw int64) {
	if len(t.ended) == 0 {
		return
	}
	kept := t.ended[:0]
	for _, x := range t.ended {
		if x.LastOffset >= hw {
			kept = append(kept, x)
		}
	}
	t.ended = kept
}

// FirstUnstable is the first offset that belongs to a transaction which is open, or whose marker is not below the high watermark; -1 without one.
func (t *Table) FirstUnstable() int64 {
	first := int64(-1)
	if len(t.open) > 0 {
		first = t.open[0].FirstOffset
	}
	if len(t.ended) > 0 && (first < 0 || t.ended[0].FirstOffset < first) {
		first = t.ended[0].FirstOffset
	}
	return first
}

// Expire forgets producers that wrote nothing for idleMs and have no open transaction.
func (t *Table) Expire(nowMs, idleMs int64) {
	for id, e := range t.entries {
		if e.pending == 0 && e.txnFirst < 0 && nowMs-e.seenMs >= idleMs {
			delete(t.entries, id)
		}
	}
}

// Each calls fn for every producer with a written half, in no order.
func (t *Table) Each(fn func(State)) {
	for _, e := range t.entries {
		if e.epoch >= 0 {
			fn(e.state())
		}
	}
}

// EachLast calls fn for every producer with the last offset of its newest data batch, -1 when only a marker is known.
func (t *Table) EachLast(fn func(id int64, epoch int16, offset int64)) {
	for id, e := range t.entries {
		switch {
		case e.n > 0:
			fn(id, e.epoch, e.window[e.n-1].LastOffset)
		case e.epoch >= 0:
			fn(id, e.epoch, -1)
		}
	}
}

func (t *Table) get(id int64) *entry {
	e := t.entries[id]
	if e == nil {
		e = &entry{id: id, epoch: -1, coordEpoch: -1, txnFirst: -1, lastTime: -1}
		t.entries[id] = e
	}
	return e
}
