package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machineOf lays out a tree of kernel files.
func machineOf(t *testing.T, files map[string]string) *machine {
	t.Helper()
	m := &machine{root: t.TempDir(), dataDirs: []string{"/srv/logs"}}
	for name, text := range files {
		path := filepath.Join(m.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func find(list []finding, check string) *finding {
	for i := range list {
		if list[i].Check == check {
			return &list[i]
		}
	}
	return nil
}

func TestDoctorJudges(t *testing.T) {
	cases := []struct {
		file, text, check string
		want              severity
	}{
		{"proc/sys/kernel/osrelease", "4.19.0-21-amd64", "kernel", warn},
		{"proc/sys/kernel/osrelease", "5.15.0", "kernel", note},
		{"proc/sys/kernel/osrelease", "6.18.44-fc", "kernel", fine},
		{"proc/sys/kernel/io_uring_disabled", "2", "io_uring", warn},
		{"proc/sys/vm/swappiness", "60", "vm.swappiness", warn},
		{"proc/sys/vm/swappiness", "1", "vm.swappiness", fine},
		{"proc/sys/vm/dirty_background_ratio", "10", "vm.dirty_background_ratio", warn},
		{"proc/sys/vm/dirty_background_ratio", "5", "vm.dirty_background_ratio", fine},
		{"proc/sys/net/core/rmem_max", "212992", "net.core.rmem_max", warn},
		{"proc/sys/net/core/wmem_max", "4194304", "net.core.wmem_max", fine},
		{"proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456", "net.ipv4.tcp_rmem", fine},
		{"proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t65536", "net.ipv4.tcp_wmem", warn},
		{"sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never", "transparent huge pages", note},
		{"sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never", "transparent huge pages", fine},
		{"sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet", "clock source", warn},
		{"sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc", "clock source", fine},
		{"proc/pressure/memory", "some avg10=12.50 avg60=1.00 avg300=0.00 total=1\nfull avg10=0.00", "memory pressure", warn},
		{"proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 50000 kB\nSwapTotal: 10 kB\nSwapFree: 10 kB", "memory", warn},
		{"proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 500000 kB\nSwapTotal: 90000 kB\nSwapFree: 0 kB", "swap", warn},
		{"sys/fs/cgroup/cpu.max", "150000 100000", "cgroup cpu", note},
		{"proc/interrupts", "  CPU0 CPU1\n 28: 900 10 PCI virtio0-input\n 29: 90 0 PCI disk\nLOC: 5 900000 Local timer", "interrupts", note},
		{"proc/interrupts", "  CPU0 CPU1\n 28: 900 10 PCI virtio0-input\n 29: 0 800 PCI disk", "interrupts", fine},
		{"sys/devices/system/node/node0/cpulist", "0-1", "NUMA nodes", fine},
		{"proc/self/mounts", "/dev/sda1 / ext4 rw,relatime 0 0\n/dev/sdb1 /srv xfs rw,noatime 0 0", "access times of /srv/logs", fine},
		{"proc/self/mounts", "/dev/sda1 / ext4 rw,relatime 0 0", "access times of /srv/logs", note},
		{"proc/self/mounts", "/dev/sda1 / ext4 rw 0 0", "access times of /srv/logs", warn},
		{"proc/self/mounts", "tmpfs /srv tmpfs rw,relatime 0 0", "file system of /srv/logs", warn},
		{"proc/self/mounts", "h:/x /srv nfs4 rw,noatime 0 0", "file system of /srv/logs", warn},
	}
	for _, c := range cases {
		f := find(machineOf(t, map[string]string{c.file: c.text}).examine(), c.check)
		if f == nil {
			t.Errorf("%s = %q: no finding %q", c.file, c.text, c.check)
			continue
		}
		if f.Severity != c.want || f.Severity > fine && f.Reason == "" {
			t.Errorf("%s = %q: %+v, want %s", c.file, c.text, *f, c.want)
		}
	}
}

func TestDoctorTellsDirtyPages(t *testing.T) {
	m := machineOf(t, map[string]string{"proc/vmstat": "nr_free_pages 7\nnr_dirty 512\nnr_dirty_threshold 9\nnr_writeback 256\n"})
	page := int64(os.Getpagesize())
	if f := find(m.examine(), "dirty pages"); f == nil || f.Value != humanBytes(512*page)+" dirty, "+humanBytes(256*page)+" being written" {
		t.Errorf("%+v", f)
	}
}

func TestDoctorFindsTheDeviceOfAPartition(t *testing.T) {
	for device, block := range map[string]string{"/dev/sda1": "sda", "/dev/nvme0n1p2": "nvme0n1", "/dev/nvme1n1": "nvme1n1"} {
		m := machineOf(t, map[string]string{
			"proc/self/mounts":                         device + " / ext4 rw,noatime 0 0",
			"sys/block/" + block + "/queue/rotational": "1", "sys/block/" + block + "/queue/scheduler": "none [mq-deadline]",
		})
		if f := find(m.examine(), "device "+block); f == nil || f.Severity != note || !strings.Contains(f.Value, "mq-deadline") {
			t.Errorf("%s: %+v", device, f)
		}
	}
}

func TestDoctorExitCodesAndJSON(t *testing.T) {
	if worst([]finding{{Severity: note}, {Severity: warn}}) != warn || worst(nil) != fine {
		t.Error("the worst finding decides")
	}
	if f := spaceFinding("/x", 1<<20, 1<<40); f.Severity != bad {
		t.Errorf("a full disk is %+v", f)
	}
	code, out, _ := cli(t, "", "doctor", "--json", "--data-dir", t.TempDir())
	var list []map[string]any
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) == 0 {
		t.Fatalf("%v in %q", err, out)
	}
	want := map[string]int{"ok": 0, "note": 0, "warn": 1, "bad": 3}
	most := 0
	for _, f := range list {
		most = max(most, want[f["severity"].(string)])
	}
	if code != most {
		t.Errorf("exit code %d, the findings say %d", code, most)
	}
}

func TestDoctorHoldsTheConfigurationAgainstTheMachine(t *testing.T) {
	a, err := readActual(serverFlags{overrides: []string{"num.shards=4", "max.connections=5000", "pelton.uring.sqpoll=true", "log.flush.interval.messages=1", "log.dirs=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	a.cores, a.files = 2, 4096
	list := a.judgeConfig()
	for check, want := range map[string]severity{"num.shards": warn, "pelton.uring.sqpoll": warn, "max.connections": warn, "durability": note} {
		if f := find(list, check); f == nil || f.Severity != want || f.Reason == "" || f.Command == "" {
			t.Errorf("%s: %+v", check, f)
		}
	}
	a.cores, a.files = 8, 1<<20
	if list = a.judgeConfig(); worst(list) != note {
		t.Errorf("a large machine: %+v", list)
	}
	if _, err := readActual(serverFlags{overrides: []string{"num.shards=many"}}); err == nil {
		t.Error("a configuration that no server takes")
	}
}

func TestDoctorWritesADropInAndNobodyElsesFile(t *testing.T) {
	list := machineOf(t, map[string]string{"proc/sys/vm/swappiness": "60", "proc/sys/vm/dirty_ratio": "30", "proc/sys/net/ipv4/tcp_wmem": "4096 16384 65536"}).examine()
	path := filepath.Join(t.TempDir(), "90-pelton.conf")
	for range 2 { // its own file is written again
		if err := writeDropIn(path, list); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	text := string(b)
	if err != nil || !strings.Contains(text, "\nvm.swappiness = 1\n") || !strings.Contains(text, "\nnet.ipv4.tcp_wmem = 4096 131072 2097152\n") || !strings.Contains(text, "# was: 60") || strings.Contains(text, "dirty_ratio =") {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := os.WriteFile(path, []byte("vm.swappiness = 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeDropIn(path, list); !errors.Is(err, errDropIn) {
		t.Fatalf("another's file: %v", err)
	}
}
