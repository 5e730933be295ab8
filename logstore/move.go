package logstore

import (
	"crypto/md5"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// Move is a partition's way into another log directory: Kafka's future replica. Its files grow in a directory with the suffix -future, copied
// from the log's by jobs off the shard, until little is missing; then the log stops taking appends for a moment, the rest is copied, and the
// directories change their names. Any crash leaves one of the two as the log, and the move goes on after a start.
type Move struct {
	m        *Manager
	tp       TopicPartition
	from, to *Dir
	path     string // of the directory with the suffix

	// stopped: the log goes elsewhere, or is deleted. Jobs end as soon as they see it.
	stopped atomic.Bool
	// abandoned: its directory is out of sight. Guarded by the manager.
	abandoned bool
	// exchanged: the names are, and the log's shard has not been told yet.
	exchanged atomic.Bool
	gone      string // the name that the old directory got

	// What is copied. Jobs touch it, one at a time.
	opt      Options
	epochs   []epochStart
	copy     copying
	segments []*Segment

	published struct{ end, size, durable atomic.Int64 }
}

// MoveInfo tells how far a move is.
type MoveInfo struct {
	TopicPartition TopicPartition
	Dir            string // where it goes
	Size           int64
	Lag            int64 // offsets that are missing
}

// futureSuffix and the others are Kafka's for directories of partitions that are not, or no more, in use.
const (
	futureSuffix = "-future"
	deleteSuffix = "-delete"
	// exchangeFile is in a directory whose names are being exchanged: should a crash leave two of the partition, it tells which one counts.
	exchangeFile = "pelton.exchange"
)

// uniqueDir is a name for a partition's directory that is given once: Kafka's TOPIC-PART.UUID-SUFFIX.
func (m *Manager) uniqueDir(tp TopicPartition, suffix string) string {
	id := md5.Sum(fmt.Appendf(nil, "%s %d %d %d", tp, m.opt.Clock.Mono(), m.opt.Clock.WallMs(), m.names.Add(1)))
	return fmt.Sprintf("%s.%x%s", tp, id, suffix)
}

// parseFuture reads the name of a directory that a move fills.
func parseFuture(name string) (TopicPartition, bool) {
	rest, ok := strings.CutSuffix(name, futureSuffix)
	i := strings.LastIndexByte(rest, '.')
	if !ok || i <= 0 || len(rest)-i-1 != 32 {
		return TopicPartition{}, false
	}
	return parsePartitionDir(rest[:i])
}

// dirNamed finds a log directory by the name that DescribeLogDirs tells, which is taken literally.
func (m *Manager) dirNamed(path string) *Dir {
	for _, d := range m.dirs {
		if d.path == path {
			return d
		}
	}
	return nil
}

// PlanMove decides what has to happen so that a partition's log lies in dir. changed: its shard must be told, by Log.Redirect; mv is nil when a
// move that was under way is to end and no other begins. A partition that is not here yet is made in dir when it comes: ErrNotFound.
func (m *Manager) PlanMove(tp TopicPartition, dir string) (mv *Move, changed bool, err error) {
	if len(tp.String())+1+32+len(futureSuffix) > maxName {
		return nil, false, ErrLongName
	}
	to := m.dirNamed(dir)
	if to == nil {
		return nil, false, fmt.Errorf("%w: %s", ErrUnknownDir, dir)
	}
	if to.Offline() != nil {
		return nil, false, fmt.Errorf("%w: log directory %s", ErrOffline, dir)
	}
	m.mu.Lock()
	l, at, old := m.mu.logs[tp], m.mu.found[tp], m.mu.moves[tp]
	if at != nil && l == nil { // its directory is offline, or damaged
		m.mu.Unlock()
		return nil, false, fmt.Errorf("%w: partition %s", ErrOffline, tp)
	}
	if old != nil && old.to == to {
		m.mu.Unlock()
		return nil, false, nil
	}
	if old != nil {
		old.stopped.Store(true)
		delete(m.mu.moves, tp)
		changed = true
	}
	if at != to {
		m.mu.preferred[tp] = to
	}
	m.mu.Unlock()
	if old != nil {
		m.abandon(old)
	}
	switch {
	case at == nil:
		return nil, false, ErrNotFound
	case at == to:
		return nil, changed, nil
	case at.Offline() != nil:
		return nil, changed, ErrOffline
	}
	mv, err = m.beginMove(l, at, to)
	return mv, changed || mv != nil, err
}

// beginMove makes the directory that a move fills.
func (m *Manager) beginMove(l *Log, from, to *Dir) (*Move, error) {
	for _, d := range m.dirs {
		if d.Offline() != nil {
			return nil, fmt.Errorf("%w: %s", ErrNoFuture, d.path)
		}
	}
	if err := m.dropMark(from, l.tp); err != nil {
		from.fail(err)
		return nil, fmt.Errorf("%w: %w", ErrOffline, err)
	}
	mv := &Move{m: m, tp: l.tp, from: from, to: to, path: filepath.Join(to.path, m.uniqueDir(l.tp, futureSuffix))}
	err := m.forgetFormer(to, l.tp)
	if err == nil {
		err = mv.create(l.topicID)
	}
	if scarce(err) { // a start must not go on with what was refused
		if m.opt.FS.RemoveAll(mv.path) != nil {
			m.mu.Lock()
			m.mu.dying = append(m.mu.dying, dying{mv.path, to, nil, 0})
			m.mu.Unlock()
		}
		return nil, fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	if err != nil {
		to.fail(err)
		return nil, fmt.Errorf("%w: %w", ErrOffline, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.logs[l.tp] != l || m.mu.moves[l.tp] != nil { // deleted, or another request came first
		mv.stopped.Store(true)
		m.mu.dying = append(m.mu.dying, dying{mv.path, to, nil, 0})
		return nil, ErrClosed
	}
	m.mu.moves[l.tp] = mv
	delete(m.mu.preferred, l.tp)
	m.opt.Log.Info("a partition is being moved", "tp", l.tp.String(), "dir", from.path, "target", to.path)
	return mv, nil
}

// dropMark removes the mark of an exchange that brought a log where it is, should a crash have left it: two of a partition of which both have one
// say nothing. That every log directory is online says that there is one of it now.
func (m *Manager) dropMark(d *Dir, tp TopicPartition) error {
	path := filepath.Join(d.path, tp.String())
	_, err := m.opt.FS.Stat(filepath.Join(path, exchangeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = m.opt.FS.Remove(filepath.Join(path, exchangeFile))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // its exchange may take it away at this moment
		return err
	}
	return m.opt.FS.SyncDir(path)
}

// create makes the directory with the topic's id in it, durably: whoever asked is told that the move is under way.
func (mv *Move) create(id [16]byte) error {
	f := mv.m.opt.FS
	if err := f.MkdirAll(mv.path); err != nil {
		return err
	}
	if id != [16]byte{} {
		if err := f.WriteFileAtomic(filepath.Join(mv.path, partitionFile), encodePartition(id)); err != nil {
			return err
		}
	}
	return f.SyncDir(mv.to.path)
}

// Moves tells of every move that is under way. Any thread.
func (m *Manager) Moves() []MoveInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]MoveInfo, 0, len(m.mu.moves))
	for tp, mv := range m.mu.moves {
		info := MoveInfo{TopicPartition: tp, Dir: mv.to.path, Size: mv.published.size.Load()}
		if l := m.mu.logs[tp]; l != nil {
			info.Lag = l.End() - mv.published.end.Load()
		}
		out = append(out, info)
	}
	return out
}

// LimitMoves holds all moves together to a number of bytes a second. Any thread.
func (m *Manager) LimitMoves(bytesPerSecond int64) { m.moveRate.Store(bytesPerSecond) }

// Halt ends the jobs of moves, which may take long: the process stops, and they go on after its next start.
func (m *Manager) Halt() { m.halted.Store(true) }

// halt tells a job to end.
func (mv *Move) halt() bool { return mv.stopped.Load() || mv.m.halted.Load() }
