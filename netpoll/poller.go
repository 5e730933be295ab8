package netpoll

import "fmt"

// Event is what a descriptor is ready for, or what is asked about it.
type Event uint8

const (
	// EventRead: bytes wait, or the peer's end of them.
	EventRead Event = 1 << iota
	// EventWrite: the send buffer has room.
	EventWrite
	// EventPeerClosed: the peer closed its sending half; asked for also while reading is paused.
	EventPeerClosed
	// EventError: the connection is broken or closed both ways; reported without being asked for.
	EventError
)

// Poller waits for descriptors. Every method but Wake belongs to the loop's thread.
//
// A turn is Wait, then Dispatch: between them the loop refreshes its clock, so that up-calls see the time after the sleep.
// A poller may report more than was asked for; the receiver of an event ignores what it has no use for.
type Poller interface {
	Add(fd int, want Event) error
	Mod(fd int, want Event) error
	Del(fd int) error
	// Wait returns when events wait, after a Wake, or when timeoutNs have passed; 0 does not sleep, less than 0 sleeps without end.
	// It may return early with nothing.
	Wait(timeoutNs int64) error
	// Ready is true when the last Wait has found events.
	Ready() bool
	// Dispatch hands the events of the last Wait to the function the poller was opened with.
	Dispatch() error
	// NoNap makes the next Wait sleep in a way that the scheduler knows of from its beginning.
	NoNap()
	// Wake ends the present or the next Wait; from any thread.
	Wake()
	Close() error
	// Waits counts the system calls that asked for events: those that could not sleep and those that could.
	Waits() (polls, sleeps uint64)
}

// The names of the pollers, for Options.Poller.
const (
	PollerEpoll = "epoll"
	PollerGnet  = "gnet"
)

// OpenPoller opens the named poller; "" is the default. napNs is Options.NapNs. on gets the events.
func OpenPoller(name string, napNs int64, on func(fd int, ev Event)) (Poller, error) {
	switch name {
	case "", PollerEpoll:
		return openEpoll(napNs, on)
	case PollerGnet:
		return openGnet(on)
	}
	return nil, fmt.Errorf("%w: %q (epoll or gnet)", ErrUnknownPoller, name)
}
