package logstore

import (
	"errors"
	"syscall"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/producer"
)

// Origin says who made a record set.
type Origin uint8

// The origins.
const (
	FromClient      Origin = iota // sequence numbers are checked, offsets assigned
	FromCoordinator               // no sequence check; may hold markers
	FromLeader                    // offsets and epochs stay as they are
)

// Append is one record set on its way into the log. The host owns it and may reuse it once TakeDone has returned it.
type Append struct {
	Bytes        []byte      // record set, already validated; patched in place
	Info         *batch.Info // what the validation found; must stay until done
	LeaderEpoch  int32
	AppendTimeMs int64 // now, for LogAppendTime
	Durable      bool  // done only after an fdatasync that covers it
	Origin       Origin
	Owner        any // the host's

	// Taken: a chain has it, for which the disk is being asked. See OnSubmit.
	Taken bool

	// Results.
	Base, Last    int64 // offsets of the first and last record
	LogAppendTime int64 // -1 when the records keep their own
	LogStart      int64
	Duplicate     bool // a repeat: Base and Last are those of the first time
	Err           error

	next      *Append // in the list of the done ones
	repeats   *Append // repeats of this set that came while it was pending
	repeatIdx int32   // which batch of the original this repeats
	rebase    *rebaseWork
}

// Limits of one chain.
const (
	maxChainSets  = 512      // buffers of one vectored write
	maxChainBytes = 16 << 20 // so that a burst does not delay the first ones' answer
)

// writer is the append side of a log: at most one chain is in flight, what comes meanwhile waits in queue.
type writer struct {
	op         disk.Op
	chain      []*Append // in flight
	chainSize  int64
	queue      []*Append
	head       int
	full       bool  // the disk had no room: appends are refused until a probe finds some
	probedMs   int64 // when a probe was last asked for
	unflushed  int64 // records since the last sync
	flushedMs  int64
	recentSeg  *Segment // what was written since the last Retain: seg from recentFrom on
	recentFrom int64
	asking     func()
	done       *Append
	doneTail   *Append
}

// OnSubmit has fn called right before the disk is asked for a chain, whose sets are marked as taken: what measures the way of a set tells the
// wait for its chain from the disk's time by it.
func (l *Log) OnSubmit(fn func()) { l.write.asking = fn }

// Append queues a. It is done when TakeDone returns it: at once when it is refused or a repeat of something written.
func (l *Log) Append(a *Append) {
	a.Base, a.Last, a.LogAppendTime, a.LogStart, a.Duplicate, a.Err = -1, -1, -1, l.start, false, nil
	a.next, a.repeats, a.Taken, a.rebase = nil, nil, false, nil
	if err := l.refuse(a); err != nil {
		l.finish(a, err)
		return
	}
	if a.Info.HasProducer && a.Origin == FromClient && !l.inSequence(a) {
		return
	}
	w := &l.write
	if w.head > 0 && len(w.queue) == cap(w.queue) {
		n := copy(w.queue, w.queue[w.head:])
		clear(w.queue[n:])
		w.queue, w.head = w.queue[:n], 0
	}
	w.queue = append(w.queue, a)
}

func (l *Log) refuse(a *Append) error {
	if err := l.usable(); err != nil {
		return err
	}
	if len(a.Info.Batches) == 0 {
		return &batch.InvalidRecordError{Index: -1, Msg: "no record batch"}
	}
	if len(a.Bytes) > int(l.opt.SegmentBytes) {
		return ErrTooLarge
	}
	if l.write.full {
		l.probeSpace(a.AppendTimeMs)
		return ErrNoSpace
	}
	return nil
}

// inSequence checks the sequence numbers of a client's set. False means that a was dealt with: refused, answered, or attached to the
// pending set that it repeats.
func (l *Log) inSequence(a *Append) bool {
	if len(a.Info.Batches) > 1 {
		l.finish(a, &batch.InvalidRecordError{Index: -1, Msg: "several batches of an idempotent producer in one set"})
		return false
	}
	b := &a.Info.Batches[0]
	last := b.LastSequence()
	verdict, found := l.producers.Check(b.ProducerID, b.ProducerEpoch, b.BaseSequence, last)
	switch verdict {
	case producer.Next:
		l.producers.Begin(b.ProducerID, b.ProducerEpoch, b.BaseSequence, last, a, 0)
		return true
	case producer.Written:
		a.Base, a.Last, a.Duplicate = found.Batch.FirstOffset(), found.Batch.LastOffset, true
		l.finish(a, nil)
	case producer.Pending:
		first := found.Ticket.(*Append)
		a.repeatIdx = found.Index
		a.next, first.repeats = first.repeats, a
	case producer.OldEpoch:
		l.finish(a, ErrInvalidProducerEpoch)
	case producer.OutOfOrder:
		l.finish(a, ErrOutOfOrderSequence)
	}
	return false
}

// finish puts a on the done list, and the repeats that wait for it.
func (l *Log) finish(a *Append, err error) {
	a.Err, a.LogStart = err, l.start
	if err != nil {
		a.Base, a.Last = -1, -1
	}
	w := &l.write
	repeats := a.repeats
	a.next, a.repeats = nil, nil
	if w.done == nil {
		w.done = a
	} else {
		w.doneTail.next = a
	}
	w.doneTail = a
	for r := repeats; r != nil; {
		following := r.next
		r.Base, r.Last, r.LogAppendTime, r.Duplicate = a.Base, a.Last, a.LogAppendTime, err == nil
		l.finish(r, err)
		r = following
	}
}

// TakeDone returns the sets that are done, one by one, in the order of their completion; nil when there is none.
func (l *Log) TakeDone() *Append {
	a := l.write.done
	if a != nil {
		l.write.done, a.next = a.next, nil
	}
	return a
}

// Pending is how many sets are queued or in flight.
func (l *Log) Pending() int { return len(l.write.chain) + len(l.write.queue) - l.write.head }

// Turn builds the next chain when none is in flight and submits it. Called once per turn for a log that was touched.
func (l *Log) Turn(nowMs int64) {
	l.nowMs = nowMs
	w := &l.write
	if len(w.chain) > 0 || l.work.rolling() || l.moving.exchanging || w.head == len(w.queue) {
		return
	}
	if err := l.usable(); err != nil {
		l.failAll(err)
		return
	}
	first := w.queue[w.head]
	if first.needsRebase(l.end) {
		if l.work.rebase == nil {
			l.beginRebase(first)
		}
		return
	}
	if l.active().full(&l.opt, int64(len(first.Bytes)), l.end+int64(first.Info.Count)-1, nowMs, l.setTime(first)) {
		l.beginRoll()
		return
	}
	if l.work.unborn && (first.Durable || l.opt.FlushMessages > 0) {
		return
	}
	l.buildChain(first)
	if w.asking != nil {
		w.asking()
	}
	l.disk.Submit(&w.op)
}

// setTime is the largest timestamp that a will have.
func (l *Log) setTime(a *Append) int64 {
	if l.opt.LogAppendTime {
		return a.AppendTimeMs
	}
	return a.Info.MaxTimestamp
}

// buildChain takes what fits from the queue, gives it its offsets and epochs, and fills the operation.
func (l *Log) buildChain(first *Append) {
	w, seg := &l.write, l.active()
	next, size, count := l.end, int64(0), int64(0)
	w.op.Bufs = w.op.Bufs[:0]
	for w.head < len(w.queue) && len(w.chain) < maxChainSets {
		a := w.queue[w.head]
		if a.needsRebase(next) {
			break
		}
		n := int64(len(a.Bytes))
		if a.Durable != first.Durable || (len(w.chain) > 0 && (size+n > maxChainBytes || seg.size+size+n > int64(l.opt.SegmentBytes))) {
			break
		}
		if last := next + int64(a.Info.Count) - 1; last-seg.base > maxRelative {
			break
		}
		next = l.stamp(a, next)
		w.op.Bufs = append(w.op.Bufs, a.Bytes)
		a.Taken = true
		w.chain = append(w.chain, a)
		w.queue[w.head] = nil
		w.head++
		size, count = size+n, count+int64(a.Info.Count)
	}
	if w.head == len(w.queue) {
		w.queue, w.head = w.queue[:0], 0
	}
	w.unflushed += count
	w.chainSize = size
	w.op.Kind, w.op.File, w.op.Off, w.op.Owner = disk.Write, seg.file, seg.size, l
	if w.op.Durable = l.durableNext(first); w.op.Durable && l.work.unsettled {
		l.work.hurrySettles()
	}
}

// durableNext reports whether a chain that begins with first is one that syncs.
func (l *Log) durableNext(first *Append) bool {
	return first.Durable || (l.opt.FlushMessages > 0 && l.write.unflushed >= l.opt.FlushMessages)
}

// maxRelative is the largest distance from a segment's base that an index entry can hold.
const maxRelative = 1<<31 - 1

// stamp writes what the broker decides into every batch of a, and returns the offset behind it.
func (l *Log) stamp(a *Append, next int64) int64 {
	a.Base = next
	if a.Origin == FromLeader {
		a.Base = a.Info.Batches[0].BaseOffset
		a.Last = a.Info.Batches[len(a.Info.Batches)-1].LastOffset()
		return a.Last + 1
	}
	for i := range a.Info.Batches {
		b := &a.Info.Batches[i]
		raw := a.Bytes[b.Pos : b.Pos+b.Bytes]
		b.BaseOffset, b.LeaderEpoch = next, a.LeaderEpoch
		if b.Magic < 2 {
			batch.PatchLegacy(raw, b.LastOffset(), l.opt.LogAppendTime, a.AppendTimeMs)
		} else {
			batch.PatchAppend(raw, next, a.LeaderEpoch)
		}
		if l.opt.LogAppendTime {
			b.MaxTimestamp, b.MaxTimestampDelta = a.AppendTimeMs, b.LastOffsetDelta
			if b.Magic == 2 {
				batch.PatchLogAppendTime(raw, a.AppendTimeMs)
			}
		}
		next = b.LastOffset() + 1
	}
	if l.opt.LogAppendTime {
		a.LogAppendTime = a.AppendTimeMs
	}
	a.Last = next - 1
	return next
}

// OnDisk takes the completion of the chain in flight.
func (l *Log) OnDisk(op *disk.Op) {
	w := &l.write
	if op != &w.op || len(w.chain) == 0 {
		invariant.Broken("logstore: completion of an operation that is not in flight", l.tp.Topic, l.tp.Partition)
	}
	if op.Err != nil {
		l.chainFailed(op.Err)
		return
	}
	seg := l.active()
	pos := seg.size
	if pos != op.Off || op.File != seg.file {
		invariant.Broken("logstore: a write completed that does not continue the segment", pos, op.Off)
	}
	for _, a := range w.chain {
		l.written(seg, a, pos)
		pos += int64(len(a.Bytes))
	}
	if op.Durable {
		w.unflushed, w.flushedMs = 0, l.nowMs
		if !l.work.unsettled && !l.work.unborn {
			l.durable = l.end
		}
	}
	l.endChain()
	l.publish()
}

func (l *Log) endChain() {
	w := &l.write
	clear(w.chain)
	w.chain = w.chain[:0]
	clear(w.op.Bufs)
	w.op.Bufs = w.op.Bufs[:0]
	w.op.Err = nil
}

// written moves the end over one set and remembers what its batches say.
func (l *Log) written(seg *Segment, a *Append, pos int64) {
	l.cursors.add(seg, a.Base, pos, a.Info.Batches[0].Bytes)
	if l.write.recentSeg != seg {
		l.write.recentSeg, l.write.recentFrom = seg, pos
	}
	for i := range a.Info.Batches {
		b := &a.Info.Batches[i]
		last := b.LastOffset()
		at := pos + int64(b.Pos)
		seg.note(at, int(b.Bytes), b.BaseOffset, last, b.MaxTimestamp, l.opt.IndexInterval)
		if b.LeaderEpoch > l.epochs.latest() && b.Magic == 2 {
			l.assignEpoch(b.LeaderEpoch, b.BaseOffset)
		} else {
			l.epochBegan(b.BaseOffset)
		}
		if b.ProducerID >= 0 {
			l.producerWrote(seg, a, b)
		}
		l.end = last + 1
	}
	l.finish(a, nil)
}

// producerWrote moves a batch of a producer into the written half.
func (l *Log) producerWrote(seg *Segment, a *Append, b *batch.BatchInfo) {
	if b.IsControl() {
		l.markerWrote(seg, a.Bytes[b.Pos:b.Pos+b.Bytes])
		return
	}
	known := producer.Batch{
		FirstSeq: b.BaseSequence, LastSeq: b.LastSequence(), LastOffset: b.LastOffset(), OffsetDelta: b.LastOffsetDelta, Timestamp: b.MaxTimestamp,
	}
	if a.Origin == FromClient {
		l.producers.Commit(b.ProducerID, known, b.IsTransactional(), l.nowMs)
	} else {
		l.producers.Add(b.ProducerID, b.ProducerEpoch, known, b.IsTransactional(), l.nowMs)
	}
}

// chainFailed answers the chain and the queue. A full disk closes the log until there is room; anything else, and every error of a sync,
// takes the directory offline: after a failed sync nobody knows which pages are on the disk, and a second one would lie.
func (l *Log) chainFailed(err error) {
	var de *disk.Error
	fromWrite := errors.As(err, &de) && de.Op == disk.Write.String()
	if fromWrite && errors.Is(err, syscall.ENOSPC) {
		l.write.full = true
		l.failAll(ErrNoSpace)
		l.probeSpace(l.nowMs)
		return
	}
	l.Fail(err)
	l.failAll(ErrOffline)
}

// failAll answers everything that is in flight or queued with err; none of it ever had an offset that anybody saw.
func (l *Log) failAll(err error) {
	w := &l.write
	l.producers.DropPending()
	for _, a := range w.chain {
		l.finish(a, err)
	}
	l.endChain()
	for ; w.head < len(w.queue); w.head++ {
		l.finish(w.queue[w.head], err)
		w.queue[w.head] = nil
	}
	w.queue, w.head = w.queue[:0], 0
}
