package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// mount is one line of /proc/self/mounts.
type mount struct {
	device, point, kind string
	options             []string
}

func (m *machine) mounts() []mount {
	text, _ := m.read("proc/self/mounts")
	var list []mount
	for _, line := range strings.Split(text, "\n") {
		if f := strings.Fields(line); len(f) >= 4 {
			list = append(list, mount{f[0], strings.ReplaceAll(f[1], `\040`, " "), f[2], strings.Split(f[3], ",")})
		}
	}
	return list
}

// mountOf is the mount that a path lies on: the longest mount point that is a prefix, the last one of equals.
func mountOf(list []mount, path string) (best mount, ok bool) {
	for _, at := range list {
		inside := at.point == "/" || path == at.point || strings.HasPrefix(path, at.point+"/")
		if inside && len(at.point) >= len(best.point) {
			best, ok = at, true
		}
	}
	return best, ok
}

func (m *machine) disks() (list []finding) {
	mounts := m.mounts()
	for _, dir := range m.dataDirs {
		path, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		list = append(list, m.space(path)...)
		at, ok := mountOf(mounts, path)
		if !ok {
			continue
		}
		list = append(list, judgeFileSystem(path, at), judgeAccessTimes(path, at))
		list = append(list, m.device(at)...)
	}
	return list
}

func judgeFileSystem(path string, at mount) finding {
	name := "file system of " + path
	switch at.kind {
	case "ext4", "xfs", "btrfs":
		return finding{Check: name, Value: at.kind}
	case "tmpfs", "ramfs":
		return finding{name, at.kind, warn, "what is written here is gone after a restart of the machine", "use a directory on a disk"}
	case "nfs", "nfs4", "cifs", "9p", "fuse", "fuseblk", "overlay":
		return finding{name, at.kind, warn, "syncs, locks and sendfile are slow or not safe on this file system", "use a directory on ext4 or xfs"}
	}
	return finding{name, at.kind, note, "not measured on this file system", ""}
}

func judgeAccessTimes(path string, at mount) finding {
	var mode string
	for _, o := range at.options {
		if o == "noatime" || o == "relatime" || o == "strictatime" {
			mode = o
		}
	}
	if mode == "" {
		mode = "strictatime"
	}
	reason, level := "reading a segment may write its inode once a day", note
	if mode == "strictatime" {
		reason, level = "each read of a segment writes its inode", warn
	}
	return judge("access times of "+path, mode, mode != "noatime", level, reason, "mount -o remount,noatime "+at.point+"   # and in /etc/fstab")
}

// device looks at the block device under a mount.
func (m *machine) device(at mount) (list []finding) {
	name := strings.TrimPrefix(at.device, "/dev/")
	if name == at.device {
		return nil
	}
	whole := strings.TrimRight(name, "0123456789")
	if m := regexp.MustCompile(`^(nvme\d+n\d+|mmcblk\d+)p\d+$`).FindStringSubmatch(name); m != nil {
		whole = m[1]
	}
	for _, dev := range [...]string{name, whole} {
		rotates, ok := m.number("sys/block/" + dev + "/queue/rotational")
		if !ok {
			continue
		}
		scheduler, _ := m.read("sys/block/" + dev + "/queue/scheduler")
		value := fmt.Sprintf("%s, scheduler %s", map[bool]string{true: "rotating", false: "not rotating"}[rotates == 1], chosenWord(scheduler))
		list = append(list, m.readAhead(dev)...)
		return append(list, judge("device "+dev, value, rotates == 1, note, "syncs take milliseconds on a rotating disk; flush.messages=1 will be slow", ""))
	}
	return nil
}

// readAhead judges how far the kernel reads ahead: a consumer that catches up reads long stretches.
func (m *machine) readAhead(dev string) []finding {
	kb, ok := m.number("sys/block/" + dev + "/queue/read_ahead_kb")
	if !ok {
		return nil
	}
	return []finding{judge("read-ahead of "+dev, fmt.Sprintf("%d KiB", kb), kb < 64, note, "consumers that catch up read long stretches, and each of them in small pieces",
		fmt.Sprintf("echo 128 > /sys/block/%s/queue/read_ahead_kb", dev))}
}

// spaceFinding judges free space.
func spaceFinding(path string, free, total int64) finding {
	value := fmt.Sprintf("%s of %s free", humanBytes(free), humanBytes(total))
	f := judge("space of "+path, value, free*10 < total, warn, "less than a tenth is free; appends are refused when the disk is full", "set log.retention.bytes, or add a directory to log.dirs")
	if free < 1<<30 {
		f.Severity, f.Reason = bad, "less than one segment's default size is free"
	}
	return f
}
