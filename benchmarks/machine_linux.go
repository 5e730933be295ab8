package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// evict drops the cached pages of the segments below dir whose path names the partition.
func evict(dir, partition string) error {
	return filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".log") || !strings.Contains(path, partition) {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return err
		}
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
}

// machine is the part of the conditions that the machine decides.
func machine(dir string) map[string]any {
	m := map[string]any{}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m["kernel"] = unix.ByteSliceToString(u.Release[:])
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, l := range strings.Split(string(b), "\n") {
			if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
				m["cpu"] = strings.TrimSpace(v)
			}
		}
		m["cores"] = strings.Count("\n"+string(b), "\nprocessor")
	}
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) == nil {
		names := map[int64]string{0xEF53: "ext4", 0x58465342: "xfs", 0x01021994: "tmpfs", 0x9123683E: "btrfs", 0x794c7630: "overlayfs"}
		if m["filesystem"] = names[int64(fs.Type)]; m["filesystem"] == "" {
			m["filesystem"] = fmt.Sprintf("%#x", fs.Type)
		}
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m["loadavg"] = strings.Fields(string(b))[0]
	}
	return m
}
