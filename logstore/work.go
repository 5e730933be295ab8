package logstore

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// Work is a blocking job of one log.
type Work interface {
	Run()   // off the shard
	Apply() // on the shard, afterwards; then Turn
}

// lanes order a log's blocking jobs. A roll has a lane of its own, since appends wait for it; everything else runs one at a time.
type lanes struct {
	roll      *rollWork
	rollOut   bool
	slow      []Work
	settles   []*settleWork // closed segments that wait to be made final, oldest first
	slowOut   bool
	rebase    *rebaseWork
	rebaseOut bool
	rebaser   batch.Iterator // of the job that is out
	clean     *compactWork
	cleanOut  bool
	cleaning  bool // a cleaning was begun and not applied yet
	unsettled bool // a closed segment is not known to be on the disk
	unborn    bool // the partition's own names are not known to be on the disk
	epochs    bool // a job that saves the epochs is queued
	probing   bool
	flushing  bool
	unnamed   []*Segment // left the log, and are not renamed yet: the disk was full
	again     []Work     // failed for a want that may pass; from againMs on they are tried once more
	againMs   int64
}

func (w *lanes) rolling() bool { return w.roll != nil }

// TakeWork returns the next job for a thread off the shard; nil when there is none to start now. Up to four jobs of a log may be out at
// once (a roll, a short one, a cleaning, a move): a host that waits for one before it takes the next lets appends wait for cleanings.
func (l *Log) TakeWork() Work {
	if job := l.nextWork(); job != nil {
		return gated{job, l}
	}
	return nil
}

// gated is a job that does nothing once the log was deleted: its files have other names by then, and a new partition of the same name may
// have the old ones.
type gated struct {
	job Work
	l   *Log
}

// Run implements Work.
func (g gated) Run() {
	g.l.gate.RLock()
	defer g.l.gate.RUnlock()
	if !g.l.deleted.Load() {
		g.job.Run()
	}
}

// Apply implements Work.
func (g gated) Apply() {
	if g.l.deleted.Load() {
		g.l.failAll(ErrClosed)
		return
	}
	g.job.Apply()
}

func (l *Log) nextWork() Work {
	if l.deleted.Load() {
		return nil
	}
	w := &l.work
	if w.roll != nil && !w.rollOut {
		w.rollOut = true
		return w.roll
	}
	if w.rebase != nil && !w.rebaseOut {
		w.rebaseOut = true
		return w.rebase
	}
	if l.moving.exchanging {
		return l.nextExchange()
	}
	if len(w.again) > 0 && l.nowMs >= w.againMs {
		w.slow, w.again = append(w.slow, w.again...), nil
	}
	if !w.slowOut && w.settleDue(l.nowMs) {
		return w.nextSettle()
	}
	if w.slowOut || len(w.slow) == 0 {
		if job := w.clean; job != nil && !w.cleanOut {
			w.clean, w.cleanOut = nil, true
			return job
		}
		return l.nextMove()
	}
	job := w.slow[0]
	copy(w.slow, w.slow[1:])
	w.slow[len(w.slow)-1] = nil
	w.slow = w.slow[:len(w.slow)-1]
	w.slowOut = true
	if p, ok := job.(interface{ prepare() }); ok {
		p.prepare()
	}
	return job
}

// WorkOut is how many jobs are between TakeWork and Apply.
func (l *Log) WorkOut() int {
	n := 0
	if l.work.rollOut {
		n++
	}
	if l.work.slowOut {
		n++
	}
	if l.work.rebaseOut {
		n++
	}
	if l.work.cleanOut {
		n++
	}
	if l.moving.out {
		n++
	}
	return n
}

// worked handles the error of a job's Run: a process without descriptors is no reason to give the directory up, nor is a full disk unless the
// job says so.
func (l *Log) worked(err error, fullIsFatal bool) bool {
	if err == nil {
		return true
	}
	if !scarce(err) || fullIsFatal && !noDescriptor(err) {
		l.Fail(err)
	}
	return false
}

// rollWork makes the files of the next segment.
type rollWork struct {
	l    *Log
	seg  *Segment
	most int32
	pre  int64
	sync bool
	err  error
}

// beginRoll asks for a new segment at the log's end. Its name is made durable at once where appends are, else when the old segment is settled:
// nothing counts as durable before that.
func (l *Log) beginRoll() {
	w := &rollWork{l: l, seg: newSegment(l.path, l.end, l.nowMs), most: l.opt.IndexMaxBytes}
	if q := &l.write; q.head < len(q.queue) {
		w.sync = q.queue[q.head].Durable || l.opt.FlushMessages == 1
	}
	if l.opt.Preallocate {
		w.pre = int64(l.opt.SegmentBytes)
	}
	l.work.roll = w
}

// Rolls tells whether a job, which has run, gives its log a new segment.
func Rolls(w Work) bool {
	if g, ok := w.(gated); ok {
		w = g.job
	}
	roll, ok := w.(*rollWork)
	return ok && roll.err == nil
}

// Run implements Work.
func (w *rollWork) Run() {
	if w.err = createSegment(w.l.fs, w.seg, w.most, w.pre); w.err == nil && w.sync {
		if w.err = w.l.fs.SyncDir(w.l.path); w.err != nil {
			w.seg.close()
		}
	}
}

// createSegment makes a segment's files: the log, and the two indexes at the full size that Kafka gives active ones.
func createSegment(fs disk.FS, seg *Segment, indexBytes int32, preallocate int64) (err error) {
	seg.file, err = fs.OpenFile(seg.stem+sufLog, os.O_CREATE|os.O_TRUNC|os.O_RDWR, filePerm)
	if err == nil && preallocate > 0 {
		err = seg.file.Fallocate(preallocate)
	}
	for _, x := range []*Index{&seg.offsets, &seg.times} {
		if err == nil {
			err = preallocateIndex(fs, x, indexBytes)
		}
	}
	if err != nil && seg.file != nil {
		_ = seg.file.Close()
		_ = fs.Remove(seg.stem + sufLog)
	}
	return err
}

const filePerm = 0o644

func preallocateIndex(fs disk.FS, x *Index, most int32) error {
	f, err := fs.OpenFile(x.path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, filePerm)
	if err != nil {
		return err
	}
	err = f.Truncate(int64(maxEntries(most, x.width) * x.width))
	return errors.Join(err, f.Close())
}

// Apply implements Work.
func (w *rollWork) Apply() {
	l := w.l
	l.work.roll, l.work.rollOut = nil, false
	if w.err != nil {
		if l.worked(w.err, false) || l.dir().Offline() != nil {
			l.failAll(ErrOffline)
			return
		}
		l.write.full = true
		l.failAll(ErrNoSpace)
		l.probeSpace(l.nowMs)
		return
	}
	old := l.active()
	if l.end != w.seg.base { // a log that was truncated or emptied meanwhile
		w.seg = nil
		l.beginRoll()
		return
	}
	l.segments = append(l.segments, w.seg)
	l.dirty = true
	old.times.addTime(old.maxTime, int32(old.maxTimeLast-old.base))
	l.work.unsettled = true
	l.settleLater(old, w.seg.base, w.sync)
	l.publish()
}

// birthWork makes the names of a new partition durable. Appends that promise durability wait for it, others do not.
type birthWork struct {
	l   *Log
	err error
}

// Run implements Work.
func (w *birthWork) Run() {
	w.err = nil
	if w.l.topicID != [16]byte{} {
		w.err = w.l.fs.WriteFileAtomic(filepath.Join(w.l.path, partitionFile), encodePartition(w.l.topicID))
	}
	if w.err == nil {
		w.err = w.l.fs.SyncDir(w.l.path)
	}
	if w.err == nil {
		w.err = w.l.fs.SyncDir(w.l.dir().path)
	}
}

// Apply implements Work.
func (w *birthWork) Apply() {
	w.l.work.slowOut = false
	if w.l.worked(w.err, false) {
		w.l.work.unborn = false
		return
	}
	w.l.tryAgain(w)
}

// tryAgain has a job that failed done once more, after a while, unless the directory has failed with it.
func (l *Log) tryAgain(job Work) {
	if l.dir().Offline() == nil {
		l.work.again, l.work.againMs = append(l.work.again, job), l.nowMs+probeEveryMs
	}
}

// writeIndex is putIndex, durable.
func writeIndex(fs disk.FS, x *Index) error {
	err := putIndex(fs, x)
	if err != nil {
		return err
	}
	if err = x.file.Sync(); err != nil {
		_ = x.file.Close()
		x.file = nil
	}
	return err
}

// putIndex puts the entries into the file, preallocated or new, cuts it to them and keeps it open for reading.
func putIndex(fs disk.FS, x *Index) error {
	f, err := fs.OpenFile(x.path, os.O_CREATE|os.O_RDWR, filePerm)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(x.mem, 0); err == nil {
		err = f.Truncate(int64(len(x.mem)))
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	x.file = f
	return nil
}

// epochWork saves leader-epoch-checkpoint.
type epochWork struct {
	l   *Log
	b   []byte
	err error
}

func (w *lanes) saveEpochs(l *Log) {
	if w.epochs || l.fs == nil {
		return
	}
	w.epochs = true
	w.slow = append(w.slow, &epochWork{l: l})
}

// prepare takes the epochs as they are now: those assigned while the job waited are in.
func (w *epochWork) prepare() {
	w.l.work.epochs, w.l.epochs.dirty = false, false
	w.b = encodeEpochs(w.l.epochs.list)
}

// Run implements Work.
func (w *epochWork) Run() { w.err = w.l.fs.WriteFileAtomic(filepath.Join(w.l.path, epochFile), w.b) }

// Apply implements Work.
func (w *epochWork) Apply() {
	w.l.work.slowOut = false
	if !w.l.worked(w.err, false) && !w.l.work.epochs { // another one is queued otherwise
		w.l.work.epochs, w.l.epochs.dirty = true, true
		w.l.tryAgain(w)
	}
}

// flushWork syncs the active segment off the shard.
type flushWork struct {
	l   *Log
	seg *Segment
	end int64
	err error
}

// Flush asks for a sync of everything written so far; RecoveryPoint tells when it happened.
func (l *Log) Flush() {
	if l.work.flushing || l.durable == l.end || l.usable() != nil {
		return
	}
	l.work.flushing = true
	l.work.hurrySettles()
	l.work.slow = append(l.work.slow, &flushWork{l: l})
}

// prepare fixes what the sync will cover.
func (w *flushWork) prepare() { w.seg, w.end = w.l.active(), w.l.end }

// Run implements Work.
func (w *flushWork) Run() { w.err = w.seg.file.DataSync() }

// Apply implements Work.
func (w *flushWork) Apply() {
	l := w.l
	l.work.slowOut, l.work.flushing = false, false
	if l.worked(w.err, true) && !l.work.unsettled && !l.work.unborn {
		l.durable = max(l.durable, w.end)
		l.write.flushedMs = l.nowMs
		l.publish()
	}
}

// probeWork looks whether a full disk has room again, and cuts what a failed write left behind the end. Nobody was ever given those
// bytes, so cutting them in place breaks no promise about sent files.
type probeWork struct {
	l    *Log
	seg  *Segment
	size int64
	room bool
	err  error
}

// Between probes, and what must be free before appends are taken again.
const (
	probeEveryMs = 1000
	roomWanted   = 8 << 20
)

func (l *Log) probeSpace(nowMs int64) {
	if l.work.probing || nowMs-l.write.probedMs < probeEveryMs && nowMs >= l.write.probedMs && l.write.probedMs != 0 {
		return
	}
	l.work.probing, l.write.probedMs = true, nowMs
	l.work.slow = append(l.work.slow, &probeWork{l: l, seg: l.active(), size: l.active().size})
}

// Run implements Work.
func (w *probeWork) Run() {
	if w.err = w.seg.file.Truncate(w.size); w.err != nil {
		return
	}
	free, _, err := w.l.fs.Free(w.l.path)
	w.room, w.err = free >= roomWanted, err
}

// Apply implements Work.
func (w *probeWork) Apply() {
	l := w.l
	l.work.slowOut, l.work.probing = false, false
	if l.worked(w.err, false) && w.room {
		l.write.full = false
	}
}
