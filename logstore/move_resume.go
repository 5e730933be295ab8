package logstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// future is a directory that a move had filled when the last process ended.
type future struct {
	dir  *Dir
	path string
}

// errDiverged is why a move begins anew: its files hold what the log does not.
var errDiverged = errors.New("logstore: the future directory holds what the log does not")

// resumeMove goes on with the move of a log that was just opened, whose shard does not know it yet.
func (m *Manager) resumeMove(stop <-chan struct{}, l *Log) {
	m.mu.Lock()
	found := m.mu.futures[l.tp]
	m.mu.Unlock()
	at := m.chooseFuture(l, found)
	if at == nil {
		m.noFuture(l.tp)
		return
	}
	mv := &Move{m: m, tp: l.tp, from: l.dir(), to: at.dir, path: at.path}
	err := mv.load(stop, l)
	var bad *CorruptError
	if errors.Is(err, errDiverged) || errors.As(err, &bad) {
		m.opt.Log.Warn("a move begins anew", "tp", l.tp.String(), "dir", at.path, "err", err.Error())
		mv.closeFiles()
		if err = mv.empty(); err == nil {
			mv.segments, mv.copy = nil, copying{}
			err = mv.create(l.topicID)
		}
	}
	if err != nil {
		mv.closeFiles()
		if isIO(err) && !scarce(err) {
			at.dir.fail(err)
		}
		return
	}
	mv.publish()
	m.mu.Lock()
	m.mu.moves[l.tp] = mv
	m.mu.Unlock()
	m.noFuture(l.tp)
	l.moving.mv = mv
	m.opt.Log.Info("a partition's move goes on", "tp", l.tp.String(), "dir", mv.from.path, "target", mv.to.path, "offset", mv.copy.end)
}

// chooseFuture picks the directory in which the log's move goes on. The others, of a topic that had the same name, or beside the log, are removed:
// there is nothing in them that is not elsewhere.
func (m *Manager) chooseFuture(l *Log, found []future) (chosen *future) {
	for i := range found {
		at := &found[i]
		switch {
		case at.dir.Offline() != nil:
		case chosen == nil && at.dir != l.dir() && m.isOf(at.path, l.topicID):
			chosen = at
		default:
			m.opt.Log.Warn("a partition's future directory is not its move's and is removed", "tp", l.tp.String(), "dir", at.path)
			m.outOfSight(at.dir, at.path, l.tp)
		}
	}
	return chosen
}

// noFuture forgets what was found of a partition's moves at the start.
func (m *Manager) noFuture(tp TopicPartition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.futures, tp)
}

// isOf tells whether a partition's directory may be of a topic: it has its id, or one of the two has none.
func (m *Manager) isOf(path string, topicID [16]byte) bool {
	b, err := m.opt.FS.ReadFile(filepath.Join(path, partitionFile))
	if err != nil || topicID == [16]byte{} {
		return true
	}
	id, err := decodePartition(b)
	return err != nil || id == topicID
}

// empty removes what is in the directory. The directory itself says that a move was asked for, and stays.
func (mv *Move) empty() error {
	f := mv.m.opt.FS
	entries, err := f.ReadDir(mv.path)
	for _, e := range entries {
		if err == nil {
			err = f.RemoveAll(filepath.Join(mv.path, e.Name()))
		}
	}
	return err
}

// load opens what was copied, recovered as a log is.
func (mv *Move) load(stop <-chan struct{}, l *Log) error {
	entries, err := mv.m.opt.FS.ReadDir(mv.path)
	if err != nil {
		return err
	}
	some := false
	for _, e := range entries {
		_, suffix, ok := parseFileName(e.Name())
		some = some || ok && suffix == sufLog
	}
	if !some {
		return nil
	}
	f := &Log{tp: l.tp, topicID: l.topicID, path: mv.path, fs: l.fs, nowMs: l.nowMs, opt: l.opt}
	f.home.Store(mv.to)
	f.records = &batch.Iterator{Codecs: mv.m.codecs}
	mv.m.mu.Lock()
	op := &opening{l: f, clean: mv.to.clean, recovery: mv.to.recovery[l.tp], nowMs: l.nowMs}
	mv.m.mu.Unlock()
	op.progress = func(int64) error { return givenUp(stop) }
	err = op.load()
	mv.segments = f.segments
	if err != nil {
		return err
	}
	mv.copy.end, mv.copy.txnsTo = f.end, f.end
	mv.published.durable.Store(f.end)
	// A start that was moved and not written down before a power cut is back where it was, and the move began behind that.
	if f.end > l.end || f.segments[0].base > l.start || !agree(&f.epochs, &l.epochs, max(f.segments[0].base, l.start), f.end) {
		return errDiverged
	}
	return nil
}

// agree reports whether two logs' epochs are the same in [from, end).
func agree(a, b *epochCache, from, end int64) bool {
	if from >= end {
		return true
	}
	if a.forOffset(from) != b.forOffset(from) || a.forOffset(end-1) != b.forOffset(end-1) {
		return false
	}
	for _, pair := range [][2]*epochCache{{a, b}, {b, a}} {
		for _, e := range pair[0].list {
			if e.Start > from && e.Start < end && pair[1].forOffset(e.Start) != e.Epoch {
				return false
			}
		}
	}
	return true
}

// twice decides between two directories of one partition: a crash came between the two renames of a move. The one that was moved counts and
// has a mark, unless the other has records behind the end that the mark tells: then its name was taken back, and that was not saved.
func (m *Manager) twice(tp TopicPartition, first, second *Dir) error {
	refuse := func(why error) error {
		return fmt.Errorf("%w: partition %s is in %s and in %s%w", ErrMeta, tp, first.path, second.path, why)
	}
	a, aErr := m.exchangeEnd(first, tp)
	b, bErr := m.exchangeEnd(second, tp)
	moved, left, end := first, second, a
	switch {
	case aErr == nil && errors.Is(bErr, fs.ErrNotExist):
	case bErr == nil && errors.Is(aErr, fs.ErrNotExist):
		moved, left, end = second, first, b
	default:
		return refuse(errNoMark)
	}
	have, err := m.endOf(filepath.Join(left.path, tp.String()))
	if err != nil {
		return err
	}
	if have > end {
		moved, left = left, moved
	}
	m.opt.Log.Warn("a stop came while a partition was moved; its old directory is removed", "tp", tp.String(), "dir", left.path, "target", moved.path)
	// A kill may have come before the sync of the name that counts: a power cut would take it back, with the other one gone.
	if err := m.opt.FS.SyncDir(moved.path); err != nil {
		return err
	}
	gone := filepath.Join(left.path, m.uniqueDir(tp, deleteSuffix))
	if err := m.opt.FS.Rename(filepath.Join(left.path, tp.String()), gone); err != nil {
		return err
	}
	if err := m.opt.FS.SyncDir(left.path); err != nil {
		return err
	}
	m.mu.found[tp] = moved
	m.mu.dying = append(m.mu.dying, dying{gone, left, nil, 0})
	return m.dropMark(moved, tp)
}

var errNoMark = errors.New(", and neither says that a move was under way: move away the one that is older")

// exchangeEnd reads the mark of an exchange of names: the end that the log had.
func (m *Manager) exchangeEnd(d *Dir, tp TopicPartition) (int64, error) {
	b, err := m.opt.FS.ReadFile(filepath.Join(d.path, tp.String(), exchangeFile))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

// endOf is the offset behind the last whole batch in a partition's directory.
func (m *Manager) endOf(path string) (end int64, err error) {
	entries, err := m.opt.FS.ReadDir(path)
	if err != nil {
		return 0, err
	}
	base := int64(-1)
	for _, e := range entries {
		if at, suffix, ok := parseFileName(e.Name()); ok && suffix == sufLog {
			base = max(base, at)
		}
	}
	if base < 0 {
		return 0, nil
	}
	f, err := m.opt.FS.OpenFile(filepath.Join(path, fileName(base, sufLog)), os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	var s scanner
	end = base
	for s.reset(f, 0, size, true); ; {
		e, _, _, err := s.next()
		var bad *CorruptError
		if err == io.EOF || errors.As(err, &bad) {
			return end, nil
		}
		if err != nil {
			return end, err
		}
		end = e.Last + 1
	}
}
