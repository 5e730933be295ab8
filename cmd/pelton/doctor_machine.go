package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/cmd/pelton/broker"
)

// machine is what doctor looks at. root is empty for this machine; tests put a tree of files there.
type machine struct {
	root     string
	dataDirs []string
}

// read is a file's text without the newline at its end; ok is false when there is no such file here.
func (m *machine) read(path string) (text string, ok bool) {
	b, err := os.ReadFile(filepath.Join("/", m.root, path))
	return strings.TrimSpace(string(b)), err == nil
}

// number is the first number of a file.
func (m *machine) number(path string) (n int64, ok bool) {
	text, ok := m.read(path)
	if !ok {
		return 0, false
	}
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	return n, err == nil
}

// examine runs every check.
func (m *machine) examine() []finding {
	var list []finding
	for _, check := range [...]func() []finding{
		m.limits, m.ring, m.kernel, m.memory, m.dirtyPages, m.hugePages, m.clock, m.network, m.processor, m.topology, m.disks,
	} {
		list = append(list, check()...)
	}
	return list
}

// judge makes a finding that is fine unless wrong says otherwise.
func judge(check, value string, wrong bool, level severity, reason, command string) finding {
	if !wrong {
		return finding{Check: check, Value: value}
	}
	return finding{Check: check, Value: value, Severity: level, Reason: reason, Command: command}
}

// sysctl judges one number under /proc/sys; it is left out where the kernel does not have it.
func (m *machine) sysctl(name string, wrong func(n int64) bool, want, reason string) []finding {
	n, ok := m.number("proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if !ok {
		return nil
	}
	command := "sysctl -w " + name + "=" + want + "   # keep it in /etc/sysctl.d/90-pelton.conf"
	return []finding{judge(name, strconv.FormatInt(n, 10), wrong(n), warn, reason, command)}
}

func (m *machine) kernel() []finding {
	release, ok := m.read("proc/sys/kernel/osrelease")
	if !ok {
		return nil
	}
	major, minor := kernelVersion(release)
	older := func(a, b int) bool { return major < a || major == a && minor < b }
	switch {
	case older(5, 10):
		return []finding{{"kernel", release, warn, "io_uring is too young before 5.10; logs are written by helper threads", "install a kernel of 6.1 or later"}}
	case older(6, 1):
		return []finding{{"kernel", release, note, "rings run their completions on the shard's thread from 6.1 on", "install a kernel of 6.1 or later"}}
	case older(6, 5):
		return []finding{{"kernel", release, note, "cachestat(2), which tells cold data from hot cheaply, came with 6.5; a probe read is used instead", ""}}
	}
	return []finding{{Check: "kernel", Value: release}}
}

func kernelVersion(release string) (major, minor int) {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 2 {
		return 0, 0
	}
	major, _ = strconv.Atoi(parts[0])
	minor, _ = strconv.Atoi(strings.TrimRight(parts[1], "-+abcdefghijklmnopqrstuvwxyz"))
	return major, minor
}

func (m *machine) memory() (list []finding) {
	info := m.meminfo()
	total, available := info["MemTotal"], info["MemAvailable"]
	if total > 0 {
		value := humanBytes(available<<10) + " of " + humanBytes(total<<10) + " available"
		list = append(list, judge("memory", value, available*10 < total, warn,
			"less than a tenth is available, so the page cache that consumers read from is small", "move other programs that use the page cache away from this machine"))
		used := info["SwapTotal"] - info["SwapFree"]
		list = append(list, judge("swap", humanBytes(used<<10)+" used", used > total/100, warn, "a broker that is swapped out stalls for milliseconds", "swapoff -a"))
	}
	if pressure, ok := m.read("proc/pressure/memory"); ok {
		some := pressureOf(pressure)
		list = append(list, judge("memory pressure", strconv.FormatFloat(some, 'f', 2, 64)+" % of 10 s", some > 1, warn,
			"programs wait for memory to be freed", "give the machine more memory, or the broker less beside it"))
	}
	list = append(list, m.sysctl("vm.swappiness", func(n int64) bool { return n > 10 }, "1", "the kernel swaps out programs to keep file pages, although a log is written once and soon cold")...)
	if limit, ok := m.read("sys/fs/cgroup/memory.max"); ok && limit != "max" {
		n, _ := strconv.ParseInt(limit, 10, 64)
		list = append(list, judge("cgroup memory", humanBytes(n), n < 1<<30, warn, "page cache counts against the limit, so consumers read from disk", "raise memory.max"))
	}
	return list
}

// pressureOf is avg10 of the line "some".
func pressureOf(text string) float64 {
	for _, field := range strings.Fields(text) {
		if v, ok := strings.CutPrefix(field, "avg10="); ok {
			f, _ := strconv.ParseFloat(v, 64)
			return f
		}
	}
	return 0
}

// meminfo is /proc/meminfo in KiB.
func (m *machine) meminfo() map[string]int64 {
	text, _ := m.read("proc/meminfo")
	out := map[string]int64{}
	for _, line := range strings.Split(text, "\n") {
		name, rest, ok := strings.Cut(line, ":")
		if fields := strings.Fields(rest); ok && len(fields) > 0 {
			out[name], _ = strconv.ParseInt(fields[0], 10, 64)
		}
	}
	return out
}

func (m *machine) dirtyPages() (list []finding) {
	list = append(list, m.sysctl("vm.dirty_background_ratio", func(n int64) bool { return n >= 10 }, "5", "write-back starts late and then comes in bursts that appends wait behind")...)
	list = append(list, m.sysctl("vm.dirty_ratio", func(n int64) bool { return n < 20 && n != 0 }, "60", "writers are stopped early to wait for the disk")...)
	text, ok := m.read("proc/vmstat")
	if !ok {
		return list
	}
	dirty, _ := broker.PagesOf(text, "nr_dirty")
	writeback, _ := broker.PagesOf(text, "nr_writeback")
	return append(list, finding{Check: "dirty pages", Value: humanBytes(dirty) + " dirty, " + humanBytes(writeback) + " being written"})
}

func (m *machine) hugePages() []finding {
	text, ok := m.read("sys/kernel/mm/transparent_hugepage/enabled")
	if !ok {
		return nil
	}
	chosen := chosenWord(text)
	return []finding{judge("transparent huge pages", chosen, chosen == "always", note,
		"the kernel may stop a shard to make huge pages where nobody asked for them", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")}
}

// chosenWord is the word in [ ] of a kernel file that lists its choices.
func chosenWord(text string) string {
	if _, rest, ok := strings.Cut(text, "["); ok {
		word, _, _ := strings.Cut(rest, "]")
		return word
	}
	return text
}

func (m *machine) clock() []finding {
	source, ok := m.read("sys/devices/system/clocksource/clocksource0/current_clocksource")
	if !ok {
		return nil
	}
	slow := source != "tsc" && source != "kvm-clock" && source != "arch_sys_counter" && source != "hyperv_clocksource_tsc_page"
	return []finding{judge("clock source", source, slow, warn, "each look at the clock is a system call or slower",
		"echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource   # if available_clocksource lists it")}
}

func (m *machine) network() (list []finding) {
	below := func(least int64) func(int64) bool { return func(n int64) bool { return n < least } }
	list = append(list, m.sysctl("net.core.rmem_max", below(2097152), "2097152", "a receive buffer cannot grow enough for long fat links")...)
	list = append(list, m.sysctl("net.core.wmem_max", below(2097152), "2097152", "a send buffer cannot grow enough for long fat links")...)
	list = append(list, m.sysctl("net.core.somaxconn", below(1024), "4096", "connections that come in a burst are refused by the kernel")...)
	for _, name := range [...]string{"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"} {
		text, ok := m.read("proc/sys/" + strings.ReplaceAll(name, ".", "/"))
		fields := strings.Fields(text)
		if !ok || len(fields) != 3 {
			continue
		}
		most, _ := strconv.ParseInt(fields[2], 10, 64)
		list = append(list, judge(name, strings.Join(fields, " "), most < 2097152, warn, "TCP cannot open its window for long fat links",
			"sysctl -w "+name+`="4096 131072 2097152"`))
	}
	return list
}

func (m *machine) processor() (list []finding) {
	if governor, ok := m.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"); ok {
		list = append(list, judge("cpu governor", governor, governor == "powersave", note, "cores are slow when a request finds them idle", "cpupower frequency-set -g performance"))
	}
	if quota, ok := m.read("sys/fs/cgroup/cpu.max"); ok && !strings.HasPrefix(quota, "max") {
		list = append(list, finding{"cgroup cpu", quota, note, "the kernel stops the broker when its share of each period is used up; latency shows it", "raise cpu.max, and set num.shards to the share"})
	}
	return list
}
