package load

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is the part of a run's conditions that the machine decides: kernel, processor, cores, the file system of a directory, load.
func Machine(dir string) map[string]any {
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

// MachineWords says the same in a line.
func MachineWords(dir string) string {
	m := Machine(dir)
	return fmt.Sprintf("%v cores of %v, kernel %v, %v, load %v at the start", m["cores"], m["cpu"], m["kernel"], m["filesystem"], m["loadavg"])
}
