//go:build linux

package main

import (
	"fmt"
	"path/filepath"

	"github.com/pelton-broker/pelton/internal/tools/loopdisk"
)

// volume is the disk of one server, which a power cut can be done to.
type volume struct{ *loopdisk.Disk }

// newVolume makes the disk of server i. It must be freed, after an error too.
func newVolume(dir string, i int) (volume, error) {
	d, err := loopdisk.Attach(filepath.Join(dir, fmt.Sprint("disk", i)), filepath.Join(dir, fmt.Sprint("d", i)), 1<<30)
	if err == nil {
		if err = d.Format("mkfs.ext4", "-q"); err != nil {
			err = fmt.Errorf("%w: %w", loopdisk.ErrMissing, err)
		}
	}
	return volume{d}, err
}

// sync makes durable what was prepared.
func (v volume) sync() error { return loopdisk.Run("sync", "-f", v.Mount) }

// cut drops what was not made durable, journal and all, and mounts what is left. The server must have been killed.
func (v volume) cut() error {
	if err := v.ShutDown(); err != nil {
		return err
	}
	if err := v.Down(); err != nil {
		return err
	}
	return v.Up()
}
