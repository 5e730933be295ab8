//go:build !linux

package main

import (
	"fmt"

	"github.com/pelton-broker/pelton/internal/tools/loopdisk"
)

func (s *setup) diskFaults(int) error {
	return fmt.Errorf("%w: FUSE is spoken on Linux only", loopdisk.ErrMissing)
}
