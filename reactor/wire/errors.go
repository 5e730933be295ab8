package wire

import "errors"

// What this package refuses with.
var (
	// ErrTruncated is returned when a field reaches past the end of its frame.
	ErrTruncated = errors.New("wire: the frame ends inside a field")
	// ErrTooManyElements is returned when a request's arrays hold more than MaxElements.
	ErrTooManyElements = errors.New("wire: too many array elements")
)
