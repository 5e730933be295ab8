package logstore

import (
	"sort"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// txnTrack follows transactions over one cleaning run, in offset order: which data is aborted, and which markers have data left.
type txnTrack struct {
	waiting   []AbortedTxn // by first offset, not reached yet
	aborted   map[int64]*abortedRun
	committed map[int64]bool // producers with data seen since their last marker
	cleaned   []AbortedTxn   // entries for the index of the segment being made
}

type abortedRun struct {
	txn  AbortedTxn
	seen bool // data of it is still there
}

// newTxnTrack takes the aborted transactions that reach to offset from or beyond: an earlier one's marker would never be met, and its
// producer's later data would count as aborted.
func newTxnTrack(aborted []AbortedTxn, from int64) *txnTrack {
	t := &txnTrack{aborted: map[int64]*abortedRun{}, committed: map[int64]bool{}}
	for _, x := range aborted {
		if x.LastOffset >= from {
			t.waiting = append(t.waiting, x)
		}
	}
	sort.Slice(t.waiting, func(i, j int) bool { return t.waiting[i].FirstOffset < t.waiting[j].FirstOffset })
	return t
}

func (t *txnTrack) reach(offset int64) {
	for len(t.waiting) > 0 && t.waiting[0].FirstOffset <= offset {
		t.aborted[t.waiting[0].ProducerID] = &abortedRun{txn: t.waiting[0]}
		t.waiting = t.waiting[1:]
	}
}

// data notes a batch of records and reports whether its transaction was aborted.
func (t *txnTrack) data(e *batch.Entry) bool {
	if e.Magic < 2 || !e.IsTransactional() {
		return false
	}
	t.reach(e.Last)
	if run := t.aborted[e.ProducerID]; run != nil {
		run.seen = true
		return true
	}
	t.committed[e.ProducerID] = true
	return false
}

// marker notes a control batch and reports whether nothing of its transaction was seen, so that it may go. An abort marker that stays
// keeps its entry in the index.
func (t *txnTrack) marker(e *batch.Entry, b []byte, it *batch.Iterator) bool {
	t.reach(e.Last)
	kind := int16(-1)
	// A control batch that cannot be read is kept: kind stays -1.
	_ = it.Each(b, func(r batch.Record) bool {
		if k, ok := r.Marker(); ok {
			kind = k
		}
		return true
	})
	switch kind {
	case 0:
		run := t.aborted[e.ProducerID]
		delete(t.aborted, e.ProducerID)
		if run != nil && run.seen {
			t.cleaned = append(t.cleaned, run.txn)
			return false
		}
		return true
	case 1:
		seen := t.committed[e.ProducerID]
		delete(t.committed, e.ProducerID)
		return !seen
	}
	return e.Count == 0
}
