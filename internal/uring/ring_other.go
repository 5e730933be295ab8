//go:build !linux

package uring

import "fmt"

// Open always fails here: io_uring is Linux's.
func Open(Options) (Ring, Probe, error) {
	return nil, Probe{}, fmt.Errorf("%w: not Linux", ErrUnavailable)
}
