//go:build linux

package main

import (
	"fmt"
	"os"
	"reflect"

	"golang.org/x/sys/unix"
)

// pingpong returns every message of a fixed size as it came; with -append after as many bytes went to the end of a file.
type pingpong struct {
	o options
	n *counts
}

func (p *pingpong) serve(fd, id int) error {
	m, err := newMemory(max(p.o.frameBytes, p.o.append))
	if err != nil {
		return err
	}
	defer unix.Munmap(m.b)
	file, end := -1, int64(0)
	if p.o.append > 0 {
		path := fmt.Sprintf("%s/pingpong-%d-%d", p.o.dir, os.Getpid(), id)
		if file, err = unix.Open(path, unix.O_CREAT|unix.O_TRUNC|unix.O_RDWR|unix.O_CLOEXEC, 0o644); err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
		defer unix.Close(file)
		defer os.Remove(path)
	}
	for {
		have := 0
		for have < p.o.frameBytes {
			n, err := m.read(fd, have, p.o.frameBytes)
			if err != nil || n == 0 {
				return err
			}
			have += n
		}
		p.n.frames.Add(1) // before the answer: whoever has it may ask for the counts
		p.n.bytes.Add(int64(have))
		if file >= 0 {
			if err := m.pwriteAll(file, 0, p.o.append, end); err != nil {
				return err
			}
			end += int64(p.o.append)
		}
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
