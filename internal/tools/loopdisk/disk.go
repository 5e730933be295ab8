package loopdisk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrMissing is returned when this machine cannot do it.
var ErrMissing = errors.New("skipped")

// Disk is a file system on a loop device.
type Disk struct {
	Device string // empty when there is none
	Mount  string
}

// Attach makes an image of size bytes and its device. The disk must be freed, after an error too.
func Attach(image, mount string, size int64) (*Disk, error) {
	d := &Disk{Mount: mount}
	if err := os.MkdirAll(mount, 0o755); err != nil {
		return d, err
	}
	f, err := os.Create(image)
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil {
		return d, err
	}
	out, err := exec.Command("losetup", "-f", "--show", image).Output()
	if err != nil {
		return d, fmt.Errorf("%w: losetup: %w", ErrMissing, err)
	}
	d.Device = strings.TrimSpace(string(out))
	return d, nil
}

// Format makes the file system, by the program and the arguments given, and mounts it.
func (d *Disk) Format(mkfs ...string) error {
	if err := Run(append(mkfs, d.Device)...); err != nil {
		return err
	}
	return d.Up()
}

// Up mounts it. While somebody, such as a mount namespace on its way out, still holds the file system that was shut down, a mount finds that
// one again, and nothing works on it.
func (d *Disk) Up() error {
	var err error
	for range 200 {
		if err = Run("mount", d.Device, d.Mount); err != nil {
			return err
		}
		probe := filepath.Join(d.Mount, "probe")
		if err = os.WriteFile(probe, []byte("x"), 0o644); err == nil {
			return os.Remove(probe)
		}
		if e := d.Down(); e != nil {
			return errors.Join(err, e)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// Down takes the mount away. The kernel's own workers of a killed process may hold its files for a moment longer than the process lives.
func (d *Disk) Down() error {
	var err error
	for range 200 {
		if err = Run("umount", d.Mount); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// ShutDown is FS_IOC_SHUTDOWN without flushing the journal: what was not synced is gone, and every call fails from here on.
func (d *Disk) ShutDown() error {
	fd, err := unix.Open(d.Mount, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	const shutdown, noLogFlush = 0x8004587d, 2
	if err := errors.Join(unix.IoctlSetPointerInt(fd, shutdown, noLogFlush), unix.Close(fd)); err != nil {
		return fmt.Errorf("shutting %s down: %w", d.Mount, err)
	}
	return nil
}

// Free gives everything back; what was never made is no error.
func (d *Disk) Free() {
	_ = Run("umount", "-l", d.Mount)
	if d.Device != "" {
		_ = Run("losetup", "-d", d.Device)
	}
}

// Run runs a program; its error has what the program printed.
func Run(words ...string) error {
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
