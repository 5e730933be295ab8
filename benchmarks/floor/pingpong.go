//go:build linux

package main

import (
	"fmt"
	"reflect"

	"golang.org/x/sys/unix"
)

// pingpong returns every message of a fixed size as it came.
type pingpong struct {
	o options
	n *counts
}

func (p *pingpong) serve(fd, _ int) error {
	m, err := newMemory(p.o.frameBytes)
	if err != nil {
		return err
	}
	defer unix.Munmap(m.b)
	for {
		have := 0
		for have < len(m.b) {
			n, err := m.read(fd, have, len(m.b))
			if err != nil || n == 0 {
				return err
			}
			have += n
		}
		p.n.frames.Add(1) // before the answer: whoever has it may ask for the counts
		p.n.bytes.Add(int64(have))
		if err := m.writeAll(fd, 0, have); err != nil {
			return err
		}
	}
}

// pingpongEpoll does the same for all connections on one thread: what a loop costs beside a thread.
// A message is echoed in the pieces in which it comes.
func pingpongEpoll(listener int, o options, n *counts) error {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	m, err := newMemory(max(o.frameBytes, 64<<10))
	if err != nil {
		return err
	}
	add := func(fd int) error {
		return unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
	}
	if err := add(listener); err != nil {
		return err
	}
	events := make([]unix.EpollEvent, 128)
	addr := reflect.ValueOf(events).Pointer()
	const forever = ^uintptr(0)
	for {
		ready, err := call(unix.SYS_EPOLL_PWAIT, uintptr(ep), addr, uintptr(len(events)), forever)
		if err != nil {
			return fmt.Errorf("epoll_wait: %w", err)
		}
		for _, ev := range events[:ready] {
			fd := int(ev.Fd)
			if fd == listener {
				conn, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
				if err == nil {
					err = add(conn)
				}
				if err != nil {
					return err
				}
				continue
			}
			got, err := m.read(fd, 0, len(m.b))
			if err == nil && got > 0 {
				n.frames.Add(1)
				n.bytes.Add(int64(got))
				err = m.writeAll(fd, 0, got)
			}
			if err != nil || got == 0 {
				report(unix.Close(fd))
			}
		}
	}
}
