package uring

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// io_uring_setup flags, kernel numbering.
const (
	setupSQPoll       = 1 << 1
	setupCQSize       = 1 << 3
	setupClamp        = 1 << 4
	setupRDisabled    = 1 << 6
	setupSubmitAll    = 1 << 7
	setupCoopTaskrun  = 1 << 8
	setupTaskrunFlag  = 1 << 9
	setupSingleIssuer = 1 << 12
	setupDeferTaskrun = 1 << 13
	setupNoSQArray    = 1 << 16

	featSingleMmap   = 1 << 0
	featNoDrop       = 1 << 1
	featSubmitStable = 1 << 2
)

type sqOffsets struct {
	head, tail, ringMask, ringEntries, flags, dropped, array, resv1 uint32
	userAddr                                                        uint64
}

type cqOffsets struct {
	head, tail, ringMask, ringEntries, overflow, cqes, flags, resv1 uint32
	userAddr                                                        uint64
}

type params struct {
	sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFd uint32
	resv                                                                   [3]uint32
	sqOff                                                                  sqOffsets
	cqOff                                                                  cqOffsets
}

// setupCall is io_uring_setup; tests put refusals in its place.
type setupCall func(entries uint32, p *params) (int, error)

func kernelSetup(entries uint32, p *params) (int, error) {
	fd, _, errno := syscall.RawSyscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(p)), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// step is one set of flags to ask for; lost says what is missing when the step after it is taken.
type step struct {
	flags uint32
	name  string
}

// ladder lists what to ask for, best first. A kernel answers EINVAL to flags that it does not know.
func ladder(o Options) []step {
	const base = setupCQSize | setupClamp
	if o.SQPoll {
		// The task-work flags are about the submitting thread's system calls, which SQPOLL does without; the kernel refuses them together.
		return []step{
			{base | setupSQPoll | setupRDisabled | setupSubmitAll | setupSingleIssuer | setupNoSQArray, "sqpoll, 6.6 flags"},
			{base | setupSQPoll | setupRDisabled | setupSubmitAll, "sqpoll, 5.18 flags"},
			{base | setupSQPoll | setupRDisabled, "sqpoll, 5.10 flags"},
		}
	}
	const deferred = setupRDisabled | setupSubmitAll | setupSingleIssuer | setupDeferTaskrun | setupTaskrunFlag
	const coop = setupRDisabled | setupSubmitAll | setupCoopTaskrun | setupTaskrunFlag
	best := []step{
		{base | deferred | setupNoSQArray, "no-sqarray (6.6)"},
		{base | deferred, "single-issuer and defer-taskrun (6.1)"},
	}
	if o.NoDeferTaskrun {
		best = []step{{base | coop | setupSingleIssuer | setupNoSQArray, "single-issuer and no-sqarray (6.6)"}}
	}
	return append(best, []step{
		{base | coop, "coop-taskrun (5.19)"},
		{base | setupRDisabled | setupSubmitAll, "submit-all (5.18)"},
		{base | setupRDisabled, "restrictions (5.10)"},
		{base, "basic (5.5)"},
	}...)
}

// Kernel memory for rings counts against the memory cgroup (or RLIMIT_MEMLOCK before 5.12): smaller queues are tried down to this.
const entriesFloor = 32

// setup walks the ladder and returns the ring's descriptor with what was granted.
func setup(o Options, call setupCall) (int, *params, Probe, error) {
	probe := Probe{Impl: "kernel"}
	entries := uint32(max(o.Entries, 1))
	cqEntries := uint32(o.CQEntries)
	if cqEntries < entries {
		cqEntries = 2 * entries
	}
	steps := ladder(o)
	for at := 0; at < len(steps); {
		p := &params{flags: steps[at].flags, cqEntries: cqEntries, sqThreadIdle: uint32(o.SQPollIdleMs)}
		fd, err := call(entries, p)
		switch err {
		case nil:
			fillProbe(&probe, p)
			return fd, p, probe, nil
		case syscall.EINTR:
		case syscall.EINVAL:
			probe.Reasons = append(probe.Reasons, "kernel refuses "+steps[at].name+": EINVAL")
			at++
		case syscall.ENOMEM:
			if entries <= entriesFloor {
				return -1, nil, probe, fmt.Errorf("%w: io_uring_setup: %w", ErrUnavailable, err)
			}
			probe.Reasons = append(probe.Reasons, fmt.Sprintf("no memory for %d entries, halved: ENOMEM", entries))
			entries, cqEntries = entries/2, cqEntries/2
		default:
			return -1, nil, probe, fmt.Errorf("%w: io_uring_setup: %w", ErrUnavailable, err)
		}
	}
	return -1, nil, probe, fmt.Errorf("%w: io_uring_setup: %w", ErrUnavailable, syscall.EINVAL)
}

func fillProbe(probe *Probe, p *params) {
	has := func(f uint32) bool { return p.flags&f != 0 }
	probe.Granted = true
	probe.Entries, probe.CQEntries = int(p.sqEntries), int(p.cqEntries)
	probe.SingleIssuer, probe.DeferTaskrun = has(setupSingleIssuer), has(setupDeferTaskrun)
	probe.CoopTaskrun, probe.NoSQArray = has(setupCoopTaskrun), has(setupNoSQArray)
	probe.SubmitAll, probe.SQPoll = has(setupSubmitAll), has(setupSQPoll)
}
