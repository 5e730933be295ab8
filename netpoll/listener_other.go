//go:build !linux

package netpoll

import "net/netip"

// Listener is not there outside Linux.
type Listener struct{}

// Listen returns ErrUnsupported.
func Listen(string, ListenOptions) (*Listener, error) { return nil, ErrUnsupported }

// Addr is the zero address.
func (*Listener) Addr() netip.AddrPort { return netip.AddrPort{} }

// Accept returns ErrUnsupported.
func (*Listener) Accept() (int, netip.AddrPort, error) { return -1, netip.AddrPort{}, ErrUnsupported }

// FD is no descriptor.
func (*Listener) FD() int { return -1 }

// AcceptReady returns ErrUnsupported.
func (*Listener) AcceptReady(int, func(int, netip.AddrPort)) error { return ErrUnsupported }

// Close does nothing.
func (*Listener) Close() {}

// Release does nothing.
func (*Listener) Release() {}

func dialTCP(string, SocketOptions) (int, error) { return -1, ErrUnsupported }
