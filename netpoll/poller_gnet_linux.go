//go:build !poll_opt

package netpoll

import (
	"iter"
	"os"

	gerrors "github.com/panjf2000/gnet/v2/pkg/errors"
	gnetpoll "github.com/panjf2000/gnet/v2/pkg/netpoll"
	"github.com/panjf2000/gnet/v2/pkg/queue"
	"golang.org/x/sys/unix"
)

// gnetPoller is gnet's Poller turned inside out. Its Polling never returns and calls back; here it runs in a coroutine that
// stops twice a turn: at the batch's first event (Wait returns) and at the batch's end (Dispatch returns). gnet has no hook
// for the end, so the first event queues a low-priority task, which runs after the events of the batch that follows at once.
// The deadline is a timerfd in the same set. A coroutine switch stays on the thread, so the loop's lock on it holds.
type gnetPoller struct {
	on      func(fd int, ev Event)
	p       *gnetpoll.Poller
	timerFD int
	armed   bool // the timer may fire
	inBatch bool
	closing bool
	fail    error
	att     gnetpoll.PollAttachment
	next    func() (step, bool)
	stop    func()
	yield   func(step) bool
	end     queue.Func
	begin   queue.Func
	polls   uint64
	sleeps  uint64
}

// step is where the coroutine stopped.
type step bool

const (
	atStart step = false
	atEnd   step = true
)

func openGnet(on func(int, Event)) (Poller, error) {
	p, err := gnetpoll.OpenPoller()
	if err != nil {
		return nil, err
	}
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		p.Close()
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	g := &gnetPoller{on: on, p: p, timerFD: timer}
	g.end = func(any) error { return g.batchEnds() }
	g.begin = func(any) error { return g.batchStarts() }
	if err := p.AddRead(g.attach(timer), false); err != nil {
		unix.Close(timer)
		p.Close()
		return nil, err
	}
	return g, nil
}

func (g *gnetPoller) attach(fd int) *gnetpoll.PollAttachment {
	g.att.FD = fd
	return &g.att
}

// Add: gnet asks for the peer's close only together with edge triggering. A reader needs no such event, since the close is readable;
// one that is paused is registered edge-triggered, and its read and write edges are ignored.
func (g *gnetPoller) Add(fd int, want Event) error {
	// EPOLLPRI is always in gnet's read set, and an urgent byte would raise it without end unless it is part of the stream.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_OOBINLINE, 1)
	switch want &^ EventPeerClosed {
	case EventRead:
		return g.p.AddRead(g.attach(fd), false)
	case EventRead | EventWrite:
		return g.p.AddReadWrite(g.attach(fd), false)
	case EventWrite:
		return g.p.AddWrite(g.attach(fd), false)
	}
	return g.p.AddReadWrite(g.attach(fd), true)
}

func (g *gnetPoller) Mod(fd int, want Event) error {
	switch want &^ EventPeerClosed {
	case EventRead:
		return g.p.ModRead(g.attach(fd), false)
	case EventRead | EventWrite:
		return g.p.ModReadWrite(g.attach(fd), false)
	}
	return g.p.ModReadWrite(g.attach(fd), true)
}

func (g *gnetPoller) Del(fd int) error { return g.p.Delete(fd) }

func (g *gnetPoller) Wait(timeoutNs int64) error {
	if g.next == nil {
		// Made on the first wait, so that it belongs to the thread that the loop is locked to.
		g.next, g.stop = iter.Pull(g.run)
	}
	if timeoutNs == 0 {
		g.polls++
		// gnet's wait between batches has no end; a task of our own makes it return at once.
		if err := g.p.Trigger(queue.LowPriority, g.begin, nil); err != nil {
			return err
		}
		return g.resume(atStart)
	}
	g.sleeps++
	if timeoutNs > 0 || g.armed {
		if err := g.arm(max(timeoutNs, 0)); err != nil {
			return err
		}
	}
	return g.resume(atStart)
}

// arm sets the timer; 0 disarms it.
func (g *gnetPoller) arm(ns int64) error {
	g.armed = ns > 0
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(ns)}
	return os.NewSyscallError("timerfd_settime", unix.TimerfdSettime(g.timerFD, 0, &spec, nil))
}

// Ready: a batch is open, be it only our own task's.
func (g *gnetPoller) Ready() bool { return g.inBatch }

func (g *gnetPoller) Dispatch() error { return g.resume(atEnd) }

// resume runs the coroutine until it has passed the asked step.
func (g *gnetPoller) resume(until step) error {
	if g.fail != nil {
		return g.fail
	}
	if until == atEnd && !g.inBatch {
		return nil
	}
	if _, ok := g.next(); !ok {
		if g.fail == nil {
			g.fail = gerrors.ErrEngineShutdown
		}
		return g.fail
	}
	return nil
}

// run is the coroutine.
func (g *gnetPoller) run(yield func(step) bool) {
	g.yield = yield
	g.fail = g.p.Polling(g.event)
}

// event is gnet's callback. The first of a batch stops here until Dispatch.
func (g *gnetPoller) event(fd int, mask gnetpoll.IOEvent, _ gnetpoll.IOFlags) error {
	if err := g.batchStarts(); err != nil {
		return err
	}
	if fd == g.timerFD {
		var b [8]byte
		_, _ = unix.Read(fd, b[:])
		g.armed = false
		return nil
	}
	g.on(fd, eventOf(mask))
	return nil
}

func (g *gnetPoller) batchStarts() error {
	if g.inBatch {
		return nil
	}
	g.inBatch = true
	if err := g.p.Trigger(queue.LowPriority, g.end, nil); err != nil {
		return err
	}
	return g.stopAt(atStart)
}

// batchEnds is the low-priority task.
func (g *gnetPoller) batchEnds() error {
	g.inBatch = false
	return g.stopAt(atEnd)
}

func (g *gnetPoller) stopAt(s step) error {
	if g.closing || !g.yield(s) {
		return gerrors.ErrEngineShutdown
	}
	return nil
}

// NoNap has nothing to do: gnet's wait always goes through the scheduler.
func (g *gnetPoller) NoNap() {}

// Wake queues a task that opens a batch of its own when no event has.
func (g *gnetPoller) Wake() { _ = g.p.Trigger(queue.LowPriority, g.begin, nil) }

func (g *gnetPoller) Waits() (uint64, uint64) { return g.polls, g.sleeps }

func (g *gnetPoller) Close() error {
	g.closing = true
	if g.stop != nil {
		g.stop()
	}
	unix.Close(g.timerFD)
	return g.p.Close()
}
