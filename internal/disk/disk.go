package disk

import "fmt"

// Kind says what an Op does.
type Kind uint8

// The kinds of operation.
const (
	// Nop completes without touching the file.
	Nop Kind = iota
	// Write puts Bufs at Off, all of them, in order; with Durable it is followed by a linked fdatasync.
	Write
	// Read fills Bufs[0] from Off; N is short only at the end of the file.
	Read
	// Sync is fdatasync.
	Sync
	// ReadAhead loads ReadLen bytes at Off into the page cache; N is how many there were.
	ReadAhead
)

// String is the name used in errors.
func (k Kind) String() string {
	switch k {
	case Nop:
		return "nop"
	case Write:
		return "write"
	case Read:
		return "read"
	case Sync:
		return "fdatasync"
	case ReadAhead:
		return "readahead"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Op is one operation. It is owned by the submitter, reused at will, and must not be touched between Submit and the Reap that returns it;
// the memory of Bufs belongs to the kernel for as long.
type Op struct {
	Kind    Kind
	File    *File
	Bufs    [][]byte // Write: written in order at Off; Read: exactly one
	Off     int64
	Durable bool // Write: complete only after the fdatasync that is linked to it
	ReadLen int  // ReadAhead: bytes

	// N is the number of bytes done. For a Write without error it is all of them: short writes are continued here.
	N int
	// Err is nil or an *Error; errors.Is(Err, syscall.ENOSPC) works.
	Err error
	// Owner is the submitter's; store a pointer, which does not allocate.
	Owner any

	opState
}

// Disk is the asynchronous side of the file system for one shard. All methods run on the thread that opened it.
//
// The order within a turn: Submit any number, then Reap (what auto wrote inline is complete at once), then Flush. Flush raises WakeFD when
// completions still wait that no kernel event would announce, so a caller that sleeps on WakeFD loses none.
type Disk interface {
	// Submit queues op until Flush. Backend auto may write inline and queue only the completion.
	Submit(op *Op)
	// Flush hands everything queued to the kernel: one io_uring_enter unless more is queued than the ring has entries.
	Flush()
	// Reap appends completed operations to dst, in order of completion; it never blocks. An operation whose write came up short is continued
	// with the next Flush.
	Reap(dst []*Op) []*Op
	// InFlight is the number of operations submitted and not yet returned by Reap.
	InFlight() int
	// WakeFD becomes readable when completions wait; -1 if there is none.
	WakeFD() int
	// ResetWake drains WakeFD.
	ResetWake()
	// ReadNow reads what is in the page cache without blocking. n < len(b) comes with io.EOF at the end of the file or ErrWouldBlock when the
	// rest is not cached.
	ReadNow(f *File, b []byte, off int64) (n int, err error)
	// Cached says whether the whole range (up to the file's end) can be read without waiting for the disk.
	Cached(f *File, off, n int64) bool
	// Backend is "uring", "portable" or "auto".
	Backend() string
	// Stats are counters since Open.
	Stats() Stats
	// Close waits for everything in flight and gives the ring and the workers back. Completions that were not reaped are dropped.
	Close()
}

// Stats counts what a Disk did.
type Stats struct {
	Submitted uint64 // operations
	Completed uint64 // operations
	Inline    uint64 // writes that auto did at Submit
	Fixed     uint64 // writes from registered buffers
	Enters    uint64 // io_uring_enter calls
	Continued uint64 // short or cancelled writes that were continued
	Overflows uint64 // completion queue overflows drained; stays 0 while the cap on operations in flight holds
}
