package uring

import (
	"errors"
	"strings"
)

// Ring is one submission and completion queue pair.
type Ring interface {
	// Push queues e. It returns false when the submission queue is full (Submit, then again) or as many entries are in flight as the
	// completion queue holds (Reap first). A chain of linked entries must fit into Space before its first entry is pushed.
	Push(e Entry) bool
	// Space is how many entries Push takes now.
	Space() int
	// Submit hands everything pushed to the kernel in one enter and does not wait. ErrBusy leaves the entries queued.
	Submit() error
	// Wait is Submit and then sleep until at least n completions are there.
	Wait(n int) error
	// Reap moves completions to dst and returns how many. It enters the kernel only when that is needed to get at them.
	Reap(dst []Completion) int
	// InFlight is the number of entries pushed whose completions were not reaped.
	InFlight() int

	RegisterFiles(fds []int32) error
	// UpdateFiles replaces registered files from index off on; -1 clears a place.
	UpdateFiles(off int, fds []int32) error
	UnregisterFiles() error
	// RegisterBuffers charges locked memory: a service without CAP_IPC_LOCK may get ENOMEM and must go on without.
	RegisterBuffers(bufs [][]byte) error
	UnregisterBuffers() error
	// ReserveBuffers makes a table of so many places without buffers, SetBuffer fills one (5.19).
	ReserveBuffers(n int) error
	SetBuffer(index int, b []byte) error
	RegisterEventFD(fd int) error
	// SetWorkers bounds the kernel's workers for file operations (bounded) and for the rest (unbounded); 0 leaves one as it is.
	SetWorkers(bounded, unbounded int) error
	// SetWorkerCPUs pins the kernel's workers.
	SetWorkerCPUs(cpus []int) error

	Probe() Probe
	Stats() Stats
	// Close gives the ring back. Nothing may be in flight: the kernel could still write into a buffer.
	Close() error
}

// Completion is the result of one entry: Res is the system call's result or a negative errno.
type Completion struct {
	User  uint64
	Res   int32
	Flags uint32
}

// Stats counts system calls and trouble.
type Stats struct {
	Enters    uint64
	Submitted uint64
	Reaped    uint64
	Overflows uint64 // times the kernel had completions that did not fit the queue
	Busy      uint64 // times enter answered EAGAIN or EBUSY
}

// Options ask for a ring.
type Options struct {
	// Entries is the submission queue's size, rounded up to a power of two.
	Entries int
	// CQEntries is the completion queue's; default 2 × Entries.
	CQEntries int
	// SQPoll starts a kernel thread that polls the submission queue.
	SQPoll       bool
	SQPollIdleMs int
	// NoDeferTaskrun leaves out SINGLE_ISSUER with DEFER_TASKRUN: completions are then worked on whenever the thread leaves the kernel.
	NoDeferTaskrun bool
	// Unrestricted leaves the list of allowed operations to Push alone instead of telling the kernel too.
	Unrestricted bool
}

// Probe says what the kernel granted.
type Probe struct {
	Granted   bool
	Impl      string // "kernel" for ours, "giouring"
	Entries   int
	CQEntries int

	SingleIssuer, DeferTaskrun, CoopTaskrun, NoSQArray, SubmitAll, SQPoll bool
	RegisteredRing, Restricted                                            bool

	Ops     uint64   // bit per Code that the kernel knows
	Reasons []string // one line per step down
}

// Has says whether the kernel knows an operation.
func (p Probe) Has(c Code) bool { return p.Ops&(1<<c) != 0 }

// String lists what was granted.
func (p Probe) String() string {
	if !p.Granted {
		return "no ring"
	}
	parts := []string{p.Impl}
	for _, f := range []struct {
		on   bool
		name string
	}{
		{p.SingleIssuer, "single-issuer"}, {p.DeferTaskrun, "defer-taskrun"}, {p.CoopTaskrun, "coop-taskrun"},
		{p.NoSQArray, "no-sqarray"}, {p.SubmitAll, "submit-all"}, {p.SQPoll, "sqpoll"},
		{p.RegisteredRing, "registered-ring"}, {p.Restricted, "restricted"},
	} {
		if f.on {
			parts = append(parts, f.name)
		}
	}
	return strings.Join(parts, ",")
}

var (
	// ErrUnavailable is returned by Open when this kernel, or what guards it, gives no usable ring; the cause is wrapped.
	ErrUnavailable = errors.New("uring: not available")
	// ErrBusy is returned by Submit when the kernel takes no entries before completions are reaped or memory is there again.
	ErrBusy = errors.New("uring: kernel is busy, reap completions and submit again")
	// ErrNoRoom is returned by Fixed.Add when the table of buffers is full.
	ErrNoRoom = errors.New("uring: the table of registered buffers is full")
	// ErrInFlight is returned by Close while entries are in flight.
	ErrInFlight = errors.New("uring: entries are in flight")
)
