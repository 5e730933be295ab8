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
	// ErrNotOneBatch is returned when a client's record set is not exactly one whole batch of format 2: none, several, one of an older
	// format, or one that is cut off (then it is ErrTruncated as well). Such an error is an *InvalidRecordError too.
	ErrNotOneBatch = errors.New("batch: a record set must be exactly one whole batch of format 2")
	// ErrEpoch is returned when a batch has a producer id and a negative producer epoch.
	ErrEpoch = errors.New("batch: a batch with a producer id needs a producer epoch")
	// ErrNeedsNewFormat is returned when a topic keeps records in a format that has no place for what a client sent: transactions, sequence
	// numbers, record headers, zstd.
	ErrNeedsNewFormat = errors.New("batch: the topic's record format has no place for this")
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
	kinds   []error       // sentinels that this error is, too
}

// Unwrap makes errors.Is find the sentinels.
func (e *InvalidRecordError) Unwrap() []error { return e.kinds }

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

func notOneBatch(msg string, kinds ...error) error {
	return &InvalidRecordError{Index: -1, Msg: msg, kinds: append(kinds, ErrNotOneBatch)}
}
