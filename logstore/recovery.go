package logstore

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// recovery is a log directory's way back after an unclean stop: so many logs at a time, and how far it has come.
type recovery struct {
	turns   chan struct{} // one for each of num.recovery.threads.per.data.dir
	found   int64
	done    atomic.Int64 // logs
	scanned atomic.Int64 // bytes
	began   int64        // monotonic
	told    struct {
		sync.Mutex
		at int64 // monotonic: when the log was last told
	}
}

// Between lines about a recovery that goes on, and bytes between looks at the clock.
const (
	tellEveryNs    = 5_000_000_000
	tellEveryBytes = 16 << 20
)

// recovering begins the recovery of a directory that has no marker of a clean stop.
func (m *Manager) recovering(d *Dir) {
	d.recover.turns = make(chan struct{}, max(1, m.opt.RecoveryThreads))
	if d.clean {
		return
	}
	for _, x := range m.mu.found {
		if x == d {
			d.recover.found++
		}
	}
	d.recover.began = m.opt.Clock.Mono()
	d.recover.told.at = d.recover.began
	if d.recover.found > 0 {
		m.opt.Log.Info("the last stop was not clean: logs are recovered", "dir", d.path, "count", d.recover.found)
	}
}

// recovering tells how many logs of the directory have not been opened since its unclean stop, and how many bytes were scanned.
func (d *Dir) recovering() (left, bytes int64) {
	return max(0, d.recover.found-d.recover.done.Load()), d.recover.scanned.Load()
}

// recoverLog loads a log of a directory whose stop was not clean, when it is its turn.
func (m *Manager) recoverLog(d *Dir, tp TopicPartition, load func() (*Log, error)) (*Log, error) {
	d.recover.turns <- struct{}{}
	l, err := load()
	<-d.recover.turns
	if err != nil { // it stays offline: it is not being recovered any more
		d.recover.done.Add(1)
		return nil, err
	}
	if n := d.recover.done.Add(1); n == d.recover.found {
		m.opt.Log.Info("all logs are recovered", "dir", d.path, "count", n, "bytes", d.recover.scanned.Load(), "tookMs", (m.opt.Clock.Mono()-d.recover.began)/1e6)
	}
	return l, nil
}

// scannedMore counts what a recovery has read, and says now and then how far it is.
func (m *Manager) scannedMore(d *Dir, tp TopicPartition, n int64) {
	r := &d.recover
	if after := r.scanned.Add(n); after/tellEveryBytes == (after-n)/tellEveryBytes {
		return
	}
	now := m.opt.Clock.Mono()
	r.told.Lock()
	due := now-r.told.at >= tellEveryNs
	if due {
		r.told.at = now
	}
	r.told.Unlock()
	if due {
		left, bytes := d.recovering()
		m.opt.Log.Info("logs are being recovered", "dir", d.path, "left", left, "count", r.found, "bytes", bytes, "tp", tp.String())
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
