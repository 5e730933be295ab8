package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Setting is a knob that an experiment names without a path: where it is depends on the machine.
type Setting struct {
	Key   string // of the broker's configuration; or
	Paths string // pattern of files; or
	Some  bool   // of those files: as many as can be turned will do
	Help  string
}

// Settings are the names that a knob of kind setting may have. DEVICE stands for the block device under the brokers' data, MOUNT for its
// mount point.
func Settings() map[string]Setting {
	return map[string]Setting{
		"shards":                 {Key: "num.shards", Help: "shards of the broker"},
		"pinning":                {Key: "pelton.pin", Help: "each shard on its core"},
		"disk-backend":           {Key: "pelton.disk.backend", Help: "auto, uring, portable"},
		"sqpoll":                 {Key: "pelton.uring.sqpoll", Help: "a kernel thread polls the ring"},
		"ring-entries":           {Key: "pelton.uring.entries", Help: "entries of a ring"},
		"disk-workers":           {Key: "pelton.disk.workers", Help: "threads of the portable backend"},
		"durability":             {Key: "log.flush.interval.messages", Help: "1: fdatasync before each answer"},
		"rcvlowat":               {Key: "pelton.net.rcvlowat.bytes", Help: "SO_RCVLOWAT for the rest of large frames"},
		"busy-poll":              {Key: "pelton.net.busy.poll.us", Help: "SO_BUSY_POLL"},
		"congestion":             {Key: "pelton.net.congestion", Help: "TCP congestion control"},
		"send-buffer":            {Key: "socket.send.buffer.bytes", Help: "SO_SNDBUF"},
		"receive-buffer":         {Key: "socket.receive.buffer.bytes", Help: "SO_RCVBUF"},
		"swappiness":             {Paths: "/proc/sys/vm/swappiness", Help: "how readily the kernel swaps programs out to keep file pages, 0 to 200"},
		"dirty-background-ratio": {Paths: "/proc/sys/vm/dirty_background_ratio", Help: "percent of memory that may be dirty before the kernel starts to write back"},
		"dirty-ratio":            {Paths: "/proc/sys/vm/dirty_ratio", Help: "percent of memory that may be dirty before writers are stopped"},
		"dirty-expire":           {Paths: "/proc/sys/vm/dirty_expire_centisecs", Help: "age at which a dirty page is written back, in hundredths of a second"},
		"dirty-writeback":        {Paths: "/proc/sys/vm/dirty_writeback_centisecs", Help: "how often the kernel looks for old dirty pages, in hundredths of a second"},
		"rmem-default":           {Paths: "/proc/sys/net/core/rmem_default", Help: "receive buffer of a socket, where TCP's own does not say"},
		"rmem-max":               {Paths: "/proc/sys/net/core/rmem_max", Help: "largest SO_RCVBUF"},
		"wmem-default":           {Paths: "/proc/sys/net/core/wmem_default", Help: "send buffer of a socket, where TCP's own does not say"},
		"wmem-max":               {Paths: "/proc/sys/net/core/wmem_max", Help: "largest SO_SNDBUF"},
		"tcp-rmem":               {Paths: "/proc/sys/net/ipv4/tcp_rmem", Help: "least, first and most of TCP's receive buffer, as one text"},
		"tcp-wmem":               {Paths: "/proc/sys/net/ipv4/tcp_wmem", Help: "least, first and most of TCP's send buffer, as one text"},
		"thp":                    {Paths: "/sys/kernel/mm/transparent_hugepage/enabled", Help: "always, madvise, never"},
		"thp-defrag":             {Paths: "/sys/kernel/mm/transparent_hugepage/defrag", Help: "always, defer, madvise, never"},
		"governor":               {Paths: "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor", Help: "performance, powersave, schedutil"},
		"irq-mask":               {Paths: "/proc/irq/[0-9]*/smp_affinity", Some: true, Help: "cores that take interrupts, as a hexadecimal mask"},
		"rps-mask":               {Paths: "/sys/class/net/*/queues/rx-*/rps_cpus", Some: true, Help: "cores that take received packets, as a hexadecimal mask"},
		"readahead":              {Paths: "/sys/block/DEVICE/queue/read_ahead_kb", Help: "KiB that the kernel reads ahead"},
		"scheduler":              {Paths: "/sys/block/DEVICE/queue/scheduler", Help: "none, mq-deadline, bfq, kyber"},
		"noatime":                {Paths: "mount:MOUNT", Help: "noatime, relatime, strictatime"},
		"defer-taskrun":          {Key: "pelton.uring.defer.taskrun", Help: "the kernel leaves completions until the shard asks for them: true, false"},
		"fixed-buffers":          {Key: "pelton.uring.fixed.buffers", Help: "buffers of requests are registered with the ring: true, false"},
		"io-wq":                  {Key: "pelton.uring.iowq.bounded.max", Help: "kernel workers of a ring for file operations"},
		"io-wq-unbounded":        {Key: "pelton.uring.iowq.unbounded.max", Help: "kernel workers of a ring for everything else"},
		"io-wq-affinity":         {Key: "pelton.uring.iowq.affinity", Help: "cores of a ring's kernel workers: a list, or shard"},
		"send-path":              {Key: "pelton.send.path", Help: "how records leave: sendfile, copy, zerocopy"},
		"nodelay":                {Key: "pelton.socket.nodelay", Help: "TCP_NODELAY: true, false"},
		"cork":                   {Key: "pelton.socket.cork", Help: "TCP_CORK: auto, always, never"},
		"quickack":               {Key: "pelton.socket.quickack", Help: "TCP_QUICKACK: kernel, on, off"},
		"broker-readahead":       {Key: "pelton.read.ahead.bytes", Help: "bytes that the broker loads behind a fetch from the disk; readahead turns the kernel's"},
	}
}

// settingNames is for messages.
func settingNames() string { return strings.Join(slices.Sorted(maps.Keys(Settings())), ", ") }

// Place is where an experiment's brokers keep their data, for the settings that depend on it.
type Place struct{ Device, Mount string }

// files are the settings behind a knob on this machine; none for the kinds that are not the machine's. A knob that has none here is refused.
func (k Knob) files(host Host, at Place) ([]string, error) {
	if k.Kind != KnobSetting {
		if p := k.settingPath(); p != "" {
			return []string{p}, nil
		}
		return nil, nil
	}
	s := Settings()[k.Name]
	switch {
	case s.Paths == "":
		return nil, nil
	case strings.Contains(s.Paths, "DEVICE") && at.Device == "":
		return nil, fmt.Errorf("%w %s: the data lie on no block device of their own (--dir on another disk?)", ErrRefused, k.Name)
	case strings.Contains(s.Paths, "MOUNT") && at.Mount == "":
		return nil, fmt.Errorf("%w %s: the mount of the data is not known", ErrRefused, k.Name)
	}
	pattern := strings.NewReplacer("DEVICE", at.Device, "MOUNT", at.Mount).Replace(s.Paths)
	files, err := host.Find(pattern)
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%w %s: there is no %s here, as on most virtual machines", ErrRefused, k.Name, pattern)
	}
	return files, nil
}

// BrokerKey is the configuration key behind a knob, if it is one of the broker's.
func (k Knob) BrokerKey() string {
	switch k.Kind {
	case KnobBroker:
		return k.Name
	case KnobSetting:
		return Settings()[k.Name].Key
	case KnobWorkload, KnobSysctl, KnobFile:
	}
	return ""
}

// someWillDo is true for a knob of several files of which not all need to take a value.
func (k Knob) someWillDo() bool { return k.Kind == KnobSetting && Settings()[k.Name].Some }

// Here is a setting on this machine: the values that stand, or the reason why it cannot be turned.
func Here(name string, host Host, at Place) string {
	files, err := Knob{Kind: KnobSetting, Name: name}.files(host, at)
	if err != nil {
		return refusal(name, err)
	}
	var values []string
	for _, path := range files {
		v, err := host.Read(path)
		if err != nil {
			v = err.Error()
		}
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return strings.Join(values, " and ")
}
