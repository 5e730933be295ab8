//go:build !linux

package main

import "fmt"

func (s *setup) diskFaults(int) error {
	return fmt.Errorf("%w: FUSE is spoken on Linux only", errMissing)
}
