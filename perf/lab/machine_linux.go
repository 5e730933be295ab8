package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// CPU is the processor time that a process has used, in seconds, all its threads and those that ended
// included: the kernel's own count in nanoseconds, behind the same figure as /proc/PID/stat.
func (p *Process) CPU() (float64, error) {
	var ts unix.Timespec
	// A process' clock id, as clock_getcpuclockid(3) makes it.
	id := int32(^p.PID)<<3 | 2
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0, fmt.Errorf("processor time of %d: %w", p.PID, err)
	}
	return float64(ts.Nano()) / 1e9, nil
}

// Warm writes and unlinks a file, so that the pages that the next round takes are backed by memory (bench.md rule 3).
func Warm(dir string, bytes int64) error {
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

// Evict drops the cached pages of the log files below dir whose path has a part called so.
func Evict(dir, named string) error {
	return filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".log") || !strings.Contains(path, named) {
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

// diesWithUs has the kernel kill a program when the thread that started it ends.
func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
