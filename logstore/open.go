package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// Open opens a partition's log, or makes it in the directory with the fewest. After an unclean stop the part beyond the recovery point is
// scanned, cut to its last whole batch, and synced. The log is not bound to a disk yet. Opening an open one returns the same log.
func (m *Manager) Open(tp TopicPartition, topicID [16]byte, o Options) (*Log, error) {
	return m.OpenUntil(nil, tp, topicID, o)
}

// OpenUntil is Open that gives a recovery up when stop is closed: ErrGivenUp. The log is then as before, and may be opened again.
func (m *Manager) OpenUntil(stop <-chan struct{}, tp TopicPartition, topicID [16]byte, o Options) (*Log, error) {
	l, d, isNew, err := m.place(tp)
	if l != nil || err != nil {
		return l, err
	}
	if d.Offline() != nil {
		return nil, ErrOffline
	}
	load := func() (*Log, error) { return m.load(stop, d, tp, topicID, o.withDefaults(), isNew) }
	if isNew || d.clean {
		l, err = load()
	} else {
		l, err = m.recoverLog(stop, d, tp, load)
	}
	if err != nil {
		if isNew {
			m.mu.Lock()
			delete(m.mu.found, tp)
			m.mu.Unlock()
		}
		if isNew && scarce(err) { // what was made of it must not be found beside another try in another directory
			_ = m.opt.FS.RemoveAll(filepath.Join(d.path, tp.String()))
		}
		if isIO(err) && !scarce(err) {
			d.fail(err)
		}
		return nil, offlinePartition(d, tp, err)
	}
	m.resumeMove(stop, l)
	m.mu.Lock()
	defer m.mu.Unlock()
	if other := m.mu.logs[tp]; other != nil { // opened by somebody else meanwhile
		return other, nil
	}
	m.mu.logs[tp], m.mu.found[tp] = l, l.dir()
	return l, nil
}

// place finds a partition's log or directory, and takes a place in the directory with the fewest for a new one, so that many that are
// opened at once spread out.
func (m *Manager) place(tp TopicPartition) (l *Log, d *Dir, isNew bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if path := m.mu.unclaimed[tp]; path != "" {
		return nil, nil, false, fmt.Errorf("%w: %s", ErrUnclaimed, path)
	}
	if l, d = m.mu.logs[tp], m.mu.found[tp]; d != nil {
		return l, d, false, nil
	}
	if x := m.mu.preferred[tp]; x != nil { // asked for before the partition came
		delete(m.mu.preferred, tp)
		m.mu.found[tp] = x
		return nil, x, true, nil
	}
	count := map[*Dir]int{}
	for _, x := range m.mu.found {
		count[x]++
	}
	for _, x := range m.dirs {
		if x.Offline() == nil && (d == nil || count[x] < count[d]) {
			d = x
		}
	}
	if d == nil {
		return nil, nil, false, ErrNoDir
	}
	m.mu.found[tp] = d
	return nil, d, true, nil
}

// load reads or makes one log.
func (m *Manager) load(stop <-chan struct{}, d *Dir, tp TopicPartition, topicID [16]byte, o Options, isNew bool) (*Log, error) {
	now := m.opt.Clock.WallMs()
	l := &Log{tp: tp, topicID: topicID, path: filepath.Join(d.path, tp.String()), fs: m.opt.FS, nowMs: now, throttle: m.clean}
	l.home.Store(d)
	l.records = &batch.Iterator{Codecs: m.codecs}
	l.SetOptions(o)
	l.write.flushedMs = now
	if isNew {
		if err := m.forgetFormer(d, tp); err != nil {
			return nil, err
		}
		if err := m.opt.FS.MkdirAll(l.path); err != nil {
			return nil, err
		}
		l.work.unborn = true
		l.work.slow = append(l.work.slow, &birthWork{l: l})
	} else if err := l.checkTopicID(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	l.start, l.hw = d.start[tp], d.high[tp]
	op := &opening{l: l, clean: d.clean, recovery: d.recovery[tp], nowMs: now}
	l.compaction.Cleaned = d.cleaned[tp]
	m.mu.Unlock()
	op.progress = func(n int64) error { m.scannedMore(d, tp, n); return givenUp(stop) }
	op.segmentRead = func() { d.recover.readSegment(tp) }
	if err := op.load(); err != nil {
		l.closeFiles()
		return nil, err
	}
	if op.cutAt != nil {
		m.opt.Log.Warn("cut the end of a log to its last whole batch", "tp", tp.String(), "dir", op.cutAt.Path, "offset", l.end,
			"bytes", op.cutBytes, "err", op.cutAt.Error())
	}
	l.compaction.Cleaned = min(l.compaction.Cleaned, l.end)
	l.published.cleaned.Store(l.compaction.Cleaned)
	l.opened, l.cutBytes = l.end, op.cutBytes
	l.published.named.Store(l.segments[0].base)
	l.publish()
	return l, nil
}

// forgetFormer makes sure that nothing on the disk says of a new partition what was true of another one under the same name: a start or a
// recovery point behind its end would cost it its records after a crash.
func (m *Manager) forgetFormer(d *Dir, tp TopicPartition) error {
	m.mu.Lock()
	stale := d.forget(tp)
	m.mu.Unlock()
	if !stale {
		return nil
	}
	return m.checkpointDir(d)
}

// checkTopicID compares partition.metadata with the id wanted, and writes it where there is none.
func (l *Log) checkTopicID() error {
	path := filepath.Join(l.path, partitionFile)
	b, err := l.fs.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(b) == 0: // a crash came before the new partition's names were durable
		if l.topicID == [16]byte{} {
			return nil
		}
		return l.fs.WriteFileAtomic(path, encodePartition(l.topicID))
	case err != nil:
		return err
	}
	id, err := decodePartition(b)
	if err != nil {
		return &CorruptError{Path: path, Pos: -1, What: "no topic id", Err: err}
	}
	if l.topicID != [16]byte{} && l.topicID != id {
		return ErrTopicID
	}
	l.topicID = id
	return nil
}
