package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// ManagerOptions are the log directories and what to check them against.
type ManagerOptions struct {
	Dirs            []string
	FS              disk.FS
	Clock           clock.Clock
	BrokerID        int32  // -1: not known yet, Identify tells
	ClusterID       string // "": not known yet
	RecoveryThreads int    // threads per directory that CloseClean uses; Open may be called from as many
	OneThread       bool   // CloseClean uses the caller's thread alone: the order of what it does is then always the same
	Log             *slog.Logger
	Pause           func(ns int64)              // sleeps; nil: log.cleaner.io.max.bytes.per.second is not kept
	OnDirOffline    func(dir string, err error) // any thread, once per directory
}

// Manager is the set of log directories and the logs open in them. Its methods block and run off the shards; any number at a time.
type Manager struct {
	opt    ManagerOptions
	dirs   []*Dir
	codecs *batch.Codecs
	clean  *throttle
	debt   moveDebt // of all moves

	moveRate atomic.Int64 // bytes a second of all moves; 0 = no limit
	halted   atomic.Bool
	names    atomic.Uint64 // directories that were given a name of their own
	mu       struct {
		sync.Mutex
		logs  map[TopicPartition]*Log
		found map[TopicPartition]*Dir // directories of partitions, open or not
		// unclaimed are those among them whose topic nobody knew at the start, with their paths: nothing is made there.
		unclaimed map[TopicPartition]string
		moves     map[TopicPartition]*Move
		preferred map[TopicPartition]*Dir     // where partitions that are not here yet are to be made
		futures   map[TopicPartition][]future // found at the start
		dying     []dying
	}
}

// dying is a deleted partition whose directory still has its files.
type dying struct {
	path  string
	dir   *Dir
	log   *Log
	dueMs int64
}

// DirInfo describes a log directory.
type DirInfo struct {
	Path        string
	Offline     error // nil while it is used
	Free, Total int64 // bytes; -1 when the file system does not say
	Logs        int   // partitions in it
	Recovering  int   // of them not opened yet since an unclean stop
	Unread      int   // segments that those have yet to read, as far as anybody has looked
	Scanned     int64 // bytes that this recovery has read
}

// OpenManager locks the directories and reads what they say about themselves. A directory that cannot be used is offline from the start; an
// error is returned when none is left, when one is locked, or when they contradict each other.
func OpenManager(o ManagerOptions) (*Manager, error) {
	m := &Manager{opt: o, codecs: batch.NewCodecs(), clean: &throttle{clk: o.Clock, pause: o.Pause}}
	m.mu.moves, m.mu.preferred, m.mu.futures = map[TopicPartition]*Move{}, map[TopicPartition]*Dir{}, map[TopicPartition][]future{}
	m.mu.logs, m.mu.found, m.mu.unclaimed = map[TopicPartition]*Log{}, map[TopicPartition]*Dir{}, map[TopicPartition]string{}
	if m.opt.Log == nil {
		m.opt.Log = slog.New(slog.DiscardHandler)
	}
	for _, path := range o.Dirs {
		m.dirs = append(m.dirs, &Dir{path: filepath.Clean(path), tell: m.dirFailed})
	}
	if err := m.openDirs(); err != nil {
		m.unlock()
		return nil, err
	}
	return m, nil
}

// openDirs takes every directory one step at a time: one that refuses the start does so before anything in another was changed, so that a
// clean stop is still known as one by the next start.
func (m *Manager) openDirs() error {
	for _, step := range []func(*Dir) error{m.lockDir, m.readDir, func(*Dir) error { return m.agree() }, m.listDir, m.beginDir} {
		online := 0
		for _, d := range m.dirs {
			if d.Offline() != nil {
				continue
			}
			err := step(d)
			if errors.Is(err, disk.ErrLocked) || errors.Is(err, ErrMeta) {
				return err
			}
			if err != nil {
				d.fail(err)
				continue
			}
			online++
		}
		if online == 0 {
			return fmt.Errorf("%w: %w", ErrNoDir, m.firstFailure())
		}
	}
	return nil
}

func (m *Manager) firstFailure() error {
	for _, d := range m.dirs {
		if err := d.Offline(); err != nil {
			return err
		}
	}
	return ErrNoDir
}

func (m *Manager) dirFailed(dir string, err error) {
	if m.opt.OnDirOffline != nil {
		m.opt.OnDirOffline(dir, err)
	}
}

func (m *Manager) unlock() {
	for _, d := range m.dirs {
		if d.lock != nil {
			_ = d.lock.Close()
			d.lock = nil
		}
	}
}

// lockDir makes and locks a directory.
func (m *Manager) lockDir(d *Dir) error {
	f := m.opt.FS
	if err := makeDir(f, d.path); err != nil {
		return err
	}
	lock, err := f.Lock(filepath.Join(d.path, lockFile))
	if err != nil {
		return fmt.Errorf("log directory %s: %w", d.path, err)
	}
	d.lock = lock
	return nil
}

// readDir reads what a directory says about itself.
func (m *Manager) readDir(d *Dir) error {
	b, err := m.opt.FS.ReadFile(filepath.Join(d.path, metaFile))
	if err == nil {
		if d.meta, err = decodeMeta(b); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrMeta, filepath.Join(d.path, metaFile), err)
		}
		d.known = true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, c := range []struct {
		name string
		into *map[TopicPartition]int64
	}{{recoveryFile, &d.recovery}, {highFile, &d.high}, {startFile, &d.start}, {cleanerFile, &d.cleaned}} {
		if *c.into, err = m.readOffsets(filepath.Join(d.path, c.name)); err != nil {
			return err
		}
	}
	d.written = d.named()
	return nil
}

// beginDir ends a directory's last clean stop: from here on it is written to.
func (m *Manager) beginDir(d *Dir) error {
	if err := m.takeMarker(d); err != nil {
		return err
	}
	m.recovering(d)
	return nil
}

// makeDir makes a directory and what is missing above it, durably: a power cut must not take it away with all that was synced in it. One
// that has no meta.properties yet may have been made by a process that was killed before it got that far.
func makeDir(f disk.FS, path string) error {
	if err := f.MkdirAll(path); err != nil {
		return err
	}
	if _, err := f.Stat(filepath.Join(path, metaFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for at := path; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if err := f.SyncDir(filepath.Dir(at)); err != nil && !errors.Is(err, fs.ErrPermission) { // what may not be read was not made here
			return err
		}
	}
	return nil
}

// readOffsets reads a checkpoint. Without one everything is 0; a damaged one is worth no more than none, since recovery finds the rest.
func (m *Manager) readOffsets(path string) (map[TopicPartition]int64, error) {
	b, err := m.opt.FS.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 { // Kafka makes the files empty at first
		return map[TopicPartition]int64{}, nil
	}
	if err != nil {
		return nil, err
	}
	offsets, err := decodeOffsets(b)
	if err != nil {
		m.opt.Log.Warn("checkpoint is damaged and is left out", "dir", path, "err", err.Error())
		return map[TopicPartition]int64{}, nil
	}
	return offsets, nil
}

// listDir finds the partitions, and removes those whose deletion a stop interrupted.
func (m *Manager) listDir(d *Dir) error {
	entries, err := m.opt.FS.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() {
			continue
		}
		if strings.HasSuffix(name, "-delete") {
			if err := m.opt.FS.RemoveAll(filepath.Join(d.path, name)); err != nil {
				return err
			}
			continue
		}
		if tp, ok := parseFuture(name); ok {
			m.mu.futures[tp] = append(m.mu.futures[tp], future{d, filepath.Join(d.path, name)})
		}
		tp, ok := parsePartitionDir(name)
		if !ok {
			continue
		}
		if other := m.mu.found[tp]; other != nil {
			if err := m.twice(tp, other, d); err != nil {
				return err
			}
			continue
		}
		m.mu.found[tp] = d
	}
	return nil
}

// parsePartitionDir reads topic-partition; other directories are left alone.
func parsePartitionDir(name string) (TopicPartition, bool) {
	i := strings.LastIndexByte(name, '-')
	if i <= 0 || strings.HasSuffix(name, "-future") || strings.HasSuffix(name, "-stray") {
		return TopicPartition{}, false
	}
	p, err := strconv.ParseInt(name[i+1:], 10, 32)
	if err != nil || p < 0 || strconv.FormatInt(p, 10) != name[i+1:] || name[:i] == "__cluster_metadata" {
		return TopicPartition{}, false
	}
	return TopicPartition{name[:i], int32(p)}, true
}

// takeMarker notes a clean stop and removes its marker, durably, before anything is written. Without one the names are made durable: a
// process that was killed may have left new partitions that it had not told the disk of yet.
func (m *Manager) takeMarker(d *Dir) error {
	path := filepath.Join(d.path, cleanFile)
	if _, err := m.opt.FS.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return m.opt.FS.SyncDir(d.path)
	} else if err != nil {
		return err
	}
	d.clean = true
	if err := m.opt.FS.Remove(path); err != nil {
		return err
	}
	return m.opt.FS.SyncDir(d.path)
}

// agree checks the directories' ids against each other and the options.
func (m *Manager) agree() error {
	id, cluster, from := m.opt.BrokerID, m.opt.ClusterID, "the configuration"
	for _, d := range m.dirs {
		if !d.known || d.Offline() != nil {
			continue
		}
		if d.meta.BrokerID >= 0 && id >= 0 && d.meta.BrokerID != id {
			return fmt.Errorf("%w: %s has broker.id %d, %s has %d", ErrMeta, filepath.Join(d.path, metaFile), d.meta.BrokerID, from, id)
		}
		if d.meta.ClusterID != "" && cluster != "" && d.meta.ClusterID != cluster {
			return fmt.Errorf("%w: %s has cluster.id %s, %s has %s", ErrMeta, filepath.Join(d.path, metaFile), d.meta.ClusterID, from, cluster)
		}
		if d.meta.BrokerID >= 0 && id < 0 {
			id, from = d.meta.BrokerID, filepath.Join(d.path, metaFile)
		}
		if d.meta.ClusterID != "" && cluster == "" {
			cluster, from = d.meta.ClusterID, filepath.Join(d.path, metaFile)
		}
	}
	m.opt.BrokerID, m.opt.ClusterID = id, cluster
	return nil
}

// ClusterID is what meta.properties or the options say, "" when neither does.
func (m *Manager) ClusterID() string { return m.opt.ClusterID }

// BrokerID is what meta.properties or the options say, -1 when neither does.
func (m *Manager) BrokerID() int32 { return m.opt.BrokerID }

// Identify tells the ids that coordination gave, and writes meta.properties where there is none. ErrMeta when a directory has others.
func (m *Manager) Identify(brokerID int32, clusterID string) error {
	m.opt.BrokerID, m.opt.ClusterID = brokerID, clusterID
	if err := m.agree(); err != nil {
		return err
	}
	for _, d := range m.dirs {
		if d.Offline() != nil || (d.known && d.meta.BrokerID >= 0 && d.meta.ClusterID != "") {
			continue
		}
		meta := Meta{BrokerID: brokerID, ClusterID: clusterID}
		if d.known && d.meta.Version == 1 {
			continue // of KRaft: left as it is
		}
		if err := m.opt.FS.WriteFileAtomic(filepath.Join(d.path, metaFile), encodeMeta(meta, m.opt.Clock.WallMs())); err != nil {
			d.fail(err)
			continue
		}
		d.meta, d.known = meta, true
	}
	return nil
}

// Found lists the partitions whose directories were there at the start or were made since, sorted.
func (m *Manager) Found() []TopicPartition {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]TopicPartition, 0, len(m.mu.found))
	for tp := range m.mu.found {
		all = append(all, tp)
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].Topic < all[j].Topic || all[i].Topic == all[j].Topic && all[i].Partition < all[j].Partition
	})
	return all
}

// Dirs describes the directories.
func (m *Manager) Dirs() []DirInfo {
	out := make([]DirInfo, 0, len(m.dirs))
	for _, d := range m.dirs {
		info := DirInfo{Path: d.path, Offline: d.Offline(), Free: -1, Total: -1, Logs: m.logsIn(d)}
		info.Recovering, info.Unread, info.Scanned = d.recovering()
		if info.Offline == nil {
			if free, total, err := m.opt.FS.Free(d.path); err == nil {
				info.Free, info.Total = free, total
			}
		}
		out = append(out, info)
	}
	return out
}

func (m *Manager) logsIn(d *Dir) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, x := range m.mu.found {
		if x == d {
			n++
		}
	}
	return n
}

// FailDir takes a directory offline.
func (m *Manager) FailDir(dir string, err error) {
	for _, d := range m.dirs {
		if d.path == filepath.Clean(dir) {
			d.fail(err)
		}
	}
}

// workers runs fn for every log on a few threads and waits.
func (m *Manager) workers(logs []*Log, fn func(*Log)) {
	if m.opt.OneThread {
		slices.SortFunc(logs, func(a, b *Log) int { return strings.Compare(a.path, b.path) })
		for _, l := range logs {
			fn(l)
		}
		return
	}
	g := task.NewGroup()
	pool := task.NewPool(g, "logstore-close", max(8, m.opt.RecoveryThreads*len(m.dirs)))
	var wait sync.WaitGroup
	for _, l := range logs {
		wait.Add(1)
		if err := pool.Do(func() { defer wait.Done(); fn(l) }); err != nil {
			wait.Done()
		}
	}
	wait.Wait()
	g.Stop()
}
