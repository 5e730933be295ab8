package batch

import (
	"errors"
	"fmt"
)

var (
	// ErrCRC is returned when the checksum of a batch or message does not match its bytes.
	ErrCRC = errors.New("batch: the checksum does not match")
	// ErrTooLarge is returned when a batch is larger than Limits.MaxBatchBytes.
	ErrTooLarge = errors.New("batch: larger than the largest batch allowed")
	// ErrMagic is returned when the format is not the one the caller can take.
	ErrMagic = errors.New("batch: record format not supported here")
	// ErrTruncated is returned when the bytes end inside a batch.
	ErrTruncated = errors.New("batch: the bytes end inside a batch")
	// ErrCodec is returned when the codec's number is unknown or the limits do not allow it.
	ErrCodec = errors.New("batch: compression type not supported here")
	// ErrBomb is returned when the records would decompress to more than Limits.MaxDecompressed.
	ErrBomb = errors.New("batch: decompresses to more than allowed")
	// ErrDecompress is returned when a codec refuses the compressed bytes.
	ErrDecompress = errors.New("batch: compressed records cannot be read")
)

// RecordError names one record that cannot be taken; Index counts from 0 over the whole request of a partition.
type RecordError struct {
	Index int32
	Msg   string
}

// InvalidRecordError is returned when the structure or the content of a batch is wrong.
type InvalidRecordError struct {
	Index   int32 // of the first wrong record; -1 when the batch as a whole is meant
	Msg     string
	Records []RecordError // every record refused for its content (a missing key); nil for structural faults
}

func (e *InvalidRecordError) Error() string {
	if e.Index < 0 {
		return "batch: " + e.Msg
	}
	return fmt.Sprintf("batch: record %d: %s", e.Index, e.Msg)
}

// InvalidTimestampError is returned when a record's timestamp lies outside the topic's bounds.
type InvalidTimestampError struct {
	Index   int32
	Msg     string
	Records []RecordError
}

func (e *InvalidTimestampError) Error() string {
	return fmt.Sprintf("batch: record %d: %s", e.Index, e.Msg)
}

func invalid(index int32, msg string) error { return &InvalidRecordError{Index: index, Msg: msg} }
