package coord

import "github.com/pelton-broker/pelton/controller/group"

// World is what a Host needs of the shard it lives on. Callbacks come on that shard, at once or later.
type World interface {
	// Now is both clocks in milliseconds.
	Now() group.Now
	// Append adds one record batch to the log, in the order of calls. The error is one of group's: ErrTooLarge,
	// ErrNotAvailable, ErrNotCoordinator, ErrTimedOut.
	Append(batch []byte, done func(base int64, err error))
	// Bounds are the log's first offset and the one after its last.
	Bounds() (start, end int64)
	// Read gives whole batches from an offset on, at least one, about max bytes. The bytes are valid during the call.
	Read(from int64, max int32, done func(batches []byte, err error))
	// Arm calls Host.Tick after some milliseconds, at least; it replaces the arming before.
	Arm(afterMs int64)
	// Disarm takes it back.
	Disarm()
	// Soon calls fn in a later turn.
	Soon(fn func())
	// Tell passes on what an operator should know.
	Tell(e Event)
}

// Caller is who gets an answer: the Ref of every request given to a Host.
type Caller interface{ Answer(a group.Answer) }

// Event is something an operator should know.
type Event struct {
	What EventKind
	// Groups, Offsets and Skipped count what a replay found.
	Groups, Offsets, Skipped int
	Offset                   int64 // where it happened
	Err                      error
}

// EventKind says what an event is.
type EventKind uint8

const (
	// Replayed: the log was read and requests are served.
	Replayed EventKind = iota
	// ReadFailed: the log could not be read; it is tried again.
	ReadFailed
	// RecordSkipped: a record made no sense.
	RecordSkipped
	// AppendFailed: records could not be written.
	AppendFailed
)

// String is the event's message in a log.
func (k EventKind) String() string {
	switch k {
	case Replayed:
		return "group partition loaded"
	case ReadFailed:
		return "group partition cannot be read"
	case RecordSkipped:
		return "group record skipped"
	default:
		return "group records not written"
	}
}
