package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// exchangeWork copies what is left of a log and exchanges the names of the two directories, while appends wait. It runs alone.
type exchangeWork struct {
	copyWork
	end      int64
	snapshot []byte // of the producers at end
	jobs     []Work // that were about files of the segments the log leaves
	olds     *Log   // those segments
}

// Run implements Work.
func (w *exchangeWork) Run() {
	if w.err = w.prepare(); w.err == nil {
		w.err = w.exchange()
	}
}

// prepare makes the future directory whole: from here on it could be the log.
func (w *exchangeWork) prepare() error {
	mv, f := w.mv, w.l.fs
	if err := mv.copyAll(w.sources, func(int64) {}); err != nil {
		return err
	}
	if err := mv.copySnapshot(mv.active().base); err != nil {
		return err
	}
	// One behind records of the last segment would tell a start after a crash that this segment is settled, should the log roll right here.
	if mv.active().base == w.end {
		if err := f.WriteFileAtomic(filepath.Join(mv.path, fileName(w.end, sufSnapshot)), w.snapshot); err != nil {
			return err
		}
	}
	if err := mv.sync(); err != nil {
		return err
	}
	if err := w.carryCheckpoints(); err != nil {
		return err
	}
	return f.WriteFileAtomic(filepath.Join(mv.path, exchangeFile), fmt.Appendf(nil, "%d\n", w.end))
}

// carryCheckpoints gives the directory that the log goes to what the checkpoints of the one it leaves say: a start that was moved by request
// must not be forgotten.
func (w *exchangeWork) carryCheckpoints() error {
	m, l, mv := w.mv.m, w.l, w.mv
	m.mu.Lock()
	mv.to.recovery[mv.tp], mv.to.high[mv.tp] = w.end, l.HighWatermark()
	delete(mv.to.start, mv.tp)
	if start := l.Start(); start > mv.segments[0].base {
		mv.to.start[mv.tp] = start
	}
	delete(mv.to.cleaned, mv.tp)
	if cleaned := l.published.cleaned.Load(); cleaned > 0 {
		mv.to.cleaned[mv.tp] = cleaned
	}
	m.mu.Unlock()
	return m.checkpointDir(mv.to)
}

// exchange renames: first the new directory gets the partition's name, then the old one goes, as Kafka does it, each durably before the next.
// Between the two a crash leaves two of the partition; exchangeFile tells the next start that the new one counts.
func (w *exchangeWork) exchange() error {
	mv, f := w.mv, w.l.fs
	if !mv.m.commit(w.l, mv) {
		return errHalted
	}
	name := mv.tp.String()
	fresh, old := filepath.Join(mv.to.path, name), filepath.Join(mv.from.path, name)
	if err := f.Rename(mv.path, fresh); err != nil {
		mv.m.takeBack(w.l, mv)
		return err
	}
	if err := f.SyncDir(mv.to.path); err != nil {
		_ = f.Rename(fresh, mv.path) // the directory goes offline with the error that counts
		mv.m.takeBack(w.l, mv)
		return err
	}
	mv.path = fresh
	mv.exchanged.Store(true)
	gone := filepath.Join(mv.from.path, mv.m.uniqueDir(mv.tp, deleteSuffix))
	err := f.Rename(old, gone)
	if err == nil {
		mv.gone = gone
		err = f.SyncDir(mv.from.path)
	}
	if err != nil { // the log is in its new place; the mark stays, so that nobody takes the old one for it
		mv.from.fail(err)
		return nil
	}
	if err := w.finish(); err != nil {
		mv.to.fail(err)
	}
	return nil
}

// finish removes the mark, and the partition from the checkpoints of the directory that it left.
func (w *exchangeWork) finish() error {
	mv := w.mv
	err := w.l.fs.Remove(filepath.Join(mv.path, exchangeFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the next move of the log may have begun, and taken it away
		return err
	}
	if err := w.l.fs.SyncDir(mv.path); err != nil {
		return err
	}
	m := mv.m
	m.mu.Lock()
	mv.from.forget(mv.tp)
	m.mu.Unlock()
	if err := m.checkpointDir(mv.from); err != nil && !scarce(err) {
		mv.from.fail(err)
	}
	m.opt.Log.Info("a partition was moved", "tp", mv.tp.String(), "dir", mv.from.path, "target", mv.to.path, "bytes", mv.published.size.Load())
	return nil
}

// commit makes a move one that cannot be stopped any more; false when it was.
func (m *Manager) commit(l *Log, mv *Move) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mv.stopped.Load() || m.mu.moves[mv.tp] != mv {
		return false
	}
	delete(m.mu.moves, mv.tp)
	m.mu.found[mv.tp] = mv.to
	l.former.Store(mv.from)
	l.home.Store(mv.to)
	// A checkpoint may come before the shard knows, and must not leave the start out because the segments in the old place begin there.
	l.published.named.Store(min(l.published.named.Load(), mv.segments[0].base))
	return true
}

// takeBack undoes commit: no name has changed.
func (m *Manager) takeBack(l *Log, mv *Move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.moves[mv.tp] == nil {
		m.mu.moves[mv.tp] = mv
	}
	m.mu.found[mv.tp] = mv.from
	l.home.Store(mv.from)
}

// retire hands the directory that a log has left to Sweep.
func (m *Manager) retire(mv *Move, olds *Log, delayMs int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mv.gone == "" { // it could not be renamed, and its log directory is offline
		mv.gone = filepath.Join(mv.from.path, mv.tp.String())
	}
	m.mu.dying = append(m.mu.dying, dying{mv.gone, mv.from, olds, m.opt.Clock.WallMs() + delayMs})
}

// abandon takes the directory of a move that was stopped out of sight; a job may still write to files in it, whose names it will not find.
func (m *Manager) abandon(mv *Move) {
	m.mu.Lock()
	again := mv.abandoned
	mv.abandoned = true
	if m.mu.moves[mv.tp] == mv {
		delete(m.mu.moves, mv.tp)
	}
	m.mu.Unlock()
	if !again {
		m.outOfSight(mv.to, mv.path, mv.tp)
	}
}

// outOfSight has a directory of a move removed by Sweep.
func (m *Manager) outOfSight(d *Dir, path string, tp TopicPartition) {
	if d.Offline() != nil {
		return
	}
	gone := filepath.Join(d.path, m.uniqueDir(tp, deleteSuffix))
	err := m.opt.FS.Rename(path, gone)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil { // a power cut must not bring it back, beside another one that came after it
		err = m.opt.FS.SyncDir(d.path)
	}
	if err != nil {
		d.fail(err)
		return
	}
	m.mu.Lock()
	m.mu.dying = append(m.mu.dying, dying{gone, d, nil, 0})
	m.mu.Unlock()
}

// settleExchange does what the shards could not any more: names were exchanged right before they stopped.
func (l *Log) settleExchange() {
	mv := l.moving.mv
	if mv == nil || !mv.exchanged.Load() {
		return
	}
	for _, s := range l.segments {
		s.close()
	}
	l.takePlace(mv, l.end)
	l.moving.mv = nil
}

// closeMove leaves the files of a move so that Kafka too would go on with them: cut to what was copied, with indexes of their real size.
func (m *Manager) closeMove(mv *Move) {
	defer mv.closeFiles()
	if mv.to.Offline() != nil || mv.active() == nil {
		return
	}
	err := mv.flush()
	if err == nil {
		err = mv.sync()
	}
	seg := mv.active()
	for _, x := range []*Index{&seg.offsets, &seg.times} {
		if err == nil && x.inMem {
			err = writeIndex(m.opt.FS, x)
		}
	}
	if err == nil && len(seg.txns) > 0 {
		err = m.opt.FS.WriteFileAtomic(seg.stem+sufTxn, encodeTxnIndex(seg.txns))
	}
	if err != nil {
		mv.to.fail(err)
	}
}

// closeMoves ends the moves after the shards and the jobs have ended.
func (m *Manager) closeMoves() {
	m.mu.Lock()
	moves := make([]*Move, 0, len(m.mu.moves))
	for _, mv := range m.mu.moves {
		moves = append(moves, mv)
	}
	m.mu.Unlock()
	slices.SortFunc(moves, func(a, b *Move) int { return strings.Compare(a.path, b.path) })
	for _, mv := range moves {
		m.closeMove(mv)
	}
}
