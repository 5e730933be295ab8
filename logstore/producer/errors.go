package producer

import "errors"

// What this package refuses with.
var (
	// ErrSnapshot is returned when bytes are not a whole snapshot of version 1 with the right CRC.
	ErrSnapshot = errors.New("producer: not a snapshot, or a damaged one")
)
