//go:build giouring

package uring

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
)

// giouringRing is Ring over the giouring module, for comparison. Building it needs -ldflags=-checklinkname=0, since the module reaches into
// package syscall. Its queues are used as they are; its Prepare and Register calls are not: several pass the address of a Go header instead of
// the data, RegisterFiles passes 8-byte descriptors, and entries keep flags of their last use. Entries are filled and registrations made by the
// same code as for our own ring.
type giouringRing struct {
	registrar
	ring        *giouring.Ring
	probe       Probe
	stats       Stats
	queued      int
	inFlight    int
	inFlightMax int
}

// OpenGiouring is Open over giouring.
func OpenGiouring(o Options) (Ring, Probe, error) {
	entries := uint32(1)
	for entries < uint32(max(o.Entries, 1)) {
		entries *= 2
	}
	ring := giouring.NewRing()
	// No flags: the module does not show the queue flags that deferred task work needs to be seen to.
	if err := ring.QueueInit(entries, 0); err != nil {
		return nil, Probe{Impl: "giouring"}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	r := &giouringRing{registrar: registrar{ring.RingFd()}, ring: ring}
	r.probe = Probe{Granted: true, Impl: "giouring", Entries: int(entries), CQEntries: int(2 * entries)}
	r.inFlightMax = r.probe.CQEntries
	known, err := r.probeOps()
	if err != nil {
		ring.QueueExit()
		return nil, Probe{Impl: "giouring"}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	r.probe.Ops = known & allowed
	return r, r.probe, nil
}

// Space implements Ring.
func (r *giouringRing) Space() int {
	return min(int(r.ring.SQSpaceLeft()), r.inFlightMax-r.inFlight)
}

// Push implements Ring.
func (r *giouringRing) Push(e Entry) bool {
	if r.Space() <= 0 {
		return false
	}
	s := r.ring.GetSQE()
	if s == nil {
		return false
	}
	(*sqe)(unsafe.Pointer(s)).fill(&e)
	r.queued++
	r.inFlight++
	return true
}

// Submit implements Ring.
func (r *giouringRing) Submit() error {
	for r.queued > 0 {
		r.stats.Enters++
		n, err := r.ring.Submit()
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EBUSY) || (err == nil && n == 0) {
			r.stats.Busy++
			return ErrBusy
		}
		if err != nil {
			return fmt.Errorf("uring: giouring submit: %w", err)
		}
		r.queued -= int(n)
		r.stats.Submitted += uint64(n)
	}
	return nil
}

// Wait implements Ring.
func (r *giouringRing) Wait(n int) error {
	if err := r.Submit(); err != nil {
		return err
	}
	for int(r.ring.CQReady()) < n {
		r.stats.Enters++
		if _, err := r.ring.SubmitAndWait(uint32(n)); err != nil && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("uring: giouring wait: %w", err)
		}
	}
	return nil
}

// Reap implements Ring.
func (r *giouringRing) Reap(dst []Completion) int {
	n := r.take(dst)
	if n < len(dst) && r.ring.CQHasOverflow() {
		r.stats.Overflows++
		r.stats.Enters++
		_, _ = r.ring.GetEvents()
		n += r.take(dst[n:])
	}
	return n
}

func (r *giouringRing) take(dst []Completion) int {
	n := 0
	for n < len(dst) && r.ring.CQReady() > 0 {
		c, err := r.ring.PeekCQE()
		if err != nil || c == nil {
			break
		}
		dst[n] = Completion{User: c.UserData, Res: c.Res, Flags: c.Flags}
		r.ring.CQESeen(c)
		n++
	}
	r.inFlight -= n
	r.stats.Reaped += uint64(n)
	return n
}

// InFlight implements Ring.
func (r *giouringRing) InFlight() int { return r.inFlight }

// Probe implements Ring.
func (r *giouringRing) Probe() Probe { return r.probe }

// Stats implements Ring.
func (r *giouringRing) Stats() Stats { return r.stats }

// Close implements Ring.
func (r *giouringRing) Close() error {
	if r.inFlight != 0 {
		return ErrInFlight
	}
	r.ring.QueueExit()
	return nil
}
