package load

import "errors"

// What this package refuses with.
var (
	// ErrAnswer is returned when an answer cannot be read or is not the one that was due.
	ErrAnswer = errors.New("load: unreadable answer")
	// ErrConnect is returned when nobody answers at a broker's address; the message has it.
	ErrConnect = errors.New("load: connect")
	// ErrOption is returned when an option has a value that it cannot have; the message names it.
	ErrOption = errors.New("load: option")
	// ErrCounts is returned when the broker's log does not hold exactly what was acknowledged, or a
	// consumer did not get exactly what the log holds.
	ErrCounts = errors.New("load: counts differ")
	// ErrTrace is returned when a workload file cannot be read; the message has the file and the line.
	ErrTrace = errors.New("load: workload file")
)
