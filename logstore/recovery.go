package logstore

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// recovery is a log directory's way back after an unclean stop: so many logs at a time, and how far it has come.
type recovery struct {
	turns   chan struct{} // one for each of num.recovery.threads.per.data.dir
	found   int
	scanned atomic.Int64 // bytes
	began   int64        // monotonic
	mu      struct {
		sync.Mutex
		told int64                  // monotonic: when the log was last told
		left map[TopicPartition]int // logs that were not opened since, with the segments that they have yet to read
	}
}

// Between lines about a recovery that goes on, and bytes between looks at the clock.
const (
	tellEveryNs    = 5_000_000_000
	tellEveryBytes = 16 << 20
)

// recovering begins the recovery of a directory that has no marker of a clean stop.
func (m *Manager) recovering(d *Dir) {
	r := &d.recover
	r.turns, r.mu.left = make(chan struct{}, max(1, m.opt.RecoveryThreads)), map[TopicPartition]int{}
	if d.clean {
		return
	}
	for tp, x := range m.mu.found {
		if x == d {
			r.mu.left[tp] = 0
		}
	}
	r.found = len(r.mu.left)
	r.began = m.opt.Clock.Mono()
	r.mu.told = r.began
	if r.found > 0 {
		m.opt.Log.Info("the last stop was not clean: logs are recovered", "dir", d.path, "count", r.found)
	}
}

// recovering tells how many logs of the directory have not been opened since its unclean stop, how many segments those are known to have to
// read, and how many bytes were scanned.
func (d *Dir) recovering() (left, segments int, bytes int64) {
	r := &d.recover
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.mu.left {
		segments += n
	}
	return len(r.mu.left), segments, r.scanned.Load()
}

// Backlog is what a log has to read before it can be opened, since its directory's last stop was not clean.
type Backlog struct {
	Dir      string
	Bytes    int64
	Segments int
}

// Backlog tells what a partition's recovery will have to read at most; ok is false when there is none, and Open is quick.
func (m *Manager) Backlog(tp TopicPartition) (b Backlog, ok bool) {
	m.mu.Lock()
	d := m.mu.found[tp]
	if d == nil || m.mu.logs[tp] != nil || m.mu.unclaimed[tp] != "" {
		d = nil
	}
	point := int64(0)
	if d != nil {
		point = d.recovery[tp]
	}
	m.mu.Unlock()
	if d == nil || d.clean || d.Offline() != nil || !d.recover.holds(tp) {
		return Backlog{}, false
	}
	b.Dir = d.path
	dir := filepath.Join(d.path, tp.String())
	entries, err := m.opt.FS.ReadDir(dir)
	if err != nil {
		return b, true // Open tells
	}
	next := int64(math.MaxInt64) // base of the segment behind; entries are sorted by name, which is by base
	for _, e := range slices.Backward(entries) {
		base, suffix, named := parseFileName(e.Name())
		if !named || suffix != sufLog {
			continue
		}
		if next < point {
			break
		}
		next = base
		if info, err := m.opt.FS.Stat(filepath.Join(dir, e.Name())); err == nil {
			b.Bytes, b.Segments = b.Bytes+info.Size(), b.Segments+1
		}
	}
	d.recover.expect(tp, b.Segments)
	return b, true
}

func (r *recovery) holds(tp TopicPartition) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.mu.left[tp]
	return ok
}

// expect notes how many segments a log has to read.
func (r *recovery) expect(tp TopicPartition, segments int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.mu.left[tp]; ok {
		r.mu.left[tp] = segments
	}
}

// readSegment notes that a log has read one of its segments.
func (r *recovery) readSegment(tp TopicPartition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.mu.left[tp]; n > 0 {
		r.mu.left[tp] = n - 1
	}
}

// join adds a log to those that are to be recovered.
func (r *recovery) join(tp TopicPartition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.left[tp] = 0
}

// leave takes a log from those that are to be recovered; last tells that none is left.
func (r *recovery) leave(tp TopicPartition) (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.mu.left[tp]; !ok {
		return false
	}
	delete(r.mu.left, tp)
	return len(r.mu.left) == 0
}

// recoverLog loads a log of a directory whose stop was not clean, when it is its turn. One that is given up comes again.
func (m *Manager) recoverLog(stop <-chan struct{}, d *Dir, tp TopicPartition, load func() (*Log, error)) (*Log, error) {
	select {
	case d.recover.turns <- struct{}{}:
	case <-stop:
		return nil, ErrGivenUp
	}
	l, err := load()
	<-d.recover.turns
	if errors.Is(err, ErrGivenUp) {
		return nil, err
	}
	m.left(d, tp) // one that cannot be opened stays offline: it is not being recovered any more
	return l, err
}

// givenUp is ErrGivenUp when stop is closed.
func givenUp(stop <-chan struct{}) error {
	select {
	case <-stop:
		return ErrGivenUp
	default:
		return nil
	}
}

// left notes that a log needs no recovery any more.
func (m *Manager) left(d *Dir, tp TopicPartition) {
	if r := &d.recover; r.leave(tp) {
		m.opt.Log.Info("all logs are recovered", "dir", d.path, "count", r.found, "bytes", r.scanned.Load(), "tookMs", (m.opt.Clock.Mono()-r.began)/1e6)
	}
}

// scannedMore counts what a recovery has read, and says now and then how far it is.
func (m *Manager) scannedMore(d *Dir, tp TopicPartition, n int64) {
	r := &d.recover
	if after := r.scanned.Add(n); after/tellEveryBytes == (after-n)/tellEveryBytes {
		return
	}
	now := m.opt.Clock.Mono()
	r.mu.Lock()
	due := now-r.mu.told >= tellEveryNs
	if due {
		r.mu.told = now
	}
	r.mu.Unlock()
	if due {
		left, segments, bytes := d.recovering()
		m.opt.Log.Info("logs are being recovered", "dir", d.path, "left", left, "count", r.found, "segments", segments, "bytes", bytes, "tp", tp.String())
	}
}

// offlinePartition is what is said of a log that cannot be opened: damage names the tool that offers the choices.
func offlinePartition(d *Dir, tp TopicPartition, err error) error {
	var bad *CorruptError
	if errors.As(err, &bad) {
		return fmt.Errorf("partition %s stays offline: %w; with the broker stopped, 'pelton log repair %s' says what can be done", tp, err, filepath.Join(d.path, tp.String()))
	}
	return fmt.Errorf("partition %s: %w", tp, err)
}
