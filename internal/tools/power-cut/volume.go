package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pelton-broker/pelton/internal/tools/loopdisk"
)

// volume is the disk under a broker.
type volume struct {
	*loopdisk.Disk
	kind  string // ext4, xfs, or failing: ext4 on a device that loses its room
	below string // mount of the tmpfs under a failing one
}

// able tells what is missing here.
func able(kind string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: not root", loopdisk.ErrMissing)
	}
	for _, tool := range []string{"losetup", "mount", "umount", "mkfs." + kind} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: no %s", loopdisk.ErrMissing, tool)
		}
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return fmt.Errorf("%w: no loop devices", loopdisk.ErrMissing)
	}
	return nil
}

// newVolume makes an image, its device and its mount. It must be freed, after an error too.
func newVolume(dir, kind string) (*volume, error) {
	v := &volume{Disk: &loopdisk.Disk{}, kind: kind}
	image, mkfs := filepath.Join(dir, kind+".img"), []string{"mkfs." + kind, "-q"}
	if kind == "failing" {
		v.below = filepath.Join(dir, "below")
		if err := os.MkdirAll(v.below, 0o755); err != nil {
			return v, err
		}
		if err := loopdisk.Run("mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", v.below); err != nil {
			return v, err
		}
		image = filepath.Join(v.below, "failing.img")
		mkfs = []string{"mkfs.ext4", "-q", "-O", "^has_journal", "-E", "nodiscard,lazy_itable_init=1"}
	}
	var err error
	if v.Disk, err = loopdisk.Attach(image, filepath.Join(dir, kind), 512<<20); err != nil {
		return v, err
	}
	if kind == "failing" {
		// The loop driver takes a write that came up short for a whole one. Requests of one page cannot come up short.
		if err := os.WriteFile(v.queue(), []byte("4"), 0o644); err != nil {
			return v, fmt.Errorf("%w: requests of %s cannot be kept to one page: %w", loopdisk.ErrMissing, v.Device, err)
		}
	}
	return v, v.Format(mkfs...)
}

// queue is where the size of the device's requests is set.
func (v *volume) queue() string {
	return filepath.Join("/sys/block", filepath.Base(v.Device), "queue/max_sectors_kb")
}

// free gives everything back; what was never made is no error.
func (v *volume) free() {
	if v.kind == "failing" && v.Device != "" { // devices are used again by others
		_ = os.WriteFile(v.queue(), []byte("1280"), 0o644)
	}
	v.Free()
	if v.below != "" {
		_ = loopdisk.Run("umount", "-l", v.below)
	}
}
