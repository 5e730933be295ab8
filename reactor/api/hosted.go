package api

import (
	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/coord"
	"github.com/pelton-broker/pelton/replica"
)

// Hosted is a partition whose log is on this broker. Everything but the immutable names belongs
// to its owner shard.
type Hosted struct {
	Topic     string
	TopicID   meta.ID
	Partition int32
	Log       *logstore.Log

	shard *reactor.Shard
	// role is this broker's part in the partition; it follows the image, by mail.
	role *replica.Partition
	gone bool
	// minISR is min.insync.replicas.
	minISR int32
	// limits are the bounds of a record set for this topic.
	limits batch.Limits
	// coord runs the groups of this partition; nil unless it is one of __consumer_offsets that is led here.
	coord *coord.Host
	// found is the highest format of the records that the log was opened with, -1 without one or when nobody asked. Set before the route is.
	found int8
	// format is that in which the topic keeps records.
	format int8
	// durable: every append is acknowledged after its fdatasync (flush.messages=1).
	durable bool

	// touched: in the owner's list of logs to look at when the turn ends.
	touched bool
	// waiters are the asks that wait for new records here, in the order they came.
	waiters []*ask
	// appended counts bytes ever appended; waiters measure min bytes by it.
	appended int64
	// left is closed when a partition that is gone has ended its last write and its last job.
	left chan struct{}
}

// touch puts the partition on the list of those whose log gets a Turn when the shard's turn ends.
func (l *Local) touch(h *Hosted) {
	if !h.touched {
		h.touched = true
		l.touchedLogs = append(l.touchedLogs, h)
	}
}

// turnLogs gives every touched log its turn and carries out what came of it.
func (l *Local) turnLogs() {
	for i := 0; i < len(l.touchedLogs); i++ { // carrying out may touch more
		h := l.touchedLogs[i]
		h.touched = false
		h.Log.Turn(l.shard.WallMs())
		l.drain(h)
	}
	clear(l.touchedLogs)
	l.touchedLogs = l.touchedLogs[:0]
}

// drain takes finished appends and due jobs from a log.
func (l *Local) drain(h *Hosted) {
	done := false
	for a := h.Log.TakeDone(); a != nil; a = h.Log.TakeDone() {
		if a.Err == nil && !a.Duplicate {
			h.appended += int64(len(a.Bytes))
			done = true
		}
		if hw := h.role.Appended(h.Log.End()); hw > h.Log.HighWatermark() {
			h.Log.SetHighWatermark(hw)
		}
		a.Owner.(appendOwner).appended(l, h, a)
	}
	if done {
		l.wakeWaiters(h)
	}
	if h.gone && h.Log.Pending() == 0 {
		l.finishLeave(h)
		return
	}
	for w := h.Log.TakeWork(); w != nil; w = h.Log.TakeWork() {
		l.broker.runWork(l, h, w)
	}
}

// appendOwner is told when its append has ended.
type appendOwner interface {
	appended(l *Local, h *Hosted, a *logstore.Append)
}

// runWork carries a log's blocking job out off the shards and applies it back on the owner.
func (b *Broker) runWork(l *Local, h *Hosted, w logstore.Work) {
	run := func() {
		w.Run()
		h.shard.Post(&workDone{host: h, work: w})
	}
	if !b.cleaning.take(w, run) {
		_ = b.work.Do(run) // an error means that the broker is stopping: nothing will be appended any more
	}
	l.shard.WokeGoroutine()
}

type workDone struct {
	host *Hosted
	work logstore.Work
}

// Deliver implements reactor.Message on the owner's shard.
func (w *workDone) Deliver(s *reactor.Shard) {
	if logstore.Rolls(w.work) {
		localOf(s).set.Add(perf.SegmentRolls, 1)
	}
	w.work.Apply()
	if err := logstore.CleaningFailed(w.work); err != nil {
		localOf(s).broker.log.Error("partition is not compacted any more: its cleaning has failed; with the broker stopped, 'pelton log repair' offers the choices",
			"tp", w.host.Topic, "partition", w.host.Partition, "dir", w.host.Log.Path(), "err", err.Error())
	}
	localOf(s).touch(w.host)
}

// finishLeave lets go of a partition that the cluster has taken away, once no write and no job of its log is under way: its
// directory is renamed next.
func (l *Local) finishLeave(h *Hosted) {
	if h.left != nil && h.Log.WorkOut() == 0 {
		delete(l.hosts, h.Log)
		close(h.left)
		h.left = nil
	}
}
