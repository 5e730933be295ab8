package broker

import (
	"runtime/debug"

	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
)

// exportCounters puts on the metrics page what other packages count by themselves. A shard publishes
// its own counts once a second.
func (b *Broker) exportCounters() {
	for i, s := range b.server.Shards() {
		stat := func(id perf.ID, at int, read func(reactor.Stats) uint64) {
			b.perf.Count(id, i, at, func() int64 { return int64(read(s.Stats())) })
		}
		stat(perf.Turns, 0, func(t reactor.Stats) uint64 { return t.Turns })
		stat(perf.SlowTurns, 0, func(t reactor.Stats) uint64 { return t.SlowTurns })
		stat(perf.TimersFired, 0, func(t reactor.Stats) uint64 { return t.Timers })
		stat(perf.Wakeups, 0, func(t reactor.Stats) uint64 { return t.Sleeps })
		stat(perf.Mails, 0, func(t reactor.Stats) uint64 { return t.Received + t.Posts })
		stat(perf.RingEnters, 0, func(t reactor.Stats) uint64 { return t.Disk.Enters })
		stat(perf.BudgetBytes, 0, func(t reactor.Stats) uint64 { return uint64(t.BudgetBytes) })
		stat(perf.BudgetPauses, 0, func(t reactor.Stats) uint64 { return t.Net.Starved })
		stat(perf.ArenaBytes, 0, func(t reactor.Stats) uint64 { return uint64(t.ArenaBytes) })
		stat(perf.ConnectionsOpened, 0, func(t reactor.Stats) uint64 { return t.Net.Accepted })
		stat(perf.ConnectionsClosed, int(perf.CloseOther), func(t reactor.Stats) uint64 { return t.Net.Closed })
		stat(perf.ConnectionsActive, 0, func(t reactor.Stats) uint64 { return uint64(t.Conns) })
		stat(perf.BytesIn, 0, func(t reactor.Stats) uint64 { return t.Net.BytesIn })
		stat(perf.BytesOut, 0, func(t reactor.Stats) uint64 { return t.Net.BytesOut })
		stat(perf.SendfileBytes, 0, func(t reactor.Stats) uint64 { return t.Net.OutSpan })
		stat(perf.SocketCalls, 0, func(t reactor.Stats) uint64 { return t.Net.Reads + t.Net.Sends + t.Net.Sendfiles })
		stat(perf.DiskInline, 0, func(t reactor.Stats) uint64 { return t.Disk.Inline })
		stat(perf.DiskInflight, 0, func(t reactor.Stats) uint64 { return t.Disk.Submitted - t.Disk.Completed })
	}
	r := b.perf
	r.Read(perf.Uptime, func(emit perf.Emit) { emit(float64(b.clock.Mono()-b.started) / 1e9) })
	r.Read(perf.BuildInfo, func(emit perf.Emit) {
		if info, ok := debug.ReadBuildInfo(); ok {
			commit := ""
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" {
					commit = s.Value
				}
			}
			emit(1, info.Main.Version, commit, info.GoVersion)
		}
	})
	r.Read(perf.DiskBackend, func(emit perf.Emit) {
		ready, why := b.Ready(), ""
		if len(ready.DiskWhy) > 0 {
			why = ready.DiskWhy[0]
		}
		emit(1, ready.Disk, why)
	})
	r.Read(perf.LogDirOffline, func(emit perf.Emit) {
		for _, d := range b.logs.Dirs() {
			offline := 0.0
			if d.Offline != nil {
				offline = 1
			}
			emit(offline, d.Path)
		}
	})
	r.Gauge(perf.ImageVersion, func() int64 { return int64(b.api.Image().Version) })
	r.Gauge(perf.Brokers, func() int64 { return int64(len(b.api.Image().Brokers)) })
	r.Gauge(perf.Topics, func() int64 { return int64(len(b.api.Image().Topics)) })
	r.Gauge(perf.ActiveController, func() int64 {
		if b.api.Image().ControllerID == b.id() {
			return 1
		}
		return 0
	})
	r.Read(perf.Partitions, func(emit perf.Emit) { hosted, _, _, _ := b.replicas(); emit(float64(hosted)) })
	r.Read(perf.LeaderPartitions, func(emit perf.Emit) { _, led, _, _ := b.replicas(); emit(float64(led)) })
	r.Read(perf.UnderReplicated, func(emit perf.Emit) { _, _, under, _ := b.replicas(); emit(float64(under)) })
	r.Read(perf.OfflinePartitions, func(emit perf.Emit) { _, _, _, offline := b.replicas(); emit(float64(offline)) })
}

// replicas counts the image's partitions from this broker's view: replicas here, led from here, led
// from here with replicas out of sync; and those in the cluster that nobody leads.
func (b *Broker) replicas() (hosted, led, under, offline int) {
	for _, t := range b.api.Image().Topics {
		for _, p := range t.Partitions {
			for _, r := range p.Replicas {
				if r == b.id() {
					hosted++
				}
			}
			switch {
			case p.Leader < 0:
				offline++
			case p.Leader == b.id():
				led++
				if len(p.ISR) < len(p.Replicas) {
					under++
				}
			}
		}
	}
	return hosted, led, under, offline
}
