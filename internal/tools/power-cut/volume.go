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

// volume is a file system on a loop device.
type volume struct {
	kind   string // ext4, xfs, or failing: ext4 on a device that loses its room
	image  string
	device string
	mount  string
	below  string // mount of the tmpfs under a failing one
}

// errMissing is returned when the machine cannot do this.
var errMissing = errors.New("skipped")

func do(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// able tells what is missing here.
func able(kind string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: not root", errMissing)
	}
	for _, tool := range []string{"losetup", "mount", "umount", "mkfs." + kind} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: no %s", errMissing, tool)
		}
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return fmt.Errorf("%w: no loop devices", errMissing)
	}
	return nil
}

// newVolume makes an image, its device and its mount.
func newVolume(dir, kind string) (*volume, error) {
	v := &volume{kind: kind, image: filepath.Join(dir, kind+".img"), mount: filepath.Join(dir, kind)}
	if err := os.MkdirAll(v.mount, 0o755); err != nil {
		return nil, err
	}
	mkfs := []string{"mkfs." + kind, "-q"}
	if kind == "failing" {
		v.below = filepath.Join(dir, "below")
		if err := os.MkdirAll(v.below, 0o755); err != nil {
			return nil, err
		}
		if err := do("mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", v.below); err != nil {
			return nil, err
		}
		v.image = filepath.Join(v.below, "failing.img")
		mkfs = []string{"mkfs.ext4", "-q", "-O", "^has_journal", "-E", "nodiscard,lazy_itable_init=1"}
	}
	f, err := os.Create(v.image)
	if err == nil {
		err = errors.Join(f.Truncate(512<<20), f.Close())
	}
	if err != nil {
		return v, err
	}
	out, err := exec.Command("losetup", "-f", "--show", v.image).Output()
	if err != nil {
		return v, fmt.Errorf("%w: losetup: %w", errMissing, err)
	}
	v.device = strings.TrimSpace(string(out))
	if kind == "failing" {
		// The loop driver takes a write that came up short for a whole one. Requests of one page cannot come up short.
		queue := filepath.Join("/sys/block", filepath.Base(v.device), "queue/max_sectors_kb")
		if err := os.WriteFile(queue, []byte("4"), 0o644); err != nil {
			return v, fmt.Errorf("%w: requests of %s cannot be kept to one page: %w", errMissing, v.device, err)
		}
	}
	if err := do(mkfs[0], append(mkfs[1:], v.device)...); err != nil {
		return v, err
	}
	return v, v.up()
}

// up mounts it. While somebody, such as a mount namespace that is on its way out, still holds the file system that was shut down, a mount
// finds that one again, and nothing works on it.
func (v *volume) up() error {
	var err error
	for range 100 {
		if err = do("mount", v.device, v.mount); err != nil {
			return err
		}
		probe := filepath.Join(v.mount, "probe")
		if err = os.WriteFile(probe, []byte("x"), 0o644); err == nil {
			return os.Remove(probe)
		}
		if e := v.down(); e != nil {
			return errors.Join(err, e)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// shutDown is FS_IOC_SHUTDOWN without flushing the journal: what was not synced is gone, and every call fails from here on.
func (v *volume) shutDown() error {
	fd, err := unix.Open(v.mount, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	const shutdown, noLogFlush = 0x8004587d, 2
	return errors.Join(unix.IoctlSetPointerInt(fd, shutdown, noLogFlush), unix.Close(fd))
}

// down takes the mount away. The kernel's own workers of a killed process may hold its files for a moment longer than the process lives.
func (v *volume) down() error {
	var err error
	for range 100 {
		if err = do("umount", v.mount); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// free gives everything back; what was never made is no error.
func (v *volume) free() {
	_ = do("umount", "-l", v.mount)
	if v.device != "" {
		if v.kind == "failing" { // devices are used again by others
			_ = os.WriteFile(filepath.Join("/sys/block", filepath.Base(v.device), "queue/max_sectors_kb"), []byte("1280"), 0o644)
		}
		_ = do("losetup", "-d", v.device)
	}
	if v.below != "" {
		_ = do("umount", "-l", v.below)
	}
}
