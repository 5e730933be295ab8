package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mountOption reads how a mount point keeps access times.
func mountOption(point string) (string, error) {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	found := ""
	for _, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if len(f) < 4 || f[1] != point {
			continue
		}
		found = "strictatime" // what is mounted last lies on top
		for _, o := range strings.Split(f[3], ",") {
			if o == "noatime" || o == "relatime" {
				found = o
			}
		}
	}
	if found == "" {
		return "", fmt.Errorf("%s is no mount point: %w", point, os.ErrNotExist)
	}
	return found, nil
}

// remount changes how a mount point keeps access times, and nothing else about it.
func remount(point, value string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(point, &s); err != nil {
		return err
	}
	flags := uintptr(unix.MS_REMOUNT | unix.MS_BIND)
	for _, f := range [...]struct{ st, ms uintptr }{{unix.ST_RDONLY, unix.MS_RDONLY}, {unix.ST_NOSUID, unix.MS_NOSUID}, {unix.ST_NODEV, unix.MS_NODEV}, {unix.ST_NOEXEC, unix.MS_NOEXEC}, {unix.ST_NODIRATIME, unix.MS_NODIRATIME}} {
		if uintptr(s.Flags)&f.st != 0 {
			flags |= f.ms
		}
	}
	switch value {
	case "noatime":
		flags |= unix.MS_NOATIME
	case "relatime":
		flags |= unix.MS_RELATIME
	case "strictatime":
		flags |= unix.MS_STRICTATIME
	default:
		return fmt.Errorf("%q: noatime, relatime or strictatime", value)
	}
	return unix.Mount("", point, "", flags, "")
}

// PlaceOf finds the block device and the mount point under a directory; what cannot be found stays empty.
func PlaceOf(dir string) (at Place) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return at
	}
	var here unix.Stat_t
	if err := unix.Stat(dir, &here); err != nil {
		return at
	}
	for at.Mount = dir; at.Mount != "/"; {
		var above unix.Stat_t
		parent := filepath.Dir(at.Mount)
		if unix.Stat(parent, &above) != nil || above.Dev != here.Dev {
			break
		}
		at.Mount = parent
	}
	number := strconv.Itoa(int(unix.Major(uint64(here.Dev)))) + ":" + strconv.Itoa(int(unix.Minor(uint64(here.Dev))))
	path, err := filepath.EvalSymlinks("/sys/dev/block/" + number)
	if err != nil {
		return at
	}
	if _, err := os.Stat(filepath.Join(path, "partition")); err == nil {
		path = filepath.Dir(path) // the queue is the whole device's
	}
	at.Device = filepath.Base(path)
	return at
}
