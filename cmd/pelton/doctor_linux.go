package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/pelton-broker/pelton/internal/disk"
)

// limits looks at what this process may use; a broker started from here would get the same.
func (m *machine) limits() []finding {
	const memlock = 8 // RLIMIT_MEMLOCK, which package syscall does not name
	files, locked := limitOf(syscall.RLIMIT_NOFILE), limitOf(memlock)
	level := warn
	if files < 4096 {
		level = bad
	}
	return []finding{
		judge("open files", shownLimit(files), files < 65536, level, "each connection, each active log and each cached segment is a descriptor",
			"ulimit -n 1048576   # for a service: LimitNOFILE=1048576"),
		judge("locked memory", shownLimit(locked), locked < 64<<20, note, "kernels before 5.12 count the memory of rings against it, and a start that finds none left falls back to helper threads",
			"ulimit -l unlimited   # for a service: LimitMEMLOCK=infinity"),
	}
}

// openFiles is the number of descriptors that a process started from here may have.
func openFiles() uint64 { return limitOf(syscall.RLIMIT_NOFILE) }

func limitOf(which int) uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(which, &l); err != nil {
		return 0
	}
	return l.Cur
}

// ring asks the kernel for a ring as a broker would and tells what was granted.
func (m *machine) ring() []finding {
	if off, ok := m.number("proc/sys/kernel/io_uring_disabled"); ok && off != 0 {
		return []finding{{"io_uring", fmt.Sprintf("kernel.io_uring_disabled=%d", off), warn, "rings are switched off; logs are written by helper threads", "sysctl -w kernel.io_uring_disabled=0"}}
	}
	if m.root != "" {
		return nil // a tree of files has no kernel to ask
	}
	probe, err := probeRing()
	if err != nil {
		return []finding{{"io_uring", "not usable", bad, err.Error(), ""}}
	}
	f := finding{Check: "io_uring", Value: probe.Ring.String()}
	if len(probe.Reasons) > 0 {
		f.Severity, f.Reason = note, probe.Reasons[0]
		if !probe.Ring.Granted {
			f.Severity = warn
			f.Command = "in a container: allow io_uring_setup, io_uring_enter and io_uring_register in its seccomp profile"
		}
	}
	return []finding{f}
}

func probeRing() (disk.Probe, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d, probe, err := disk.Open(disk.Options{Backend: "uring"})
	if err != nil {
		return probe, err
	}
	d.Close()
	return probe, nil
}

// space looks at the file system of the nearest directory that exists.
func (m *machine) space(path string) []finding {
	for {
		if _, err := os.Stat(path); err == nil || path == "/" {
			break
		}
		path = filepath.Dir(path)
	}
	free, total, err := disk.OS().Free(path)
	if err != nil {
		return nil
	}
	return []finding{spaceFinding(path, free, total)}
}
