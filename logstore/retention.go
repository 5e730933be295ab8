package logstore

import (
	"errors"
	"io/fs"
	"slices"
)

// doomed is a segment whose files wait, renamed, for their removal.
type doomed struct {
	seg   *Segment
	dueMs int64
}

// Tick does what cannot wait for the next Retain: a due flush is asked for, and files that were renamed long enough ago are removed. The
// blocking parts come as Work.
func (l *Log) Tick(nowMs int64) {
	l.nowMs = nowMs
	l.write.recentSeg = nil
	if l.usable() != nil || l.moving.exchanging {
		return
	}
	l.removeDoomed(nowMs)
	if l.opt.FlushMs > 0 && nowMs-l.write.flushedMs >= l.opt.FlushMs {
		l.Flush()
	}
}

// Retain does what log.retention.check.interval.ms is for, and what Tick does: producers expire, old segments leave the log, a dirty log is
// compacted.
func (l *Log) Retain(nowMs int64) {
	l.Tick(nowMs)
	if l.usable() != nil || l.moving.exchanging {
		return
	}
	l.producers.Expire(nowMs, l.opt.ProducerExpiry)
	l.retainSegments(nowMs)
	l.maybeCompact(nowMs)
}

// Clean does what log.cleaner.backoff.ms is for: a dirty log is compacted, by a Work.
func (l *Log) Clean(nowMs int64) {
	if l.usable() == nil && !l.moving.exchanging {
		l.maybeCompact(nowMs)
	}
}

func (l *Log) retainSegments(nowMs int64) {
	n := l.belowStart()
	if l.opt.Delete {
		n = max(n, l.tooOld(nowMs), l.tooMuch())
	}
	if n == 0 || l.work.rolling() {
		return
	}
	if n == len(l.segments) { // the active one too: it is closed first, and goes next time
		if len(l.write.chain) == 0 {
			l.beginRoll()
		}
		n--
	}
	l.dropFirst(n, nowMs)
}

// deletable reports whether segment i may go at all: it has data, and all of it is below the high watermark.
func (l *Log) deletable(i int) bool {
	seg := l.segments[i]
	return seg.next <= l.hw && (i < len(l.segments)-1 || seg.size > 0)
}

// belowStart counts the leading segments that end at or before the log's start.
func (l *Log) belowStart() int {
	n := 0
	for n < len(l.segments)-1 && l.segments[n+1].base <= l.start {
		n++
	}
	return n
}

// tooOld counts the leading segments whose newest record is older than retention.ms.
func (l *Log) tooOld(nowMs int64) int {
	n := 0
	for l.opt.RetentionMs >= 0 && n < len(l.segments) && l.deletable(n) && nowMs-l.segments[n].newest() > l.opt.RetentionMs {
		n++
	}
	return n
}

// tooMuch counts the leading segments that can go while the rest is at least retention.bytes.
func (l *Log) tooMuch() int {
	if l.opt.RetentionBytes < 0 {
		return 0
	}
	var size int64
	for _, s := range l.segments {
		size += s.size
	}
	n := 0
	for over := size - l.opt.RetentionBytes; n < len(l.segments) && l.deletable(n) && over-l.segments[n].size >= 0; n++ {
		over -= l.segments[n].size
	}
	return n
}

// dropFirst takes the n first segments out of the log. Their files are renamed by Work and removed after file.delete.delay.ms, and never
// before the last span on them is released.
func (l *Log) dropFirst(n int, nowMs int64) {
	if n <= 0 {
		return
	}
	gone := slices.Clone(l.segments[:n])
	l.segments = slices.Delete(l.segments, 0, n)
	for _, s := range gone {
		l.cursors.drop(s)
		l.doomed = append(l.doomed, doomed{s, nowMs + l.opt.FileDeleteMs})
	}
	l.window = window{b: l.window.b[:0]}
	l.moveStart(l.segments[0].base)
	if s := l.work.forgetSettles(gone); s != nil {
		l.work.slow = append(l.work.slow, &snapshotWork{l: l, snapshot: s.snapshot})
	}
	l.work.slow = append(l.work.slow, &renameWork{l: l, segs: gone})
	l.settledUpTo()
}

// moveStart raises the log's start.
func (l *Log) moveStart(offset int64) {
	if offset <= l.start {
		return
	}
	l.start = offset
	l.hw = max(l.hw, offset)
	before := l.epochs.dirty
	l.epochs.dirty = false
	l.epochs.cutStart(offset)
	if l.epochs.dirty {
		l.work.saveEpochs(l)
	}
	l.epochs.dirty = l.epochs.dirty || before
	l.publish()
}

// DeleteRecordsTo makes offset the log's start; -1 means the high watermark. Segments below it go at the next Retain.
func (l *Log) DeleteRecordsTo(offset int64) (newStart int64, err error) {
	if err := l.usable(); err != nil {
		return -1, err
	}
	if offset == -1 {
		offset = l.hw
	}
	if offset < 0 || offset > l.hw {
		return -1, ErrOffsetOutOfRange
	}
	l.moveStart(offset)
	return l.start, nil
}

// renameWork marks a segment's files as deleted.
type renameWork struct {
	l    *Log
	segs []*Segment
	err  error
}

// segmentSuffixes are all files of a segment; the snapshot is that at its base.
func segmentSuffixes() []string { return []string{sufLog, sufIndex, sufTime, sufTxn, sufSnapshot} }

// Run implements Work.
func (w *renameWork) Run() {
	for _, seg := range w.segs {
		for _, suffix := range segmentSuffixes() {
			err := w.l.fs.Rename(seg.stem+suffix, seg.stem+suffix+sufDeleted)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				w.err = err
				return
			}
		}
	}
}

// prepare has the segments whose names could not be changed before go first: one that stays while a later one goes is a hole, and a start takes
// what is behind that for damage.
func (w *renameWork) prepare() {
	w.segs = append(w.l.work.unnamed, w.segs...)
	w.l.work.unnamed = nil
}

// Apply implements Work.
func (w *renameWork) Apply() {
	l := w.l
	l.work.slowOut = false
	if !l.worked(w.err, false) { // a full disk: the names are changed later
		l.work.unnamed = w.segs
		l.tryAgain(&renameWork{l: l})
		return
	}
	for _, s := range w.segs {
		s.condemned = true
	}
}

// removeWork removes files that were renamed, and closes them: the last close of a large file can take long.
type removeWork struct {
	l    *Log
	segs []*Segment
	err  error
}

func (l *Log) removeDoomed(nowMs int64) {
	var due []*Segment
	kept := l.doomed[:0]
	for _, d := range l.doomed {
		if d.seg.condemned && d.seg.refs.Load() == 0 && nowMs >= d.dueMs {
			due = append(due, d.seg)
		} else {
			kept = append(kept, d)
		}
	}
	clear(l.doomed[len(kept):])
	if l.doomed = kept; len(due) > 0 {
		l.work.slow = append(l.work.slow, &removeWork{l: l, segs: due})
	}
}

// Run implements Work.
func (w *removeWork) Run() {
	for _, seg := range w.segs {
		for _, suffix := range segmentSuffixes() {
			err := w.l.fs.Remove(seg.stem + suffix + sufDeleted)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				w.err = err
			}
		}
		seg.close()
	}
}

// Apply implements Work.
func (w *removeWork) Apply() {
	w.l.work.slowOut = false
	w.l.worked(w.err, false)
}
