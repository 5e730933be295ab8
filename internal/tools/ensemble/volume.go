//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// volume is the disk of one server: ext4 on a loop device, which can lose everything that was not made durable, as a power cut does.
type volume struct {
	image, device, mount string
}

// errNoVolume is returned where this machine gives no loop devices.
var errNoVolume = errors.New("no loop devices")

func newVolume(dir string, i int) (*volume, error) {
	v := &volume{image: filepath.Join(dir, fmt.Sprint("disk", i)), mount: filepath.Join(dir, fmt.Sprint("d", i))}
	if err := os.MkdirAll(v.mount, 0o755); err != nil {
		return v, err
	}
	f, err := os.Create(v.image)
	if err == nil {
		err = errors.Join(f.Truncate(1<<30), f.Close())
	}
	if err != nil {
		return v, err
	}
	out, err := exec.Command("losetup", "-f", "--show", v.image).Output()
	if err != nil {
		return v, fmt.Errorf("%w: losetup: %w", errNoVolume, err)
	}
	v.device = strings.TrimSpace(string(out))
	if err := run("mkfs.ext4", "-q", v.device); err != nil {
		return v, fmt.Errorf("%w: %w", errNoVolume, err)
	}
	if err := v.up(); err != nil {
		return v, fmt.Errorf("%w: %w", errNoVolume, err)
	}
	return v, nil
}

// up mounts it. While somebody, such as a mount namespace on its way out, still holds the file system that was cut off, a mount finds that one
// again, and nothing works on it.
func (v *volume) up() error {
	var err error
	for range 200 {
		if err = run("mount", v.device, v.mount); err != nil {
			return err
		}
		probe := filepath.Join(v.mount, "probe")
		if err = os.WriteFile(probe, []byte("x"), 0o644); err == nil {
			return os.Remove(probe)
		}
		if e := v.down(); e != nil {
			return errors.Join(err, e)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func (v *volume) down() error {
	var err error
	for range 200 {
		if err = run("umount", v.mount); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// sync makes durable what was prepared.
func (v *volume) sync() error { return run("sync", "-f", v.mount) }

// cut drops what was not made durable, journal and all, and mounts what is left. The server must have been killed.
func (v *volume) cut() error {
	fd, err := unix.Open(v.mount, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	const shutdown, noLogFlush = 0x8004587d, 2
	if err := errors.Join(unix.IoctlSetPointerInt(fd, shutdown, noLogFlush), unix.Close(fd)); err != nil {
		return fmt.Errorf("shutting %s down: %w", v.mount, err)
	}
	if err := v.down(); err != nil {
		return err
	}
	return v.up()
}

// free gives the device back; what was never made is no error.
func (v *volume) free() {
	_ = run("umount", "-l", v.mount)
	if v.device != "" {
		_ = run("losetup", "-d", v.device)
	}
}
