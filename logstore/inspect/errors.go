package inspect

import "errors"

// What this package refuses with.
var (
	// ErrName is returned when a file's name does not begin with an offset.
	ErrName = errors.New("the name does not begin with an offset")
	// ErrNotThere is returned when no record has the offset or timestamp looked for.
	ErrNotThere = errors.New("no record is there")
	// ErrDecoder is returned when no decoder has the name asked for.
	ErrDecoder = errors.New("decoder not known: StringDecoder, IntegerDecoder, LongDecoder and DefaultDecoder are there")
	// ErrSound is returned when there is nothing that a choice could be about.
	ErrSound = errors.New("no record of this partition is damaged")
	// ErrNotSegment is returned when a directory has no segment.
	ErrNotSegment = errors.New("no segment is in the directory")
)
