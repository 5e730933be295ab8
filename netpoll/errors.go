package netpoll

import (
	"errors"
	"fmt"
)

var (
	// ErrFrameTooLarge is the cause of a connection that announced a frame above its limit.
	ErrFrameTooLarge = errors.New("netpoll: frame larger than allowed")
	// ErrFrameNegative is the cause of a connection that announced a frame of negative size.
	ErrFrameNegative = errors.New("netpoll: frame of negative size")
	// ErrFrameStalled is the cause of a connection that began a frame and did not go on with it in time.
	ErrFrameStalled = errors.New("netpoll: frame did not go on in time")
	// ErrIdle is the cause of a connection that neither asked nor was owed anything for too long.
	ErrIdle = errors.New("netpoll: connection idle too long")
	// ErrSlowReader is the cause of a connection whose peer took nothing of what waits for it in time.
	ErrSlowReader = errors.New("netpoll: peer does not read")
	// ErrConnectTimeout is the cause of an outgoing connection that was not established in time.
	ErrConnectTimeout = errors.New("netpoll: connect timed out")
	// ErrNoMemory is the cause of a connection for whose bytes the arena had no room.
	ErrNoMemory = errors.New("netpoll: arena is full")
	// ErrClosed is the cause when the loop itself closed, and is returned by Accept and AcceptReady after Close.
	ErrClosed = errors.New("netpoll: closed")
	// ErrNoRoom is returned by AcceptReady when the process or the kernel has no descriptor or memory for another connection.
	ErrNoRoom = errors.New("netpoll: no room for another connection")
	// ErrUnknownPoller is returned by OpenPoller for a name that it does not know.
	ErrUnknownPoller = errors.New("netpoll: unknown poller")
	// ErrUnsupported is returned where the operating system is not Linux.
	ErrUnsupported = errors.New("netpoll: not supported on this system")
	// ErrNotNumeric is returned by Dial for a host name: looking it up would block the loop.
	ErrNotNumeric = errors.New("netpoll: address is not IP:port")
	// ErrTooManyConnections is returned by Limiter.Take when all connections together reached the limit.
	ErrTooManyConnections = errors.New("netpoll: too many connections")
	// ErrTooManyFromIP is returned by Limiter.Take when the address reached its limit.
	ErrTooManyFromIP = errors.New("netpoll: too many connections from this address")
	// ErrNoZeroCopy is returned by NewNet when zero copy is asked for and the kernel refuses it on a TCP socket.
	ErrNoZeroCopy = errors.New("netpoll: the kernel refuses MSG_ZEROCOPY")
	// ErrShortFile is inside the FileError of a span that reaches beyond the end of its file.
	ErrShortFile = errors.New("netpoll: file ends before the span")
)

// FileError is the cause of a connection that was closed since a span's file could not be read: half an answer was sent.
type FileError struct {
	FD  int // the file's descriptor
	Err error
}

func (e *FileError) Error() string { return fmt.Sprintf("netpoll: span of file %d: %v", e.FD, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }
