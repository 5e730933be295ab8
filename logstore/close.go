package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
)

// Checkpoint writes the four offset checkpoints of every directory from what the logs publish. On a full disk the old ones stay, and the
// next call tries again.
func (m *Manager) Checkpoint() error {
	var failed error
	for _, d := range m.dirs {
		if d.Offline() != nil {
			continue
		}
		err := m.checkpointDir(d)
		d.stale = err != nil
		if err != nil {
			if !scarce(err) {
				d.fail(err)
			}
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (m *Manager) checkpointDir(d *Dir) error {
	d.saving.Lock()
	defer d.saving.Unlock()
	m.mu.Lock()
	for tp, l := range m.mu.logs {
		if l.dir() != d {
			continue
		}
		d.recovery[tp], d.high[tp] = l.RecoveryPoint(), l.HighWatermark()
		if start := l.Start(); start > l.published.named.Load() {
			d.start[tp] = start
		} else {
			delete(d.start, tp)
		}
		if cleaned := l.published.cleaned.Load(); cleaned > 0 {
			d.cleaned[tp] = cleaned
		}
	}
	for tp, mv := range m.mu.moves {
		if mv.to == d {
			d.recovery[tp] = mv.published.durable.Load()
		}
	}
	// The start goes first: a crash between the files must not bring records back that a recovery point vouches for.
	files := []struct {
		name string
		b    []byte
	}{{startFile, encodeOffsets(d.start)}, {recoveryFile, encodeOffsets(d.recovery)}, {highFile, encodeOffsets(d.high)}, {cleanerFile, encodeOffsets(d.cleaned)}}
	names := d.named()
	maps.Copy(d.written, names) // some of the files may be written and others not
	m.mu.Unlock()
	for _, f := range files {
		if err := m.opt.FS.WriteFileAtomic(filepath.Join(d.path, f.name), f.b); err != nil {
			return err
		}
	}
	m.mu.Lock()
	d.written = names
	m.mu.Unlock()
	return nil
}

// named are the partitions that the checkpoints name now.
func (d *Dir) named() map[TopicPartition]bool {
	names := map[TopicPartition]bool{}
	for _, offsets := range []map[TopicPartition]int64{d.recovery, d.high, d.start, d.cleaned} {
		for tp := range offsets {
			names[tp] = true
		}
	}
	return names
}

// forget takes a partition out of the checkpoints, and tells whether their files may still name it.
func (d *Dir) forget(tp TopicPartition) bool {
	for _, offsets := range []map[TopicPartition]int64{d.recovery, d.high, d.start, d.cleaned} {
		delete(offsets, tp)
	}
	return d.written[tp]
}

// Delete takes a partition's directory out of sight: it is renamed, and removed by Sweep after file.delete.delay.ms. The host has let go of
// the log before.
func (m *Manager) Delete(tp TopicPartition) error {
	m.mu.Lock()
	d, l, mv := m.mu.found[tp], m.mu.logs[tp], m.mu.moves[tp]
	m.mu.Unlock()
	if mv != nil {
		mv.stopped.Store(true)
		m.abandon(mv)
	}
	if d == nil {
		return ErrNotFound
	}
	if d.Offline() != nil {
		return ErrOffline // its deletion goes on when the directory is back
	}
	if l != nil {
		l.deleted.Store(true)
		l.gate.Lock() // a job that runs now may still write under the old names
		defer l.gate.Unlock()
	}
	now := m.opt.Clock.WallMs()
	name := fmt.Sprintf("%s.%032x-delete", tp, uint64(m.opt.Clock.Mono())^uint64(now)<<20)
	if over := len(name) - maxName; over > 0 { // as Kafka does, the topic's name is cut
		name = name[over:]
	}
	path := filepath.Join(d.path, name)
	if err := m.opt.FS.Rename(filepath.Join(d.path, tp.String()), path); err != nil {
		d.fail(err)
		return err
	}
	m.left(d, tp)
	due := now
	if l != nil {
		due += l.published.delay.Load()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.found, tp)
	delete(m.mu.logs, tp)
	d.forget(tp)
	m.mu.dying = append(m.mu.dying, dying{path, d, l, due})
	return nil
}

// maxName is the longest file name.
const maxName = 255

// Sweep removes deleted partitions that are due. A log whose spans are still being sent waits.
func (m *Manager) Sweep() {
	now := m.opt.Clock.WallMs()
	m.mu.Lock()
	var due []dying
	kept := m.mu.dying[:0]
	for _, x := range m.mu.dying {
		if now >= x.dueMs && !x.log.inUse() {
			due = append(due, x)
		} else {
			kept = append(kept, x)
		}
	}
	m.mu.dying = kept
	m.mu.Unlock()
	for _, x := range due {
		if err := m.opt.FS.RemoveAll(x.path); scarce(err) {
			m.mu.Lock()
			m.mu.dying = append(m.mu.dying, x)
			m.mu.Unlock()
			continue
		} else if err != nil {
			x.dir.fail(err)
		}
		x.log.closeFiles()
	}
}

// inUse reports whether some span still holds a file.
func (l *Log) inUse() bool {
	if l == nil {
		return false
	}
	for _, s := range l.segments {
		if s.refs.Load() > 0 {
			return true
		}
	}
	for _, x := range l.doomed {
		if x.seg.refs.Load() > 0 {
			return true
		}
	}
	return false
}

func (l *Log) closeFiles() {
	if l == nil {
		return
	}
	for _, s := range l.segments {
		s.close()
	}
	for _, x := range l.doomed {
		x.seg.close()
	}
}

// CloseClean ends everything after the shards have stopped: what is written is synced, indexes are cut to their entries, the producers'
// snapshots and the checkpoints are saved, and only then the marker that says so. A directory where that failed gets no marker.
func (m *Manager) CloseClean() error {
	m.mu.Lock()
	logs := make([]*Log, 0, len(m.mu.logs))
	for _, l := range m.mu.logs {
		logs = append(logs, l)
	}
	m.mu.Unlock()
	m.workers(logs, func(l *Log) {
		l.settleExchange()
		if l.dir().Offline() == nil {
			if err := l.closeClean(); err != nil {
				l.dir().fail(err)
			}
		}
		l.closeFiles()
	})
	m.closeMoves()
	m.mu.Lock()
	for _, x := range m.mu.dying {
		x.log.closeFiles()
	}
	m.mu.Unlock()
	err := m.Checkpoint()
	for _, d := range m.dirs {
		if d.Offline() == nil && !d.stale && m.wholeDir(d) {
			if e := m.opt.FS.WriteFileAtomic(filepath.Join(d.path, cleanFile), []byte(cleanMarker)); e != nil {
				err = errors.Join(err, e)
			}
		}
	}
	m.unlock()
	return err
}

// wholeDir reports whether the marker would be true for every partition of d: those that were never opened are as the last stop left them.
func (m *Manager) wholeDir(d *Dir) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for tp, x := range m.mu.found {
		if x == d && m.mu.logs[tp] == nil && !d.clean {
			return false
		}
	}
	for tp, futures := range m.mu.futures { // a move that did not go on: nobody has looked at its files
		for _, at := range futures {
			if at.dir == d && !d.clean && m.mu.found[tp] != nil {
				return false
			}
		}
	}
	return true
}

// dropRoll takes back a roll whose files were made but that never became part of the log: its indexes have their full size, which Kafka
// takes for entries behind the marker of a clean stop.
func (l *Log) dropRoll() error {
	w := l.work.roll
	if w == nil || w.seg == nil {
		return nil
	}
	l.work.roll = nil
	w.seg.close()
	gone := false
	for _, suffix := range []string{sufLog, sufIndex, sufTime} {
		err := l.fs.Remove(w.seg.stem + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		gone = gone || err == nil
	}
	if !gone {
		return nil
	}
	return l.fs.SyncDir(l.path)
}

// closeClean leaves the files as Kafka leaves them. A log that is as it was found needs nothing.
func (l *Log) closeClean() error {
	l.closed = true
	if err := l.dropRoll(); err != nil {
		return err
	}
	l.work.slow, l.work.again = append(l.work.slow, l.work.again...), nil
	if !l.dirty && l.end == l.opened && !l.epochs.dirty && len(l.work.slow) == 0 && len(l.work.settles) == 0 && !l.work.slowOut {
		return nil
	}
	for _, job := range l.work.slow { // a new partition needs its names, and segments that retention took out must not come back
		var err error
		switch job := job.(type) {
		case *renameWork:
			job.prepare()
			job.Run()
			err = job.err
		case *birthWork:
			job.Run()
			err = job.err
		case *dropWork:
			job.Run()
		case *retireWork:
			job.Run()
		}
		if err != nil {
			return err
		}
	}
	for i, seg := range l.segments {
		if seg.settled {
			continue
		}
		if i == len(l.segments)-1 && l.durable == l.end && !l.work.unsettled {
			// every byte was synced already
		} else if err := seg.file.Sync(); err != nil {
			return err
		}
		if err := l.closeIndexes(seg); err != nil {
			return err
		}
	}
	l.durable = l.end
	if err := l.fs.WriteFileAtomic(filepath.Join(l.path, epochFile), encodeEpochs(l.epochs.before(l.end))); err != nil {
		return err
	}
	err := l.fs.WriteFileAtomic(filepath.Join(l.path, fileName(l.end, sufSnapshot)), l.producers.EncodeSnapshot())
	l.publish()
	if err == nil {
		l.published.named.Store(l.segments[0].base)
	}
	return err
}

func (l *Log) closeIndexes(seg *Segment) error {
	if seg.offsets.inMem {
		seg.times.addTime(seg.maxTime, int32(seg.maxTimeLast-seg.base))
		for _, x := range []*Index{&seg.offsets, &seg.times} {
			if err := writeIndex(l.fs, x); err != nil {
				return err
			}
			x.inMem = false
		}
	}
	if len(seg.txns) == 0 {
		return nil
	}
	return l.fs.WriteFileAtomic(seg.stem+sufTxn, encodeTxnIndex(seg.txns))
}
