package txnlog

import (
	"errors"
	"fmt"
)

var (
	// ErrGap is returned by Recover when transactions are missing between a snapshot and a log, or between two logs.
	ErrGap = errors.New("txnlog: transactions are missing")
	// ErrNoSnapshot is returned by Recover when there are snapshots and none is sound, or logs that start after the first transaction and no snapshot.
	ErrNoSnapshot = errors.New("txnlog: no sound snapshot")
	// ErrFormat is wrapped by CorruptError when a file is not of ZooKeeper's format at all.
	ErrFormat = errors.New("txnlog: unknown file format")
	// ErrOccupied is returned by Import when the target holds files already.
	ErrOccupied = errors.New("txnlog: the target directory holds snapshots or logs already")
	// ErrCompressed is returned by Import when the newest snapshot is compressed.
	ErrCompressed = errors.New("txnlog: compressed snapshots are not read; have Apache's server write one with snapshot.compression.method empty")
)

// CorruptError is damage in a file: bytes that were durable once do not read back as they were written.
type CorruptError struct {
	Path string
	Pos  int64
	What string
	Err  error

	zxid int64 // of the snapshot whose damage it is
}

// Error implements error.
func (e *CorruptError) Error() string {
	s := fmt.Sprintf("txnlog: %s is damaged at byte %d: %s", e.Path, e.Pos, e.What)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap implements errors.
func (e *CorruptError) Unwrap() error { return e.Err }
