package logstore

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// compactWork cleans a log in files beside its own. It holds the segments that it reads, and may take long: it has a lane of its own.
type compactWork struct {
	l     *Log
	c     cleaner
	ratio float64 // share that was never cleaned
	err   error
}

// Compaction tells how a log's cleaning stands.
type Compaction struct {
	Cleaned     int64 // first offset that was never cleaned
	Runs        int64
	Uncleanable error // the last run failed: the log is left alone until it is opened again
}

// Uncleanable is why a log is not cleaned any more, and how many bytes that leaves dirty; nil while it is. Any thread.
func (l *Log) Uncleanable() (cause error, dirty int64) {
	if u := l.published.uncleanable.Load(); u != nil {
		return u.cause, l.published.dirty.Load()
	}
	return nil, 0
}

// uncleanable is the end of a log's cleaning.
type uncleanable struct{ cause error }

// CleaningFailed is why a cleaning, which was applied, has made its log one that is not cleaned any more; nil for every other job.
func CleaningFailed(w Work) error {
	if g, ok := w.(gated); ok {
		w = g.job
	}
	if clean, ok := w.(*compactWork); ok && clean.l.compaction.Uncleanable != nil {
		return clean.err
	}
	return nil
}

// Compaction tells how cleaning stands.
func (l *Log) Compaction() Compaction { return l.compaction }

// maybeCompact asks for a cleaning when the part that was never cleaned has grown large against the rest.
func (l *Log) maybeCompact(nowMs int64) {
	if !l.opt.Compact || !l.opt.Cleaner || l.work.cleaning || l.moving.mv != nil {
		return
	}
	limit := l.LastStable()
	n := 0
	var clean, dirty int64
	oldest := nowMs
	for n < len(l.segments)-1 {
		s := l.segments[n]
		if !s.settled || s.next > limit || (l.opt.MinCompactionLagMs > 0 && s.newest() > nowMs-l.opt.MinCompactionLagMs) {
			break
		}
		if s.next <= l.compaction.Cleaned {
			clean += s.size
		} else {
			dirty += s.size
			oldest = min(oldest, max(s.firstTime, 0))
		}
		n++
	}
	l.published.dirty.Store(dirty)
	if l.compaction.Uncleanable != nil {
		return
	}
	due := l.opt.MaxCompactionLagMs > 0 && nowMs-oldest > l.opt.MaxCompactionLagMs
	if dirty == 0 || (float64(dirty) < l.opt.MinCleanableRatio*float64(clean+dirty) && !due) {
		return
	}
	w := &compactWork{l: l, ratio: float64(dirty) / float64(clean+dirty), c: cleaner{fs: l.fs, throttle: l.throttle, opt: l.opt, nowMs: nowMs, segments: slices.Clone(l.segments[:n]), dirty: max(l.compaction.Cleaned, l.start)}}
	w.c.records = batch.Iterator{Codecs: l.records.Codecs}
	w.c.lastOf, w.c.stop = l.lastBatches(), &l.deleted
	for _, s := range l.segments {
		w.c.aborted = append(w.c.aborted, s.txns...)
	}
	for _, s := range w.c.segments {
		s.refs.Add(1)
	}
	l.work.cleaning, l.work.clean = true, w
}

// lastBatches are the batches that the active producers' sequence numbers go on from.
func (l *Log) lastBatches() map[int64]lastBatch {
	out := map[int64]lastBatch{}
	l.producers.EachLast(func(id int64, epoch int16, offset int64) { out[id] = lastBatch{offset, epoch} })
	return out
}

// Run implements Work.
func (w *compactWork) Run() {
	if w.err = w.c.run(); w.err != nil {
		w.c.discard()
	}
}

// Apply implements Work.
func (w *compactWork) Apply() {
	l := w.l
	l.work.cleanOut = false
	if w.err != nil {
		w.drop()
		if isIO(w.err) {
			l.worked(w.err, false)
		} else {
			l.compaction.Uncleanable = w.err
			l.published.uncleanable.Store(&uncleanable{w.err})
		}
		return
	}
	l.work.slow = append(l.work.slow, &swapWork{l: l, w: w})
}

// drop gives everything back that the run held.
func (w *compactWork) drop() {
	for _, s := range w.c.segments {
		s.refs.Add(-1)
	}
	for _, g := range w.c.made {
		g.seg.close()
	}
	w.c.made = nil
	w.l.work.cleaning = false
}

// errHalfSwapped is why a directory is given up in which the names of cleaned segments are half given: the next start finishes that.
var errHalfSwapped = errors.New("logstore: old segments left the log in the middle of a swap")

// swapWork puts the cleaned segments into the places of the old ones, so that a crash at any point leaves one or the other. Every step is made
// for all groups before the directory is synced for all at once: three syncs for a cleaning, however many segments it has.
type swapWork struct {
	l    *Log
	w    *compactWork
	lost bool // an old segment left the log meanwhile: the cleaning was for nothing
	done int  // steps and their syncs, which a want of descriptors may hold up
	err  error
}

// prepare runs on the shard.
func (s *swapWork) prepare() {
	for _, seg := range s.w.c.segments {
		s.lost = s.lost || !slices.Contains(s.l.segments, seg)
	}
}

// Run implements Work.
func (s *swapWork) Run() {
	if s.lost || len(s.w.c.made) == 0 {
		return
	}
	steps := []func(cleanedGroup) error{s.commit, s.putAside, s.reveal}
	for s.err = nil; s.done < 2*len(steps); s.done++ {
		if s.done%2 == 1 {
			s.err = s.l.fs.SyncDir(s.l.path)
		} else {
			for _, g := range s.w.c.made {
				if s.err == nil {
					s.err = steps[s.done/2](g)
				}
			}
		}
		if s.err != nil {
			return
		}
	}
}

// commit gives the new files the suffix .swap, which a start completes, Kafka's too: that one takes a .cleaned beside it for a sign that it is
// not whole, so the log is the last of its group to get there, and the groups go by offset.
func (s *swapWork) commit(g cleanedGroup) error {
	for _, suffix := range []string{sufIndex, sufTime, sufTxn, sufLog} {
		err := s.l.fs.Rename(g.seg.stem+suffix+sufCleaned, g.seg.stem+suffix+sufSwap)
		if err != nil && (suffix != sufTxn || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// putAside takes the old files out of the way, once it is durable that every new log is whole.
func (s *swapWork) putAside(g cleanedGroup) error {
	f := s.l.fs
	for _, old := range g.olds {
		for _, suffix := range []string{sufLog, sufIndex, sufTime, sufTxn} {
			if err := f.Rename(old.stem+suffix, old.stem+suffix+sufDeleted); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	for _, suffix := range []string{sufIndex, sufTime, sufTxn} {
		if err := f.Rename(g.seg.stem+suffix+sufSwap, g.seg.stem+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// reveal gives the new log its name, only when the old ones are gone for good: a power cut that kept this name and brought those back would
// leave two logs of the same records.
func (s *swapWork) reveal(g cleanedGroup) error {
	return s.l.fs.Rename(g.seg.stem+sufLog+sufSwap, g.seg.stem+sufLog)
}

// Apply implements Work.
func (s *swapWork) Apply() {
	l, w := s.l, s.w
	l.work.slowOut = false
	if noDescriptor(s.err) && !s.lost {
		l.tryAgain(s)
		return
	}
	if s.lost && s.done > 0 {
		s.err = errHalfSwapped
	}
	if s.lost || s.err != nil {
		w.drop()
		l.worked(s.err, true) // renames that stopped half-way are the next start's to finish
		return
	}
	for _, g := range w.c.made {
		i := slices.Index(l.segments, g.olds[0])
		g.seg.offsets.path, g.seg.times.path = g.seg.stem+sufIndex, g.seg.stem+sufTime
		l.segments = slices.Replace(l.segments, i, i+len(g.olds), g.seg)
		for _, old := range g.olds {
			l.cursors.drop(old)
			old.condemned = true
			l.doomed = append(l.doomed, doomed{old, l.nowMs + l.opt.FileDeleteMs})
		}
	}
	w.c.made = nil
	l.window = window{b: l.window.b[:0]}
	l.compaction.Cleaned, l.compaction.Runs = w.c.upTo, l.compaction.Runs+1
	l.published.cleaned.Store(w.c.upTo)
	w.drop()
	l.publish()
}
