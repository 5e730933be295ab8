package logstore

import (
	"errors"
	"fmt"
)

var (
	// ErrOffsetOutOfRange is returned when an offset lies below the log's start or above its end.
	ErrOffsetOutOfRange = errors.New("logstore: offset out of range")
	// ErrOffline is returned when the log's directory had an I/O error, or the log's files are damaged.
	ErrOffline = errors.New("logstore: the log is offline")
	// ErrOutOfOrderSequence is returned when a producer's sequence number is not the next one.
	ErrOutOfOrderSequence = errors.New("logstore: sequence number out of order")
	// ErrInvalidProducerEpoch is returned when a producer's epoch is older than the one known.
	ErrInvalidProducerEpoch = errors.New("logstore: producer epoch is old")
	// ErrUnknownProducer is returned by nothing yet: without state any first sequence is taken.
	ErrUnknownProducer = errors.New("logstore: producer unknown")
	// ErrDuplicateSequence is returned by nothing: a sequence older than the window is out of order.
	ErrDuplicateSequence = errors.New("logstore: duplicate sequence")
	// ErrTooLarge is returned when a record set is larger than a segment may be.
	ErrTooLarge = errors.New("logstore: record set is larger than a segment")
	// ErrNoSpace is returned when the disk is full; appends are taken again once there is room.
	ErrNoSpace = errors.New("logstore: no space left")
	// ErrClosed is returned when the log has been closed or deleted.
	ErrClosed = errors.New("logstore: the log is closed")
	// ErrNotFound is returned when no directory holds the partition.
	ErrNotFound = errors.New("logstore: no such partition")
	// ErrNoDir is returned when every log directory is offline.
	ErrNoDir = errors.New("logstore: no log directory is online")
	// ErrMeta is returned when meta.properties contradicts the broker or another directory.
	ErrMeta = errors.New("logstore: meta.properties does not fit")
)

// CorruptError is returned when a file's content is damaged where it must not be.
type CorruptError struct {
	Path string
	Pos  int64 // -1 when there is no place to name
	What string
	Err  error
}

func (e *CorruptError) Error() string {
	s := fmt.Sprintf("logstore: %s is damaged at byte %d: %s", e.Path, e.Pos, e.What)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *CorruptError) Unwrap() error { return e.Err }
