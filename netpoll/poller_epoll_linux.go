package netpoll

import (
	"os"

	"golang.org/x/sys/unix"
)

// epollPoller is epoll and an eventfd, with the deadline in the wait.
type epollPoller struct {
	on     func(fd int, ev Event)
	fd     int
	wakeFD int
	events []unix.EpollEvent
	ready  int // events of the last Wait
	noNs   bool
	polls  uint64
	sleeps uint64
	napNs  int64
	noNap  bool // for the next sleep
}

// defaultNap covers the pause between events of a shard that is in use at all; an idle one naps once and then sleeps.
const (
	defaultNap = 2_000_000
	maxNap     = 100_000_000
)

// epollBatch bounds the events of one turn; what does not fit comes with the next.
const epollBatch = 512

func openEpoll(napNs int64, on func(int, Event)) (Poller, error) {
	if napNs == 0 {
		napNs = defaultNap
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("eventfd2", err)
	}
	p := &epollPoller{on: on, napNs: min(napNs, maxNap), fd: fd, wakeFD: wake, events: make([]unix.EpollEvent, epollBatch)}
	// Edge-triggered: each write is a new edge, so the counter is never read and a wake costs the loop no system call.
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(wake)}
	if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, wake, &ev); err != nil {
		p.Close()
		return nil, os.NewSyscallError("epoll_ctl add", err)
	}
	return p, nil
}

func epollMask(want Event) uint32 {
	var m uint32
	if want&EventRead != 0 {
		m |= unix.EPOLLIN
	}
	if want&EventWrite != 0 {
		m |= unix.EPOLLOUT
	}
	if want&EventPeerClosed != 0 {
		m |= unix.EPOLLRDHUP
	}
	return m
}

func eventOf(m uint32) Event {
	var ev Event
	if m&unix.EPOLLIN != 0 {
		ev |= EventRead
	}
	if m&unix.EPOLLOUT != 0 {
		ev |= EventWrite
	}
	if m&unix.EPOLLRDHUP != 0 {
		ev |= EventPeerClosed
	}
	if m&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
		ev |= EventError
	}
	return ev
}

func (p *epollPoller) Add(fd int, want Event) error {
	ev := unix.EpollEvent{Events: epollMask(want), Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl add", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &ev))
}

func (p *epollPoller) Mod(fd int, want Event) error {
	ev := unix.EpollEvent{Events: epollMask(want), Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl mod", unix.EpollCtl(p.fd, unix.EPOLL_CTL_MOD, fd, &ev))
}

func (p *epollPoller) Del(fd int) error {
	return os.NewSyscallError("epoll_ctl del", unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, fd, nil))
}

// Wait first asks without sleeping, then naps, both by raw system calls; only the sleep that lasts tells Go's scheduler.
//
// A sleep that the scheduler knows of makes its monitor thread take the processor away, hand it to another thread and wake up every 20 µs
// for a while: at a thousand events a second that costs as much CPU as the events and a fifth of their latency. During a nap the thread
// counts as running. What needs it stopped, the collector above all, sends it the runtime's preemption signal, which ends the wait with EINTR.
func (p *epollPoller) Wait(timeoutNs int64) error {
	p.polls++
	n, errno := epollPoll(p.fd, p.events)
	if errno == 0 && n == 0 && timeoutNs != 0 {
		p.sleeps++
		n, errno = p.sleep(timeoutNs)
	}
	if errno != 0 {
		p.ready = 0
		if errno == unix.EINTR {
			return nil
		}
		return os.NewSyscallError("epoll_wait", errno)
	}
	p.ready = n
	return nil
}

func (p *epollPoller) sleep(timeoutNs int64) (int, unix.Errno) {
	noNap := p.noNap
	p.noNap = false
	if !p.noNs && !noNap && p.napNs > 0 {
		nap := p.napNs
		if timeoutNs > 0 {
			nap = min(nap, timeoutNs)
		}
		n, errno := epollNap(p.fd, p.events, nap)
		switch {
		case errno == unix.ENOSYS || errno == unix.EPERM:
			p.noNs = true // a kernel before 5.11, or a filter that does not know the call
		case n > 0 || errno != 0 || nap == timeoutNs:
			return n, errno
		case timeoutNs > 0:
			timeoutNs -= nap
		}
		p.sleeps++
	}
	if !p.noNs {
		n, errno := epollSleepNs(p.fd, p.events, timeoutNs)
		if errno != unix.ENOSYS && errno != unix.EPERM {
			return n, errno
		}
		p.noNs = true
	}
	ms := -1
	if timeoutNs >= 0 {
		// Rounded up: a wait that ends before its timer is due would spin until it is.
		ms = int(min((timeoutNs+999_999)/1_000_000, 1<<30))
	}
	return epollSleepMs(p.fd, p.events, ms)
}

func (p *epollPoller) Ready() bool { return p.ready > 0 }

func (p *epollPoller) Dispatch() error {
	for i := range p.events[:p.ready] {
		ev := &p.events[i]
		if fd := int(ev.Fd); fd != p.wakeFD {
			p.on(fd, eventOf(ev.Events))
		}
	}
	p.ready = 0
	return nil
}

func (p *epollPoller) NoNap() { p.noNap = true }

func (p *epollPoller) Wake() { wakeEventFD(p.wakeFD) }

func (p *epollPoller) Waits() (uint64, uint64) { return p.polls, p.sleeps }

func (p *epollPoller) Close() error {
	unix.Close(p.wakeFD)
	return os.NewSyscallError("close", unix.Close(p.fd))
}
