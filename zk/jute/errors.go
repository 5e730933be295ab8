package jute

import "errors"

// What this package refuses with.
var (
	// ErrShort is returned when a record ends before its last field.
	ErrShort = errors.New("jute: record is too short")
	// ErrLength is returned when a length or count is negative (other than -1) or larger than the record.
	ErrLength = errors.New("jute: unreasonable length")
)
