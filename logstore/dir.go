package logstore

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/pelton-broker/pelton/internal/disk"
)

// Dir is one log directory: online until the first I/O error.
type Dir struct {
	path    string
	lock    io.Closer
	meta    Meta
	known   bool // meta.properties was there, or has been written
	clean   bool // the marker of a clean stop was there
	stale   bool // the last try to write its checkpoints failed
	failed  atomic.Pointer[dirFailure]
	recover recovery
	tell    func(dir string, err error)

	// Checkpoints as found, then kept up to date; guarded by the manager.
	recovery, high, start, cleaned map[TopicPartition]int64
	// written are the partitions that the files of those may name.
	written map[TopicPartition]bool
	saving  sync.Mutex // one writer of the checkpoints at a time
}

type dirFailure struct{ err error }

// Offline is why the directory is not used any more; nil while it is.
func (d *Dir) Offline() error {
	if f := d.failed.Load(); f != nil {
		return f.err
	}
	return nil
}

// fail takes the directory offline. Only the first error counts.
func (d *Dir) fail(err error) {
	if d.failed.CompareAndSwap(nil, &dirFailure{err}) && d.tell != nil {
		d.tell(d.path, err)
	}
}

// Missing is why a partition that is not new must not be made: no directory that is online holds it, and one that is offline may.
func (m *Manager) Missing(tp TopicPartition) error {
	m.mu.Lock()
	found := m.mu.found[tp] != nil
	m.mu.Unlock()
	if found {
		return nil
	}
	for _, d := range m.dirs {
		if err := d.Offline(); err != nil {
			return fmt.Errorf("%w: partition %s may be in log directory %s: %w", ErrOffline, tp, d.path, err)
		}
	}
	return nil
}

// Away tells whether a partition's log lies in a directory that has failed, or may.
func (m *Manager) Away(tp TopicPartition) bool {
	m.mu.Lock()
	d := m.mu.found[tp]
	m.mu.Unlock()
	if d != nil {
		return d.Offline() != nil
	}
	return m.Missing(tp) != nil
}

// scarce tells an error that time or somebody can mend, and that says nothing about the disk: no room, or no descriptor.
func scarce(err error) bool { return errors.Is(err, syscall.ENOSPC) || noDescriptor(err) }

// noDescriptor tells an error of a call that has not touched the disk.
func noDescriptor(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// isIO tells an error of the kernel from damaged content.
func isIO(err error) bool {
	var e *disk.Error
	var no syscall.Errno
	return errors.As(err, &e) || errors.As(err, &no)
}
