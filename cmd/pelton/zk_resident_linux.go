package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// leaveStart takes the program's own pages out of the process that only its start has touched: reading configuration, setting tables up. They
// stay in the page cache, and what the running server needs comes back at its first use, without the disk. It returns the bytes given up.
func leaveStart() int64 {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 0
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return 0
	}
	var left int64
	for _, m := range programPages(string(text), self) {
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.at, m.size, syscall.MADV_DONTNEED); errno == 0 {
			left += m.resident
		}
	}
	return left
}

// mapping is a part of the address space.
type mapping struct {
	at, size uintptr
	resident int64
}

// programPages finds in the text of smaps the mappings of the program's file that can be had from it again: never written to, neither by the
// program nor by whoever relocated it.
func programPages(smaps, self string) (out []mapping) {
	var m mapping
	ours, clean := false, false
	keep := func() {
		if ours && clean && m.resident > 0 {
			out = append(out, m)
		}
	}
	for line := range strings.Lines(smaps) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if from, to, ok := strings.Cut(f[0], "-"); ok && len(f) >= 5 {
			keep()
			lo, err1 := strconv.ParseUint(from, 16, 64)
			hi, err2 := strconv.ParseUint(to, 16, 64)
			m = mapping{at: uintptr(lo), size: uintptr(hi - lo)}
			ours = err1 == nil && err2 == nil && hi > lo && len(f) == 6 && f[5] == self && (f[1] == "r-xp" || f[1] == "r--p")
			clean = true
			continue
		}
		if len(f) < 2 {
			continue
		}
		kb, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "Rss:":
			m.resident = kb << 10
		case "Anonymous:", "Swap:": // a page that was written to is no longer the file's
			clean = clean && kb == 0
		}
	}
	keep()
	return out
}
