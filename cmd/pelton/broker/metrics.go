package broker

import (
	"context"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/api"
	"github.com/pelton-broker/pelton/zk/server"
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
		stat(perf.ConnectionsActive, 0, func(t reactor.Stats) uint64 { return uint64(t.Conns) })
		stat(perf.BytesIn, 0, func(t reactor.Stats) uint64 { return t.Net.BytesIn })
		stat(perf.BytesOut, 0, func(t reactor.Stats) uint64 { return t.Net.BytesOut })
		stat(perf.SendfileBytes, 0, func(t reactor.Stats) uint64 { return t.Net.OutSpan })
		stat(perf.SocketCalls, 0, func(t reactor.Stats) uint64 { return t.Net.Reads + t.Net.Sends + t.Net.Sendfiles + t.Net.SpanReads })
		stat(perf.DiskFixed, 0, func(t reactor.Stats) uint64 { return t.Disk.Fixed })
		stat(perf.RecordsCopiedBytes, 0, func(t reactor.Stats) uint64 { return t.Net.SpanCopied })
		stat(perf.ZeroCopySends, 0, func(t reactor.Stats) uint64 { return t.Net.ZeroCopies })
		stat(perf.ZeroCopyFallbacks, 0, func(t reactor.Stats) uint64 { return t.Net.ZeroCopiesCopied })
		stat(perf.Corks, 0, func(t reactor.Stats) uint64 { return t.Net.Corks })
		stat(perf.DiskInline, 0, func(t reactor.Stats) uint64 { return t.Disk.Inline })
		stat(perf.DiskInflight, 0, func(t reactor.Stats) uint64 { return t.Disk.Submitted - t.Disk.Completed })
	}
	b.perf.Count(perf.ConnectionsRefused, 0, 0, func() int64 { return int64(b.limiter().Refused()) })
	b.exportProcess()
	b.exportLogs()
	b.exportCluster()
	b.exportGroups()
	b.exportCoordination()
}

// exportProcess tells what runs here.
func (b *Broker) exportProcess() {
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
}

// exportLogs tells of the log directories and of every log in them.
func (b *Broker) exportLogs() {
	r := b.perf
	r.Read(perf.LogDirOffline, func(emit perf.Emit) {
		for _, d := range b.logs.Dirs() {
			offline, cause := 0.0, ""
			if d.Offline != nil {
				offline, cause = 1, d.Offline.Error()
			}
			emit(offline, d.Path, cause)
		}
	})
	r.Read(perf.LogDirRecovering, func(emit perf.Emit) {
		for _, d := range b.logs.Dirs() {
			emit(float64(d.Recovering), d.Path)
		}
	})
	r.Read(perf.LogDirUnread, func(emit perf.Emit) {
		for _, d := range b.logs.Dirs() {
			emit(float64(d.Unread), d.Path)
		}
	})
	r.Read(perf.LogDirScanned, func(emit perf.Emit) {
		for _, d := range b.logs.Dirs() {
			emit(float64(d.Scanned), d.Path)
		}
	})
	r.Read(perf.LogDirFree, func(emit perf.Emit) {
		for _, d := range b.logs.Dirs() {
			if d.Free >= 0 {
				emit(float64(d.Free), d.Path)
			}
		}
	})
	b.exportUncleanable()
	exportMachine(r)
	each := func(id perf.ReadID, value func(l *api.LogView) int64) {
		r.Read(id, func(emit perf.Emit) {
			b.api.EachLog(func(l *api.LogView) { emit(float64(value(l)), l.Topic, strconv.Itoa(int(l.Partition))) })
		})
	}
	each(perf.LogStart, func(l *api.LogView) int64 { return l.Start })
	each(perf.LogEnd, func(l *api.LogView) int64 { return l.End })
	each(perf.LogSize, func(l *api.LogView) int64 { return l.Bytes })
	each(perf.LogDurableEnd, func(l *api.LogView) int64 { return l.DurableEnd })
	each(perf.LogSegments, func(l *api.LogView) int64 { return l.Segments })
	each(perf.LogIndexDoubts, func(l *api.LogView) int64 { return l.IndexDoubts })
}

// exportUncleanable tells of the logs that are not compacted any more.
func (b *Broker) exportUncleanable() {
	b.perf.Read(perf.LogUncleanable, func(emit perf.Emit) {
		b.api.EachLog(func(l *api.LogView) {
			if l.Uncleanable != nil {
				emit(float64(l.Dirty), l.Topic, strconv.Itoa(int(l.Partition)), l.Uncleanable.Error())
			}
		})
	})
	sum := func(id perf.ReadID, add func(l *api.LogView) int64) {
		b.perf.Read(id, func(emit perf.Emit) {
			by := map[string]int64{}
			b.api.EachLog(func(l *api.LogView) {
				if l.Uncleanable != nil {
					by[l.Dir] += add(l)
				}
			})
			for _, d := range b.logs.Dirs() {
				emit(float64(by[d.Path]), d.Path)
			}
		})
	}
	sum(perf.LogDirUncleanable, func(*api.LogView) int64 { return 1 })
	sum(perf.LogDirDirty, func(l *api.LogView) int64 { return l.Dirty })
}

// exportCluster tells what the image says.
func (b *Broker) exportCluster() {
	r := b.perf
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

// exportGroups tells of the groups coordinated here. Their shards are asked, for each gauge anew: a page is asked for a few times a minute.
func (b *Broker) exportGroups() {
	ask := func() group.Counts {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return b.api.GroupCounts(ctx.Done())
	}
	b.perf.Read(perf.Groups, func(emit perf.Emit) {
		states := ask().States
		for _, name := range slices.Sorted(maps.Keys(states)) {
			emit(float64(states[name]), name)
		}
	})
	b.perf.Gauge(perf.GroupMembers, func() int64 { return int64(ask().Members) })
	b.perf.Gauge(perf.GroupOffsets, func() int64 { return int64(ask().Offsets) })
}

// exportCoordination tells of the session and, where it is embedded, of the coordination server.
func (b *Broker) exportCoordination() {
	r := b.perf
	r.Gauge(perf.SessionConnected, func() int64 {
		if b.cluster.Connected() {
			return 1
		}
		return 0
	})
	if b.zk == nil {
		return
	}
	count := func(id perf.ReadID, value func(c server.Counts) int64) {
		r.Read(id, func(emit perf.Emit) {
			if c, ok := b.zk.Counts(); ok {
				emit(float64(value(c)))
			}
		})
	}
	count(perf.ZkConnections, func(c server.Counts) int64 { return int64(c.Connections) })
	count(perf.ZkRequests, func(c server.Counts) int64 { return int64(c.Outstanding) })
	count(perf.ZkWatches, func(c server.Counts) int64 { return int64(c.Watches) })
	count(perf.ZkNodes, func(c server.Counts) int64 { return int64(c.Nodes) })
	count(perf.ZkSessions, func(c server.Counts) int64 { return int64(c.Sessions) })
	count(perf.ZkZxid, func(c server.Counts) int64 { return c.Zxid })
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
