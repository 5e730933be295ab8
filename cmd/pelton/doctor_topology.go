package main

import (
	"fmt"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// topology looks at NUMA nodes and at the cores that take interrupts.
func (m *machine) topology() (list []finding) {
	nodes, _ := filepath.Glob(filepath.Join("/", m.root, "sys/devices/system/node/node[0-9]*"))
	if len(nodes) > 0 {
		list = append(list, judge("NUMA nodes", strconv.Itoa(len(nodes)), len(nodes) > 1, note,
			"a shard's memory may lie on the other node from its core, its disk or its network card", "start one broker for each node: numactl --cpunodebind=0 --membind=0 pelton server ..."))
	}
	if n, ok := m.number("proc/sys/kernel/numa_balancing"); ok && len(nodes) > 1 {
		list = append(list, judge("kernel.numa_balancing", strconv.FormatInt(n, 10), n != 0, note, "the kernel unmaps pages to see who uses them; shards do not move, so it finds nothing", "sysctl -w kernel.numa_balancing=0"))
	}
	return append(list, m.interrupts()...)
}

// interruptRow is a line of /proc/interrupts.
type interruptRow struct {
	number, name string
	counts       []int64
}

// interrupts judges how devices' interrupts are spread: one core that takes them all also runs a shard.
func (m *machine) interrupts() []finding {
	text, ok := m.read("proc/interrupts")
	if !ok {
		return nil
	}
	var rows []interruptRow
	var cores []int64
	var sum int64
	for _, line := range strings.Split(text, "\n") {
		row, ok := interruptOf(line)
		if !ok {
			continue
		}
		rows = append(rows, row)
		for i, n := range row.counts {
			for len(cores) <= i {
				cores = append(cores, 0)
			}
			cores[i] += n
			sum += n
		}
	}
	if len(cores) < 2 || sum == 0 {
		return nil
	}
	busiest := 0
	for i, n := range cores {
		if n > cores[busiest] {
			busiest = i
		}
	}
	share := float64(cores[busiest]) / float64(sum)
	value := fmt.Sprintf("%d of devices, %.0f %% on core %d of %d", len(rows), share*100, busiest, len(cores))
	sort.Slice(rows, func(i, j int) bool { return rows[i].counts[busiest] > rows[j].counts[busiest] })
	other := (busiest + 1) % len(cores)
	return []finding{judge("interrupts", value, share > 0.9, note, "one core takes nearly all interrupts, and the shard on it is slower than the others",
		fmt.Sprintf("echo %x > /proc/irq/%s/smp_affinity   # %s to core %d; irqbalance must not run", uint64(1)<<uint(other%64), rows[0].number, rows[0].name, other))}
}

// interruptOf reads a device's line: number, count of each core, chip, name. Lines with letters are the cores' own.
func interruptOf(line string) (row interruptRow, ok bool) {
	head, rest, found := strings.Cut(line, ":")
	row.number = strings.TrimSpace(head)
	if _, err := strconv.Atoi(row.number); !found || err != nil {
		return row, false
	}
	fields := strings.Fields(rest)
	for _, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			break
		}
		row.counts = append(row.counts, n)
	}
	if len(fields) > 0 {
		row.name = fields[len(fields)-1]
	}
	return row, len(row.counts) > 0
}
