package logstore

import (
	"path/filepath"
	"slices"
)

// settleWork makes a closed segment final: synced, its indexes written and cut to their entries, the producers' snapshot beside it.
type settleWork struct {
	l        *Log
	seg      *Segment
	snapshot snapshot
	dueMs    int64
	synced   bool
	err      error
}

// snapshot is what producers had written at an offset, as its file says it.
type snapshot struct {
	at int64
	b  []byte
}

func (l *Log) saveSnapshot(s snapshot) error {
	return l.fs.WriteFileAtomic(filepath.Join(l.path, fileName(s.at, sufSnapshot)), s.b)
}

// Run implements Work.
func (w *settleWork) Run() {
	if w.err = w.seg.file.Sync(); w.err == nil {
		w.err = w.l.fs.SyncDir(w.l.path)
	}
	if w.err != nil {
		return
	}
	w.synced = true
	for _, x := range []*Index{&w.seg.offsets, &w.seg.times} {
		if w.err = writeIndex(w.l.fs, x); w.err != nil {
			return
		}
	}
	if len(w.seg.txns) > 0 {
		if w.err = w.l.fs.WriteFileAtomic(w.seg.stem+sufTxn, encodeTxnIndex(w.seg.txns)); w.err != nil {
			return
		}
	}
	w.err = w.l.saveSnapshot(w.snapshot)
}

// settleLater queues the settling of a segment that was just closed. Where nothing promises that it is on the disk, that waits for
// Options.SettleDelayMs: a sync stalls every other writer of the file system's journal, and what retention takes away meanwhile, or the kernel has
// written by itself, costs none.
func (l *Log) settleLater(seg *Segment, at int64, now bool) {
	w := &settleWork{l: l, seg: seg, snapshot: snapshot{at, l.producers.EncodeSnapshot()}}
	if !now {
		w.dueMs = l.nowMs + l.opt.SettleDelayMs
	}
	l.work.unsettled = true
	l.work.settles = append(l.work.settles, w)
}

// settleDue tells whether the oldest closed segment is to be settled now.
func (w *lanes) settleDue(nowMs int64) bool { return len(w.settles) > 0 && nowMs >= w.settles[0].dueMs }

// nextSettle takes the oldest closed segment's job into the slow lane.
func (w *lanes) nextSettle() Work {
	job := w.settles[0]
	w.settles = slices.Delete(w.settles, 0, 1)
	w.slowOut = true
	return job
}

// hurrySettles makes every closed segment due: something durable waits for them.
func (w *lanes) hurrySettles() {
	for _, s := range w.settles {
		s.dueMs = 0
	}
}

// forgetSettles drops the jobs of segments that left the log, and gives the newest of them.
func (w *lanes) forgetSettles(gone []*Segment) (newest *settleWork) {
	w.settles = slices.DeleteFunc(w.settles, func(s *settleWork) bool {
		drop := slices.Contains(gone, s.seg)
		if drop {
			newest = s
		}
		return drop
	})
	return newest
}

// snapshotWork saves what producers had written when a segment was closed that left the log before it was settled: nothing else tells that.
type snapshotWork struct {
	l        *Log
	snapshot snapshot
	err      error
}

// Run implements Work.
func (w *snapshotWork) Run() { w.err = w.l.saveSnapshot(w.snapshot) }

// Apply implements Work.
func (w *snapshotWork) Apply() {
	w.l.work.slowOut = false
	w.l.worked(w.err, false)
}

// Apply implements Work.
func (w *settleWork) Apply() {
	l := w.l
	l.work.slowOut = false
	if !l.worked(w.err, !w.synced) {
		if l.dir().Offline() == nil { // a full disk: the indexes stay in memory, and the job is done again later
			w.dueMs = l.nowMs + probeEveryMs
			l.work.settles = slices.Insert(l.work.settles, 0, w)
		}
		return
	}
	for _, x := range []*Index{&w.seg.offsets, &w.seg.times} {
		x.inMem, x.mem = false, nil
	}
	w.seg.settled = true
	l.settledUpTo()
}

// settledUpTo moves the durable point over the closed segments that are on the disk.
func (l *Log) settledUpTo() {
	l.work.unsettled = false
	for _, s := range l.segments[:len(l.segments)-1] {
		if !s.settled {
			l.work.unsettled = true
			break
		}
		l.durable = max(l.durable, s.next)
	}
	l.publish()
}
