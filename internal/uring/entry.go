package uring

import "unsafe"

// Code is an operation of the kernel's numbering. Only those below can be pushed.
type Code uint8

// The allowed operations.
const (
	CodeNop           Code = 0
	CodeReadv         Code = 1
	CodeWritev        Code = 2
	CodeFsync         Code = 3
	CodeReadFixed     Code = 4
	CodeWriteFixed    Code = 5
	CodePollAdd       Code = 6
	CodePollRemove    Code = 7
	CodeSyncFileRange Code = 8
	CodeTimeout       Code = 11
	CodeTimeoutRemove Code = 12
	CodeCancel        Code = 14
	CodeLinkTimeout   Code = 15
	CodeFallocate     Code = 17
	CodeRead          Code = 22
	CodeWrite         Code = 23
	CodeFadvise       Code = 24

	codeMax = CodeFadvise
)

// allowed is the list above as a mask: the kernel is told it where it takes restrictions, and Push checks it everywhere.
const allowed uint64 = 1<<CodeNop | 1<<CodeReadv | 1<<CodeWritev | 1<<CodeFsync | 1<<CodeReadFixed | 1<<CodeWriteFixed | 1<<CodePollAdd |
	1<<CodePollRemove | 1<<CodeSyncFileRange | 1<<CodeTimeout | 1<<CodeTimeoutRemove | 1<<CodeCancel | 1<<CodeLinkTimeout | 1<<CodeFallocate |
	1<<CodeRead | 1<<CodeWrite | 1<<CodeFadvise

// Allowed says whether an operation may be pushed.
func Allowed(c Code) bool { return c <= codeMax && allowed&(1<<c) != 0 }

// Flags of an entry.
const (
	// FixedFile makes FD an index into the registered files.
	FixedFile uint8 = 1 << 0
	// Drain starts the entry only after everything before it has completed.
	Drain uint8 = 1 << 1
	// Link starts the next entry only after this one succeeded in full; a short write breaks the chain and the rest is cancelled.
	Link uint8 = 1 << 2
	// HardLink is Link that an error does not break.
	HardLink uint8 = 1 << 3
	// Async sends the entry to a kernel worker at once, without trying it on the submitting thread.
	Async uint8 = 1 << 4

	allowedFlags = FixedFile | Drain | Link | HardLink | Async
)

// Entry is one operation to submit. Use the constructors; what they point to must stay alive and in place until the completion.
type Entry struct {
	Code  Code
	Flags uint8
	Buf   uint16 // index of a registered buffer
	FD    int32
	Off   uint64
	Ptr   unsafe.Pointer
	Value uint64 // goes where Ptr would, for operations that take a number there
	Len   uint32
	Arg   uint32
	User  uint64
}

// With sets the tag that comes back with the completion.
func (e Entry) With(user uint64) Entry { e.User = user; return e }

// Flagged adds flags.
func (e Entry) Flagged(flags uint8) Entry { e.Flags |= flags; return e }

// lenMax is the most that one entry carries; the kernel stops at 2 GiB less a page in any case.
const lenMax = 1<<31 - 4096

func bytesOf(b []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(b)), uint32(min(len(b), lenMax))
}

// Nop completes with 0.
func Nop() Entry { return Entry{Code: CodeNop, FD: -1} }

// Read is pread.
func Read(fd int, b []byte, off int64) Entry {
	p, n := bytesOf(b)
	return Entry{Code: CodeRead, FD: int32(fd), Off: uint64(off), Ptr: p, Len: n}
}

// Write is pwrite.
func Write(fd int, b []byte, off int64) Entry {
	p, n := bytesOf(b)
	return Entry{Code: CodeWrite, FD: int32(fd), Off: uint64(off), Ptr: p, Len: n}
}

// Readv is preadv. v must stay alive as the buffers must.
func Readv(fd int, v *Vec, off int64) Entry {
	p, n := v.raw()
	return Entry{Code: CodeReadv, FD: int32(fd), Off: uint64(off), Ptr: p, Len: n}
}

// Writev is pwritev.
func Writev(fd int, v *Vec, off int64) Entry {
	p, n := v.raw()
	return Entry{Code: CodeWritev, FD: int32(fd), Off: uint64(off), Ptr: p, Len: n}
}

// ReadFixed is pread into a part of registered buffer index.
func ReadFixed(fd int, b []byte, off int64, index int) Entry {
	p, n := bytesOf(b)
	return Entry{Code: CodeReadFixed, FD: int32(fd), Off: uint64(off), Ptr: p, Len: n, Buf: uint16(index)}
}

// WriteFixed is pwrite from a part of registered buffer index.
func WriteFixed(fd int, b []byte, off int64, index int) Entry {
	p, n := bytesOf(b)
	return Entry{Code: CodeWriteFixed, FD: int32(fd), Off: uint64(off), Ptr: p, Len: n, Buf: uint16(index)}
}

// Fsync is fsync.
func Fsync(fd int) Entry { return Entry{Code: CodeFsync, FD: int32(fd)} }

const fsyncDataSync = 1

// DataSync is fdatasync.
func DataSync(fd int) Entry { return Entry{Code: CodeFsync, FD: int32(fd), Arg: fsyncDataSync} }

// SyncFileRange starts or awaits write-back of a range; it makes nothing durable.
func SyncFileRange(fd int, off int64, n uint32, flags uint32) Entry {
	return Entry{Code: CodeSyncFileRange, FD: int32(fd), Off: uint64(off), Len: n, Arg: flags}
}

// Fallocate is fallocate(mode).
func Fallocate(fd int, mode uint32, off, n int64) Entry {
	return Entry{Code: CodeFallocate, FD: int32(fd), Off: uint64(off), Value: uint64(n), Len: mode}
}

// Fadvise is posix_fadvise.
func Fadvise(fd int, off int64, n uint32, advice uint32) Entry {
	return Entry{Code: CodeFadvise, FD: int32(fd), Off: uint64(off), Len: n, Arg: advice}
}

// PollAdd completes once when fd has one of the events.
func PollAdd(fd int, events uint32) Entry {
	return Entry{Code: CodePollAdd, FD: int32(fd), Arg: events}
}

// PollRemove ends the poll that was pushed with tag user.
func PollRemove(user uint64) Entry { return Entry{Code: CodePollRemove, FD: -1, Value: user} }

// Timespec is the kernel's time value; it must stay alive until Submit has returned.
type Timespec struct{ Sec, Nsec int64 }

// Timeout completes with ETIME after ts, or with 0 after count other completions (0: never).
func Timeout(ts *Timespec, count uint32) Entry {
	return Entry{Code: CodeTimeout, FD: -1, Off: uint64(count), Ptr: unsafe.Pointer(ts), Len: 1}
}

// TimeoutRemove ends the timeout that was pushed with tag user.
func TimeoutRemove(user uint64) Entry { return Entry{Code: CodeTimeoutRemove, FD: -1, Value: user} }

// LinkTimeout bounds the linked entry before it.
func LinkTimeout(ts *Timespec) Entry {
	return Entry{Code: CodeLinkTimeout, FD: -1, Ptr: unsafe.Pointer(ts), Len: 1}
}

// Cancel tries to end the entry that was pushed with tag user.
func Cancel(user uint64) Entry { return Entry{Code: CodeCancel, FD: -1, Value: user} }
