package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// cpu is the processor time that a process has used, in seconds, all its threads and those that ended
// included: the kernel's own count in nanoseconds, behind the same figure as /proc/PID/stat.
func (p *process) cpu() (float64, error) {
	var ts unix.Timespec
	// A process' clock id, as clock_getcpuclockid(3) makes it.
	id := int32(^p.pid)<<3 | 2
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0, fmt.Errorf("processor time of %d: %w", p.pid, err)
	}
	return float64(ts.Nano()) / 1e9, nil
}

// warm writes and unlinks a file, so that the pages that the next round takes are backed by memory (bench.md rule 3).
func warm(dir string, bytes int64) error {
	path := filepath.Join(dir, "warm")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	defer f.Close()
	chunk := make([]byte, 1<<20)
	for ; bytes > 0; bytes -= int64(len(chunk)) {
		if _, err := f.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

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
