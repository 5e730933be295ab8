package main

import (
	"fmt"
	"math"
	"os"
	"os/user"
	"runtime"
	"runtime/debug"
	"strings"
)

// zkEnvironment is what the word envi tells, under Java's names where there is something to tell.
func zkEnvironment() [][2]string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	name, home := "", ""
	if u, err := user.Current(); err == nil {
		name, home = u.Username, u.HomeDir
	}
	release := ""
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		release = strings.TrimSpace(string(b))
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	mb := func(n uint64) string { return fmt.Sprintf("%dMB", n>>20) }
	most := m.Sys
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		most = uint64(limit)
	}
	return [][2]string{{"host.name", host}, {"java.version", "none"}, {"java.vendor", "pelton"}, {"java.io.tmpdir", os.TempDir()},
		{"os.name", runtime.GOOS}, {"os.arch", runtime.GOARCH}, {"os.version", release}, {"user.name", name}, {"user.home", home}, {"user.dir", dir},
		{"os.memory.free", mb(m.HeapIdle)}, {"os.memory.max", mb(most)}, {"os.memory.total", mb(m.Sys)}}
}
