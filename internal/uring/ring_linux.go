package uring

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	offSQRing = 0
	offSQEs   = 0x10000000

	enterGetEvents      = 1 << 0
	enterSQWakeup       = 1 << 1
	enterRegisteredRing = 1 << 4

	sqNeedWakeup = 1 << 0
	sqCQOverflow = 1 << 1
	sqTaskrun    = 1 << 2

	cqEventFDDisabled = 1 << 0
)

// kernelRing is Ring over raw system calls.
type kernelRing struct {
	registrar
	enterFD    int // the registered index, or fd
	enterFlags uintptr
	registered int // index on this thread, -1 without
	probe      Probe
	stats      Stats

	rings, entries []byte // the two mappings

	sqHead, sqTail, sqFlags *uint32
	sqMask                  uint32
	sqes                    unsafe.Pointer
	tail                    uint32 // ours; published to *sqTail by Submit
	submitted               uint32 // tail as far as the kernel has taken it (without SQPOLL)

	cqHead, cqTail, cqFlags *uint32
	cqMask                  uint32
	cqes                    unsafe.Pointer

	inFlight    int
	inFlightMax int // the completion queue's size: more could not be stored
}

// Open sets a ring up on the calling thread, which must be locked and stay the only user.
func Open(o Options) (Ring, Probe, error) {
	r, probe, err := open(o, kernelSetup)
	if err != nil {
		return nil, probe, err
	}
	return r, probe, nil
}

func open(o Options, call setupCall) (*kernelRing, Probe, error) {
	fd, p, probe, err := setup(o, call)
	if err != nil {
		return nil, probe, err
	}
	unix.CloseOnExec(fd)
	r := &kernelRing{registrar: registrar{fd}, registered: -1, probe: probe}
	if err := r.prepare(o, p); err != nil {
		r.unmap()
		_ = unix.Close(fd)
		r.probe.Granted = false
		return nil, r.probe, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return r, r.probe, nil
}

// prepare maps the queues, tells the kernel the allowed operations, and enables the ring.
func (r *kernelRing) prepare(o Options, p *params) error {
	const needed = featSingleMmap | featNoDrop | featSubmitStable
	if p.features&needed != needed {
		return fmt.Errorf("features %#x: the kernel is older than 5.5", p.features)
	}
	if err := r.mapQueues(p); err != nil {
		return err
	}
	known, err := r.probeOps()
	if err != nil {
		// Probing came with 5.6, as did most operations of the list; without it only the first ones can be relied on.
		known = 1<<CodeNop | 1<<CodeReadv | 1<<CodeWritev | 1<<CodeFsync | 1<<CodeReadFixed | 1<<CodeWriteFixed | 1<<CodePollAdd | 1<<CodePollRemove
		r.probe.Reasons = append(r.probe.Reasons, "no probe of operations: "+err.Error())
	}
	r.probe.Ops = known & allowed
	if p.flags&setupRDisabled != 0 {
		if !o.Unrestricted {
			if err := r.restrict(known); err != nil {
				r.probe.Reasons = append(r.probe.Reasons, "no restrictions: "+err.Error())
			} else {
				r.probe.Restricted = true
			}
		}
		if err := r.enable(); err != nil {
			return fmt.Errorf("enable ring: %w", err)
		}
	}
	r.enterFD = r.fd
	if index, err := r.registerRing(); err != nil {
		r.probe.Reasons = append(r.probe.Reasons, "ring descriptor not registered: "+err.Error())
	} else if index >= 0 {
		r.registered, r.enterFD, r.enterFlags = index, index, enterRegisteredRing
		r.probe.RegisteredRing = true
	}
	return nil
}

func (r *kernelRing) mapQueues(p *params) error {
	cqBytes := int(p.cqOff.cqes) + int(p.cqEntries)*cqeBytes
	sqBytes := 0
	if p.flags&setupNoSQArray == 0 {
		sqBytes = int(p.sqOff.array) + int(p.sqEntries)*4
	}
	var err error
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	if r.rings, err = unix.Mmap(r.fd, offSQRing, max(cqBytes, sqBytes), prot, flags); err != nil {
		return fmt.Errorf("map queues: %w", err)
	}
	if r.entries, err = unix.Mmap(r.fd, offSQEs, int(p.sqEntries)*sqeBytes, prot, flags); err != nil {
		return fmt.Errorf("map entries: %w", err)
	}
	at := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[off])) }
	r.sqHead, r.sqTail, r.sqFlags = at(p.sqOff.head), at(p.sqOff.tail), at(p.sqOff.flags)
	r.sqMask = *at(p.sqOff.ringMask)
	r.sqes = unsafe.Pointer(&r.entries[0])
	r.cqHead, r.cqTail, r.cqFlags = at(p.cqOff.head), at(p.cqOff.tail), at(p.cqOff.flags)
	r.cqMask = *at(p.cqOff.ringMask)
	r.cqes = unsafe.Pointer(&r.rings[p.cqOff.cqes])
	r.tail = atomic.LoadUint32(r.sqTail)
	r.submitted = r.tail
	r.inFlightMax = int(p.cqEntries)
	if p.flags&setupNoSQArray == 0 {
		// Entries are used in ring order, so the indirection is filled once with the identity.
		for i := range p.sqEntries {
			*at(p.sqOff.array + 4*i) = i
		}
	}
	return nil
}

func (r *kernelRing) unmap() {
	if r.rings != nil {
		_ = unix.Munmap(r.rings)
	}
	if r.entries != nil {
		_ = unix.Munmap(r.entries)
	}
	r.rings, r.entries = nil, nil
}

// Space implements Ring.
func (r *kernelRing) Space() int {
	free := int(r.sqMask + 1 - (r.tail - atomic.LoadUint32(r.sqHead)))
	return min(free, r.inFlightMax-r.inFlight)
}

// Push implements Ring.
func (r *kernelRing) Push(e Entry) bool {
	if r.Space() <= 0 {
		return false
	}
	s := (*sqe)(unsafe.Add(r.sqes, uintptr(r.tail&r.sqMask)*sqeBytes))
	s.fill(&e)
	r.tail++
	r.inFlight++
	return true
}

// Submit implements Ring.
func (r *kernelRing) Submit() error {
	if r.probe.SQPoll {
		return r.submitPolled()
	}
	for r.tail != r.submitted {
		atomic.StoreUint32(r.sqTail, r.tail)
		n, errno := r.enter(r.tail-r.submitted, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno == syscall.EAGAIN || errno == syscall.EBUSY || (errno == 0 && n == 0) {
			r.stats.Busy++
			return ErrBusy
		}
		if errno != 0 {
			return fmt.Errorf("uring: io_uring_enter: %w", errno)
		}
		r.submitted += uint32(n)
		r.stats.Submitted += uint64(n)
	}
	return nil
}

// submitPolled publishes the tail and wakes the kernel's polling thread if it sleeps. The store is sequentially consistent, so the flag read
// after it cannot be older.
func (r *kernelRing) submitPolled() error {
	r.stats.Submitted += uint64(r.tail - r.submitted)
	r.submitted = r.tail
	atomic.StoreUint32(r.sqTail, r.tail)
	for atomic.LoadUint32(r.sqFlags)&sqNeedWakeup != 0 {
		if _, errno := r.enter(0, 0, enterSQWakeup); errno != syscall.EINTR {
			if errno != 0 {
				return fmt.Errorf("uring: io_uring_enter: %w", errno)
			}
			return nil
		}
	}
	return nil
}

// Wait implements Ring.
func (r *kernelRing) Wait(n int) error {
	if err := r.Submit(); err != nil {
		return err
	}
	for r.ready() < n {
		if _, errno := r.enter(0, n, enterGetEvents); errno != 0 && errno != syscall.EINTR {
			if errno == syscall.EAGAIN || errno == syscall.EBUSY {
				r.stats.Busy++
				return ErrBusy
			}
			return fmt.Errorf("uring: io_uring_enter: %w", errno)
		}
	}
	return nil
}

func (r *kernelRing) ready() int {
	return int(atomic.LoadUint32(r.cqTail) - atomic.LoadUint32(r.cqHead))
}

// enter is io_uring_enter. Only a call that waits goes through the Go scheduler: the others return at once, and a raw call does not
// hand the processor to another goroutine.
func (r *kernelRing) enter(submit uint32, wait int, flags uintptr) (int, syscall.Errno) {
	r.stats.Enters++
	call := syscall.RawSyscall6
	if wait > 0 {
		call = syscall.Syscall6
	}
	n, _, errno := call(unix.SYS_IO_URING_ENTER, uintptr(r.enterFD), uintptr(submit), uintptr(wait), flags|r.enterFlags, 0, 0)
	return int(n), errno
}

// Reap implements Ring.
//
// Under DEFER_TASKRUN the kernel signals the eventfd only when its list of work goes from empty to not empty. Whoever has drained the eventfd
// must therefore see to the list as well, even when all completions are here: an entry that completed at once may leave work behind (seen with
// buffered reads and linked entries), and with that left lying the next completion joins it and wakes nobody.
func (r *kernelRing) Reap(dst []Completion) int {
	n := r.take(dst)
	quiet := true
	for n < len(dst) {
		flags := atomic.LoadUint32(r.sqFlags)
		if flags&(sqTaskrun|sqCQOverflow) == 0 {
			return n
		}
		if flags&sqCQOverflow != 0 {
			r.stats.Overflows++
		}
		got := r.runWork(quiet, dst[n:])
		n += got
		if got == 0 {
			// The flag can be a left-over of work that is done. One more look, with the eventfd on, and whatever comes later signals.
			if !quiet {
				return n
			}
			quiet = false
		}
	}
	return n
}

// runWork enters the kernel for its deferred work and takes what that completes. While quiet that does not raise the eventfd, which would wake
// the loop once more for what it has in hand; the caller must look at the flags again afterwards.
func (r *kernelRing) runWork(quiet bool, dst []Completion) int {
	if quiet {
		atomic.StoreUint32(r.cqFlags, cqEventFDDisabled)
	}
	_, errno := r.enter(0, 0, enterGetEvents)
	if quiet {
		atomic.StoreUint32(r.cqFlags, 0)
	}
	if errno != 0 && errno != syscall.EINTR {
		r.stats.Busy++
	}
	return r.take(dst)
}

func (r *kernelRing) take(dst []Completion) int {
	head := *r.cqHead
	tail := atomic.LoadUint32(r.cqTail)
	n := 0
	for head != tail && n < len(dst) {
		c := (*cqe)(unsafe.Add(r.cqes, uintptr(head&r.cqMask)*cqeBytes))
		dst[n] = Completion{User: c.userData, Res: c.res, Flags: c.flags}
		head++
		n++
	}
	if n > 0 {
		atomic.StoreUint32(r.cqHead, head)
		r.inFlight -= n
		r.stats.Reaped += uint64(n)
	}
	return n
}

// InFlight implements Ring.
func (r *kernelRing) InFlight() int { return r.inFlight }

// Probe implements Ring.
func (r *kernelRing) Probe() Probe { return r.probe }

// Stats implements Ring.
func (r *kernelRing) Stats() Stats { return r.stats }

// Close implements Ring.
func (r *kernelRing) Close() error {
	if r.inFlight != 0 {
		return ErrInFlight
	}
	if r.registered >= 0 {
		r.unregisterRing(r.registered)
		r.registered = -1
	}
	r.unmap()
	return unix.Close(r.fd)
}
