//go:build !linux

package netpoll

import "net"

// Pair is for Linux alone.
func Pair() (fd int, far net.Conn, err error) { return -1, nil, ErrUnsupported }
