package disk

import (
	"github.com/pelton-broker/pelton/internal/uring"
	"golang.org/x/sys/unix"
)

func newWake() (int, error) { return uring.NewEventFD() }
func raiseWake(fd int)      { uring.RaiseEventFD(fd) }
func drainWake(fd int)      { uring.DrainEventFD(fd) }
func closeWake(fd int)      { _ = unix.Close(fd) }
