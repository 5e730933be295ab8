package txnlog

import (
	"fmt"
	"os"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/zk/tree"
)

// padTo is the step in which a log file grows: zeros are written along with the record that passes the end,
// and what follows overwrites them. A write within the file's length needs no journal commit for its fdatasync.
const padTo = 256 << 10

// rollBytes closes a file that has grown large without a snapshot.
const rollBytes = 512 << 20

// Log appends transactions. At most one write with its fdatasync is in flight; what is appended meanwhile goes
// with the next one, all of it together.
type Log struct {
	fs   disk.FS
	disk disk.Disk
	dir  string

	f        *disk.File
	pos      int64  // where the next write goes
	grown    int64  // length of the file
	roll     bool   // begin a new file with the next write
	building []byte // records that wait
	first    int64  // zxid of the first of them
	last     int64  // zxid of the last one appended
	writing  []byte // records in flight
	target   int64  // zxid durable when the write in flight is done
	op       disk.Op
	bufs     [2][]byte
	busy     bool

	// durable: every transaction up to this zxid has been fsynced. Moved only by OnDisk; gates applying and answering.
	durable int64
	err     error
	zeros   []byte
	lazy    bool // writes are not made durable one by one: another log holds the transactions until Sync
	sync    bool // make everything written so far durable with the next operation
	syncing bool // the operation in flight does
	written int64

	// Writes and Records count chains and the transactions in them.
	Writes, Records, Bytes uint64
}

// OpenLog returns a log that continues after zxid last. The first append creates its file.
func OpenLog(fs disk.FS, d disk.Disk, dir string, last int64) (*Log, error) {
	if err := fs.MkdirAll(dir); err != nil {
		return nil, err
	}
	l := &Log{fs: fs, disk: d, dir: dir, last: last, durable: last, zeros: make([]byte, padTo)}
	l.op.Owner = l
	return l, nil
}

// Lazy makes the log the copy of another one that is durable already: its writes are not synced but by Sync and by
// the beginning of a new file.
func (l *Log) Lazy() { l.lazy = true }

// Sync asks for everything appended so far to become durable; Durable tells when it is.
func (l *Log) Sync() { l.sync = true }

// Reset goes on behind a snapshot that came from elsewhere. Nothing may be in flight.
func (l *Log) Reset(last int64) {
	if l.busy {
		invariant.Broken("txnlog: reset with a write in flight")
	}
	l.building = l.building[:0]
	l.last, l.written, l.durable, l.roll = last, last, last, true
}

// Durable is the zxid up to which everything is on disk.
func (l *Log) Durable() int64 { return l.durable }

// Err is the error that ended the log; nothing is written after it.
func (l *Log) Err() error { return l.err }

// Idle is true when nothing waits and nothing is in flight.
func (l *Log) Idle() bool { return !l.busy && len(l.building) == 0 }

// Roll makes the next write begin a new file: called when a snapshot begins, so that old logs can be purged.
func (l *Log) Roll() { l.roll = true }

// Append queues one transaction; it is written by a later Turn.
func (l *Log) Append(t *tree.Txn) {
	if t.Zxid <= l.last {
		invariant.Broken("txnlog: zxid does not rise", l.last, t.Zxid)
	}
	if len(l.building) == 0 {
		l.first = t.Zxid
	}
	chain := l.first
	if l.lazy {
		chain = l.durable + 1 // all that is promised to be on disk below this record
	}
	l.building = appendRecord(l.building, t, chain)
	l.last = t.Zxid
	l.Records++
}

// Turn hands what waits to the disk, unless a write is in flight.
func (l *Log) Turn() {
	if l.busy || l.err != nil || len(l.building) == 0 && !l.syncNow() {
		return
	}
	l.syncing = !l.lazy || l.sync
	l.sync = false
	if len(l.building) == 0 {
		l.op.Kind, l.op.File, l.op.Bufs, l.op.Durable = disk.Sync, l.f, nil, false
		l.target, l.busy = l.last, true
		l.disk.Submit(&l.op)
		return
	}
	if l.f == nil || l.roll || l.pos > rollBytes {
		if err := l.begin(l.first); err != nil {
			l.err = err
			return
		}
	}
	l.building, l.writing = l.writing[:0], l.building
	l.target = l.last
	n := int64(len(l.writing))
	l.bufs[0] = l.writing
	l.op.Bufs = l.bufs[:1]
	if end := l.pos + n; end > l.grown {
		l.grown = (end + padTo) / padTo * padTo
		l.bufs[1] = l.zeros[:l.grown-end]
		l.op.Bufs = l.bufs[:2]
	}
	l.op.Kind, l.op.File, l.op.Off, l.op.Durable = disk.Write, l.f, l.pos, l.syncing
	l.pos += n
	l.busy = true
	l.Writes++
	l.Bytes += uint64(n)
	l.disk.Submit(&l.op)
}

// syncNow is true when a sync is asked for that no write will bring along.
func (l *Log) syncNow() bool {
	if !l.sync {
		return false
	}
	if l.f == nil || l.durable == l.last {
		l.sync = false
		l.durable = l.last
		return false
	}
	return true
}

// OnDisk takes the completion of the write in flight.
func (l *Log) OnDisk(op *disk.Op) {
	if op != &l.op || !l.busy {
		invariant.Broken("txnlog: completion of another operation")
	}
	l.busy = false
	if op.Err != nil {
		l.err = op.Err
		return
	}
	l.written = l.target
	if l.syncing {
		l.durable = l.target
	}
	if cap(l.writing) > 8<<20 {
		l.writing = nil
	}
}

// begin creates the file for transactions from zxid on. A file of that name can only hold a torn first record,
// which recovery has read as nothing.
func (l *Log) begin(zxid int64) error {
	path := name(l.dir, "log", zxid)
	f, err := l.fs.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("txnlog: new log: %w", err)
	}
	if _, err := f.WriteAt(appendHeader(nil, logMagic, 0), 0); err != nil {
		_ = f.Close()
		return err
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		_ = f.Close()
		return err
	}
	if l.f != nil {
		if l.lazy {
			if err := l.f.Sync(); err != nil {
				return err
			}
		}
		if err := l.f.Close(); err != nil {
			return err
		}
	}
	l.f, l.pos, l.grown, l.roll = f, headerSize, headerSize, false
	return nil
}

// Close closes the file; nothing may be in flight.
func (l *Log) Close() error {
	if l.busy {
		invariant.Broken("txnlog: closed with a write in flight")
	}
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}
