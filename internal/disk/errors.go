package disk

import "errors"

// Error is a failed call on a file.
type Error struct {
	Op   string // the call: write, fdatasync, open …
	Path string
	Err  error // a syscall.Errno where the kernel said no
}

// Error implements error.
func (e *Error) Error() string { return e.Op + " " + e.Path + ": " + e.Err.Error() }

// Unwrap gives the errno to errors.Is.
func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrWouldBlock is returned by ReadNow when bytes asked for are not in the page cache.
	ErrWouldBlock = errors.New("disk: not in the page cache")
	// ErrLocked is returned by FS.Lock when another process, or this one, holds the lock.
	ErrLocked = errors.New("disk: locked by another process")
	// ErrNoProgress is the cause of a write that the kernel keeps accepting without taking a byte, or keeps cancelling.
	ErrNoProgress = errors.New("disk: no progress")
	// ErrNotGranted is returned by Open for a setting of the ring that was asked for and that the kernel refuses.
	ErrNotGranted = errors.New("disk: not granted")
	// ErrClosed is returned by calls on a closed File.
	ErrClosed = errors.New("disk: file is closed")
)
