package reactor

import (
	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/netpoll"
)

// Options of a server. Zero fields get the defaults.
type Options struct {
	// Shards is the number of loops. Default: the CPUs that this process may use.
	Shards int
	// Pin binds each shard's thread to a CPU.
	Pin bool
	// KeepMaxProcs leaves GOMAXPROCS alone; otherwise it is Shards + 2 while the server runs.
	KeepMaxProcs bool
	Clock        clock.Clock
	Disk         disk.Options
	Net          netpoll.Options
	// FixedBuffers registers each shard's arena with its ring. WorkersOnShard binds the ring's kernel workers to the shard's CPU.
	FixedBuffers, WorkersOnShard bool
	// OpenDisk replaces disk.Open; it is called on the shard's thread.
	OpenDisk func(shard int) (disk.Disk, error)
	// OnProbe is told what the kernel granted to each shard's disk.
	OnProbe func(shard int, p disk.Probe)
	// ArenaBytes bounds the buffers of one shard, BudgetBytes its requests in flight; zero is no bound.
	ArenaBytes  int64
	BudgetBytes int64
	// MailSlots is the size of the ring of each ordered pair of shards. Default 1024.
	MailSlots int
	// SpinNs lets a shard look for events that long before it sleeps: lower latency for a busy CPU. Default 0, since CPUs are shared.
	SpinNs int64
	// SlowTurnNs is how long a turn may take before OnSlowTurn is told, on the shard's thread.
	SlowTurnNs int64
	OnSlowTurn func(t SlowTurn)
	// OnTurnTime is told how long each turn took, on the shard's thread.
	OnTurnTime func(shard int, tookNs int64)
	// OnFatal is told of an error that ends a shard's loop; without it the shard panics.
	OnFatal func(shard int, err error)
}

const defaultMailSlots = 1024

func (o *Options) setDefaults() {
	if o.Shards <= 0 {
		o.Shards = max(1, len(netpoll.UsableCPUs()))
	}
	if o.Clock == nil {
		o.Clock = clock.NewReal()
	}
	if o.MailSlots <= 0 {
		o.MailSlots = defaultMailSlots
	}
}
