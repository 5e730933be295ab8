package broker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/reactor"
)

// ownCPU is the affinity of kernel workers that follow their shard.
const ownCPU = "shard"

// checkKnobs refuses what can be seen to be wrong before anything is opened.
func (b *Broker) checkKnobs(context.Context) error {
	const key = "pelton.uring.iowq.affinity"
	text := b.config.Str(key)
	cpus, err := cpuList(text)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", key, text, err)
	}
	usable := netpoll.UsableCPUs()
	for _, c := range cpus {
		if !slices.Contains(usable, c) {
			return fmt.Errorf("%s=%s: CPU %d is not one of those that this process may use: %v", key, text, c, usable)
		}
	}
	return nil
}

// cpuList reads a list of CPUs like 0,2-3. Empty, and the shard's own, have none.
func cpuList(text string) (list []int, err error) {
	if text == "" || text == ownCPU {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.ParseUint(first, 10, 12)
		to := from
		if err == nil && isRange {
			to, err = strconv.ParseUint(last, 10, 12)
		}
		if err != nil || to < from {
			return nil, fmt.Errorf("%q is no CPU and no range of them; a list like 0,2-3 or %s is meant", part, ownCPU)
		}
		for c := from; c <= to; c++ {
			list = append(list, int(c))
		}
	}
	return list, nil
}

// ringKnobs fills in what the configuration says of the shards' rings.
func ringKnobs(c *config.Broker, o *reactor.Options) {
	affinity := c.Str("pelton.uring.iowq.affinity")
	cpus, _ := cpuList(affinity) // checkKnobs has seen it
	o.Disk = disk.Options{
		Backend: c.Str("pelton.disk.backend"), Entries: c.Int("pelton.uring.entries"), SQPoll: c.Bool("pelton.uring.sqpoll"),
		InlineMax: c.Int("pelton.disk.inline.max.bytes"), Workers: c.Int("pelton.disk.workers"),
		NoDeferTaskrun: !c.Bool("pelton.uring.defer.taskrun"), IOWorkers: c.Int("pelton.uring.iowq.bounded.max"),
		IOWorkersUnbounded: c.Int("pelton.uring.iowq.unbounded.max"), IOWorkerCPUs: cpus,
	}
	o.WorkersOnShard, o.FixedBuffers = affinity == ownCPU, c.Bool("pelton.uring.fixed.buffers")
}

// socketKnobs fills in what the configuration says of sending and acknowledging.
func socketKnobs(c *config.Broker, o *netpoll.Options) {
	o.SendPath, o.Cork, o.QuickAck = c.Str("pelton.send.path"), c.Str("pelton.socket.cork"), c.Str("pelton.socket.quickack")
}
