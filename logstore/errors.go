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
	// ErrAdopt is returned when directories that are to be taken over contradict each other or cannot all be read.
	ErrAdopt = errors.New("logstore: the directories cannot be adopted")
	// ErrUnclaimed is returned when a partition is to be made where a directory of an earlier topic of that name lies, which nobody adopted.
	ErrUnclaimed = errors.New("logstore: the directory holds an earlier topic of that name, which nobody has adopted")
	// ErrUnknownDir is returned when a log is to go to a directory that is none of this broker's.
	ErrUnknownDir = errors.New("logstore: no such log directory")
	// ErrLongName is returned when the directory of a move would have a name that no file system takes.
	ErrLongName = errors.New("logstore: the topic's name is too long for a move")
	// ErrNoFuture is returned when a move is to begin while a log directory is offline: it may hold an earlier one's files.
	ErrNoFuture = errors.New("logstore: nothing moves while a log directory is offline")
	// ErrTopicID is returned when a partition's directory belongs to a topic with another id.
	ErrTopicID = errors.New("logstore: the directory belongs to a topic with another id")
	// ErrGivenUp is returned when a log was not opened since its opening was to be given up.
	ErrGivenUp = errors.New("logstore: the recovery was given up")
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
