package logstore

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/invariant"
)

// moving is a log's move as its shard sees it.
type moving struct {
	mv         *Move // nil: none
	out        bool  // a job of a move, of this one or of one that was stopped, is out
	exchanging bool  // little is missing: appends wait, and no other job begins, until the names are exchanged
	retryMs    int64 // the disk was full: when it is tried again
}

// What a copying may leave for the moment when appends wait, and how long a full disk is given.
const (
	moveLeft    = 1 << 20
	moveRetryMs = 1000
)

// Redirect has the log go where Manager.PlanMove decided; nil: it stays where it is.
func (l *Log) Redirect(mv *Move) {
	old := l.moving.mv
	if old == mv || l.closed || l.deleted.Load() {
		return
	}
	l.moving.mv, l.moving.retryMs = mv, 0
	if old != nil {
		old.stopped.Store(true)
		if !l.moving.out { // else the job's end sees to it
			l.moving.exchanging = false
			l.dropMove(old)
		}
	}
}

// StopMove ends the jobs of a move, since the partition goes.
func (l *Log) StopMove() {
	if mv := l.moving.mv; mv != nil {
		mv.stopped.Store(true)
	}
}

// Moves tells whether a job copies a log to another directory, which takes long: a host has threads of their own for those.
func Moves(w Work) bool {
	if g, ok := w.(gated); ok {
		w = g.job
	}
	_, ok := w.(*copyWork)
	return ok
}

// nextMove is the job that the log's move needs next, if it can begin now.
func (l *Log) nextMove() Work {
	v := &l.moving
	mv := v.mv
	if mv == nil || v.out || v.exchanging || l.closed || l.work.unborn || l.work.cleaning || l.nowMs < v.retryMs || mv.halt() || l.usable() != nil {
		return nil
	}
	if mv.to.Offline() != nil || mv.from != l.dir() {
		l.forgetMove(mv)
		return nil
	}
	v.out = true
	return &copyWork{l: l, mv: mv, sources: l.sources(mv), restart: l.outdates(mv)}
}

// outdates tells whether what a move has copied cannot be gone on with: the log lost an end that was copied, or its start went on past
// segments that were not. A copy with a hole would lack what producers wrote there, which no snapshot need tell.
func (l *Log) outdates(mv *Move) bool {
	return mv.copy.end > l.end || len(mv.segments) > 0 && mv.copy.end < l.segments[0].base
}

// nextExchange is the exchange of names once nothing else is under way.
func (l *Log) nextExchange() Work {
	if l.WorkOut() > 0 || len(l.write.chain) > 0 || l.work.rolling() || l.work.rebase != nil {
		return nil
	}
	mv := l.moving.mv
	if mv == nil || mv.halt() || l.usable() != nil || l.outdates(mv) {
		l.moving.exchanging = false
		return l.nextWork()
	}
	l.moving.out = true
	w := &exchangeWork{copyWork: copyWork{l: l, mv: mv, sources: l.sources(mv)}, end: l.end, snapshot: l.producers.EncodeSnapshot(),
		olds: &Log{segments: slices.Clone(l.segments), doomed: slices.Clone(l.doomed)}}
	w.takeJobs()
	return w
}

// sources are the segments that a move has not wholly copied yet, with a reference each.
func (l *Log) sources(mv *Move) []source {
	mv.opt, mv.epochs = l.opt, slices.Clone(l.epochs.list)
	from := l.start
	if len(mv.segments) > 0 && !l.outdates(mv) {
		from = mv.copy.end // which may lie before the start by now
	}
	var out []source
	for i := l.segmentFor(from); i < len(l.segments); i++ {
		s := l.segments[i]
		s.refs.Add(1)
		out = append(out, source{seg: s, base: s.base, next: s.next, size: s.size, made: s.createdMs, closed: i < len(l.segments)-1, txns: slices.Clone(s.txns)})
	}
	return out
}

// copyWork copies what the log had when it began.
type copyWork struct {
	l       *Log
	mv      *Move
	sources []source
	restart bool
	err     error
}

// Run implements Work.
func (w *copyWork) Run() {
	if w.restart {
		w.err = w.mv.startOver()
	}
	if w.err == nil {
		w.err = w.mv.copyAll(w.sources, func(n int64) { w.mv.m.payMove(n, w.mv.halt) })
	}
	if w.err == nil {
		w.err = w.mv.sync()
	}
}

// Apply implements Work.
func (w *copyWork) Apply() {
	w.release()
	if !w.failed() && w.left() <= moveLeft && !w.l.outdates(w.mv) {
		w.l.moving.exchanging = true
	}
}

func (w *copyWork) release() {
	w.l.moving.out = false
	for i := range w.sources {
		w.sources[i].seg.refs.Add(-1)
	}
}

// left is how many bytes the log has got since the job began.
func (w *copyWork) left() (n int64) {
	last := &w.sources[len(w.sources)-1]
	for _, s := range w.l.segments {
		switch {
		case s == last.seg:
			n += s.size - last.size
		case s.base > last.base:
			n += s.size
		}
	}
	return n
}

// failed sees to a job that did not do its work.
func (w *copyWork) failed() bool {
	l, mv := w.l, w.mv
	switch {
	case mv != l.moving.mv || mv.stopped.Load():
		l.forgetMove(mv)
	case w.err == nil:
		return false
	case errors.Is(w.err, errHalted):
	case scarce(w.err):
		l.moving.retryMs = l.nowMs + moveRetryMs
		mv.m.opt.Log.Warn("a move waits for room", "tp", mv.tp.String(), "target", mv.to.path, "err", w.err.Error())
	default:
		mv.blame(w.err)
		l.forgetMove(mv)
	}
	return true
}

// blame takes the directory offline whose error ended a move. What is damaged in the log is no reason: it stays where it is.
func (mv *Move) blame(err error) {
	mv.m.opt.Log.Error("a move has failed", "tp", mv.tp.String(), "dir", mv.from.path, "target", mv.to.path, "err", err.Error())
	if !isIO(err) {
		return
	}
	var at *disk.Error
	if errors.As(err, &at) && strings.HasPrefix(at.Path, mv.from.path+string(filepath.Separator)) {
		mv.from.fail(err)
		return
	}
	mv.to.fail(err)
}

// forgetMove ends a move that is not wanted, or cannot go on.
func (l *Log) forgetMove(mv *Move) {
	mv.stopped.Store(true)
	if l.moving.mv == mv {
		l.moving.mv = nil
	}
	l.dropMove(mv)
}

func (l *Log) dropMove(mv *Move) { l.work.slow = append(l.work.slow, &dropWork{l: l, mv: mv}) }

// dropWork takes the files of a move away.
type dropWork struct {
	l  *Log
	mv *Move
}

// Run implements Work.
func (w *dropWork) Run() {
	w.mv.m.abandon(w.mv)
	w.mv.closeFiles()
	w.mv.segments = nil
}

// Apply implements Work.
func (w *dropWork) Apply() { w.l.work.slowOut = false }

// takeJobs takes the jobs out of the queue that are about files of the segments that the log is about to leave.
func (w *exchangeWork) takeJobs() {
	l := w.l
	w.jobs = nil
	l.work.slow = slices.DeleteFunc(l.work.slow, func(job Work) bool {
		switch job := job.(type) {
		case *renameWork:
			w.jobs = append(w.jobs, job)
			return true
		case *removeWork:
			w.jobs = append(w.jobs, job)
			for _, s := range job.segs {
				w.olds.doomed = append(w.olds.doomed, doomed{seg: s})
			}
			return true
		}
		return false
	})
}

// Apply implements Work.
func (w *exchangeWork) Apply() {
	l, mv := w.l, w.mv
	w.release()
	l.moving.exchanging = false
	if !mv.exchanged.Load() {
		l.work.slow = append(w.jobs, l.work.slow...)
		w.failed()
		return
	}
	l.takePlace(mv, w.end)
	if l.moving.mv == mv {
		l.moving.mv = nil
	}
	l.work.slow = append(l.work.slow, &retireWork{l: l, mv: mv, olds: w.olds})
}

// takePlace makes the files of a move the log's.
func (l *Log) takePlace(mv *Move, end int64) {
	if mv.copy.end != end || l.end != end {
		invariant.Broken("logstore: a move did not copy the whole log", mv.copy.end, l.end)
	}
	l.work.forgetSettles(l.segments)
	l.work.forgetProbe()
	l.work.unnamed = nil
	l.path = l.Path()
	for _, s := range mv.segments {
		s.moved(l.path)
	}
	l.segments, l.doomed = mv.segments, nil
	l.cursors = cursors{}
	l.window = window{b: l.window.b[:0]}
	l.write.recentSeg, l.write.unflushed, l.write.flushedMs, l.write.full = nil, 0, l.nowMs, false
	l.work.unsettled, l.dirty, l.durable = false, true, l.end
	mv.segments = nil
	l.published.named.Store(l.segments[0].base)
	l.publish()
}

// forgetProbe drops a probe that waits: the log lies elsewhere, takes appends again, and must not be cut to what it was.
func (w *lanes) forgetProbe() {
	w.slow = slices.DeleteFunc(w.slow, func(job Work) bool { _, ok := job.(*probeWork); return ok })
	w.probing = false
}

// moved tells a segment where its files are now.
func (s *Segment) moved(dir string) {
	s.stem = filepath.Join(dir, fileName(s.base, ""))
	s.offsets.path, s.times.path = s.stem+sufIndex, s.stem+sufTime
	s.file.Renamed(s.stem + sufLog)
	for _, x := range []*Index{&s.offsets, &s.times} {
		if x.file != nil {
			x.file.Renamed(x.path)
		}
	}
}

// retireWork hands the files that the log has left to those that are removed after file.delete.delay.ms.
type retireWork struct {
	l    *Log
	mv   *Move
	olds *Log
}

// Run implements Work.
func (w *retireWork) Run() { w.mv.m.retire(w.mv, w.olds, w.l.published.delay.Load()) }

// Apply implements Work.
func (w *retireWork) Apply() { w.l.work.slowOut = false }
