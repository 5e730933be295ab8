package broker

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/api"
	"github.com/pelton-broker/pelton/reactor/coord"
	"github.com/pelton-broker/pelton/reactor/quota"
)

// mailPools are the sizes of the pools off the shards.
const (
	handlerThreads = 16
	workThreads    = 4
)

// offsetsConfig is the configuration that Kafka gives __consumer_offsets.
func offsetsConfig(c *config.Broker) map[string]string {
	return map[string]string{"compression.type": "producer", "cleanup.policy": "compact",
		"segment.bytes": fmt.Sprint(c.Int("offsets.topic.segment.bytes"))}
}

// derive works the options of request handling out of the configuration.
func derive(id int32, codecs *batch.Codecs, shards int) func(*config.Broker) api.Options {
	return func(c *config.Broker) api.Options {
		checks := c.Int("pelton.validation.workers")
		if checks == 0 {
			checks = shards
		}
		return api.Options{
			BrokerID: id, Listener: c.Listeners()[0].Name,
			HandlerThreads: handlerThreads, CheckThreads: checks, WorkThreads: workThreads, CleanerThreads: c.Int("log.cleaner.threads"),
			MoveThreads:              moveThreads(c),
			ReadAhead:                c.Int("pelton.read.ahead.bytes"),
			Migrate:                  c.Bool("pelton.connection.migration"),
			RecoveryThreads:          c.Int("num.recovery.threads.per.data.dir"),
			RecoveryWaitMs:           c.Long("pelton.log.recovery.wait.ms"),
			AutoCreateTopics:         c.Bool("auto.create.topics.enable"),
			DefaultPartitions:        int32(c.Int("num.partitions")),
			DefaultReplicationFactor: int32(c.Int("default.replication.factor")),
			OffsetsPartitions:        int32(c.Int("offsets.topic.num.partitions")),
			OffsetsReplication:       int32(c.Int("offsets.topic.replication.factor")),
			OffsetsConfig:            offsetsConfig(c),
			Coord:                    coordOptions(c),
			RetentionCheckMs:         c.Ms("log.retention.check.interval.ms"),
			CleanerBackoffMs:         c.Long("log.cleaner.backoff.ms"),
			FetchSessionSlots:        c.Int("max.incremental.fetch.session.cache.slots"),
			FetchSessionEvictionMs:   120_000,
			FetchMaxBytes:            int32(c.Int("fetch.max.bytes")),
			QuotaWindows:             quota.Windows{Num: c.Int("quota.window.num"), Ms: int64(c.Int("quota.window.size.seconds")) * 1000},
			MutationWindows:          quota.Windows{Num: c.Int("controller.quota.window.num"), Ms: int64(c.Int("controller.quota.window.size.seconds")) * 1000},
			DecodedBytes:             c.Long("pelton.request.memory.bytes") / int64(shards),
			Topic:                    func(set map[string]string) api.TopicOptions { return topicOptions(c.Topic(set), c, codecs) },
		}
	}
}

// moveThreads is how many logs move to other directories at the same time: as many as there are directories, unless it is set.
func moveThreads(c *config.Broker) int {
	if c.Set("num.replica.alter.log.dirs.threads") {
		return c.Int("num.replica.alter.log.dirs.threads")
	}
	return len(c.LogDirs())
}

func coordOptions(c *config.Broker) coord.Options {
	o := coord.DefaultOptions()
	o.Groups = group.Options{
		MinSessionMs:      int32(c.Int("group.min.session.timeout.ms")),
		MaxSessionMs:      int32(c.Int("group.max.session.timeout.ms")),
		MaxSize:           c.Int("group.max.size"),
		InitialDelayMs:    int32(c.Int("group.initial.rebalance.delay.ms")),
		MetadataMax:       c.Int("offset.metadata.max.bytes"),
		RetentionMs:       c.Long("offsets.retention.minutes") * 60_000,
		RetentionCheckMs:  c.Ms("offsets.retention.check.interval.ms"),
		NewMemberIDSuffix: memberSuffix,
		Values:            groupValues(c.Str("inter.broker.protocol.version")),
	}
	return o
}

// groupValues are the versions in which Kafka keeps groups and their offsets under a protocol version; nil for the newest.
func groupValues(ibp string) *group.ValueVersions {
	v, ok := config.ParseVersion(ibp)
	if !ok || !v.Less(config.Version{Major: 2, Minor: 3}) {
		return nil
	}
	values := &group.ValueVersions{Offset: 3, Group: 2}
	switch {
	case v.Less(config.Version{Minor: 900}):
		values.Offset, values.Group = 0, 0
	case v.Less(config.Version{Minor: 1001}):
		values.Offset, values.Group = 1, 0
	case v.Less(config.Version{Major: 2, Minor: 1}):
		values.Offset, values.Group = 1, 1
	case v.Less(config.Version{Major: 2, Minor: 1, Step: 1}):
		values.Offset = 2
	}
	return values
}

// memberSuffix is the random part of a member id, a UUID as Kafka makes it.
func memberSuffix() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		invariant.Broken("broker: the system has no randomness", err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// topicOptions are the effective settings of one topic in the words of the packages that use them.
func topicOptions(t *config.Topic, c *config.Broker, codecs *batch.Codecs) api.TopicOptions {
	appendTime := t.Str("message.timestamp.type") == "LogAppendTime"
	return api.TopicOptions{
		Log: logstore.Options{
			SegmentBytes:    int32(t.Int("segment.bytes")),
			SegmentMs:       t.Ms("segment.ms"),
			SegmentJitterMs: t.Ms("segment.jitter.ms"),
			IndexInterval:   noneIfZero(int32(t.Int("index.interval.bytes"))),
			IndexMaxBytes:   int32(t.Int("segment.index.bytes")),
			RetentionMs:     noneIfZero(t.Ms("retention.ms")),
			RetentionBytes:  noneIfZero(t.Long("retention.bytes")),
			FileDeleteMs:    noneIfZero(t.Ms("file.delete.delay.ms")),
			FlushMessages:   t.Long("flush.messages"),
			FlushMs:         t.Ms("flush.ms"),
			Delete:          t.Deletes(),
			Compact:         t.Compacted(),
			Cleaner:         c.Bool("log.cleaner.enable"),

			MinCleanableRatio:     t.Float("min.cleanable.dirty.ratio"),
			MinCompactionLagMs:    t.Ms("min.compaction.lag.ms"),
			MaxCompactionLagMs:    t.Ms("max.compaction.lag.ms"),
			DeleteRetentionMs:     noneIfZero(t.Ms("delete.retention.ms")),
			DedupeBytes:           c.Long("log.cleaner.dedupe.buffer.size") / max(1, int64(c.Int("log.cleaner.threads"))),
			CleanerBytesPerSecond: c.Float("log.cleaner.io.max.bytes.per.second"),
			LogAppendTime:         appendTime,
			SettleDelayMs:         c.Long("pelton.log.settle.delay.ms"),
			Preallocate:           t.Bool("preallocate"),
			ProducerExpiry:        c.Ms("producer.id.expiration.ms"),
		},
		Limits: batch.Limits{
			MaxBatchBytes:     int32(t.Int("max.message.bytes")),
			MaxDecompressed:   c.Long("pelton.decompressed.max.bytes"),
			RequireKeys:       t.Compacted(),
			LogAppendTime:     appendTime,
			TimestampBeforeMs: t.TimestampBeforeMs(),
			TimestampAfterMs:  t.TimestampAfterMs(),
			Codecs:            codecs,
		},
		MinISR:      int32(t.Int("min.insync.replicas")),
		Durable:     t.Long("flush.messages") == 1,
		Target:      storedForm(t),
		NamedFormat: t.NamedFormat(),
		DownConvert: t.Bool("message.downconversion.enable"),
	}
}

// storedForm is how a topic keeps what clients send.
func storedForm(t *config.Topic) batch.Target {
	to := batch.Target{Magic: t.RecordFormat(), Codec: storedCodec(t.Str("compression.type"))}
	switch to.Codec {
	case batch.Gzip:
		to.Level = max(t.Int("compression.gzip.level"), 0) // -1 is the default
	case batch.LZ4:
		to.Level = t.Int("compression.lz4.level")
	case batch.Zstd:
		to.Level = t.Int("compression.zstd.level")
	}
	return to
}

// storedCodec is what compression.type asks for.
func storedCodec(name string) batch.Codec {
	for c := batch.None; c <= batch.Zstd; c++ {
		if c.String() == name || (c == batch.None && name == "uncompressed") {
			return c
		}
	}
	return batch.KeepCodec
}

// noneIfZero keeps a zero that means "at once" apart from an option's "use the default".
func noneIfZero[T int32 | int64](v T) T {
	if v == 0 {
		return 1
	}
	return v
}

// reactorOptions sizes the loops.
func (b *Broker) reactorOptions(c *config.Broker, limiter *netpoll.Limiter) reactor.Options {
	o := reactor.Options{
		Shards: b.shards, Pin: c.Bool("pelton.pin"), Clock: b.clock,
		Net: netpoll.Options{
			Poller: c.Str("pelton.poller"), MaxFrame: int32(c.Int("socket.request.max.bytes")), MaxOut: maxOutBytes,
			IdleNs: c.Ms("connections.max.idle.ms") * 1e6, FrameNs: frameTimeoutMs * 1e6, SlowNs: c.Ms("pelton.slow.reader.ms") * 1e6,
			Limiter: limiter, LowWater: c.Int("pelton.net.rcvlowat.bytes"),
		},
		BudgetBytes: c.Long("pelton.request.memory.bytes") / int64(b.shards),
		// Frames that are coming, frames that wait for the disk, and as much again for what lies around them; then connections are closed.
		// Each size of buffer may leave most of a slab unused.
		ArenaBytes: 3*c.Long("pelton.request.memory.bytes")/int64(b.shards) + c.Long("socket.request.max.bytes") + arenaSlack,
		SlowTurnNs: int64(c.Int("pelton.slow.turn.ms")) * 1e6,
		OnSlowTurn: b.slowTurn,
		OnTurnTime: func(shard int, ns int64) { b.perf.Shard(shard).Observe(perf.TurnSeconds, ns) },
		OnProbe:    b.probed,
		OnFatal: func(shard int, err error) {
			b.api.ShardsStopped() // nobody waits for that one; the broker ends
			b.fatal(fmt.Errorf("shard %d: %w", shard, err))
		},
	}
	ringKnobs(c, &o)
	socketKnobs(c, &o.Net)
	return o
}

const (
	// maxOutBytes is what may wait unsent on one connection before it is no longer read.
	maxOutBytes = 4 << 20
	// arenaSlack is what slabs of sizes that few frames have take from a shard's memory.
	arenaSlack = 8 << 20
	// frameTimeoutMs is how long a frame that has begun may stand still.
	frameTimeoutMs = 30_000
)

// socketOptions applies Kafka's default for the send buffer, which keeps what sendfile queues inside the caches, but its default for the
// receive buffer only where the configuration names it: that one switches the kernel's own sizing off for large requests (docs/adr/0018).
func socketOptions(c *config.Broker) netpoll.SocketOptions {
	o := netpoll.SocketOptions{BusyPollUs: c.Int("pelton.net.busy.poll.us"), Congestion: c.Str("pelton.net.congestion"),
		SendBuffer: max(0, c.Int("socket.send.buffer.bytes")), Nagle: !c.Bool("pelton.socket.nodelay")}
	if c.Given("socket.receive.buffer.bytes") {
		o.RecvBuffer = max(0, c.Int("socket.receive.buffer.bytes"))
	}
	return o
}

// limiterOf is the bound on connections, in all and per address.
func limiterOf(c *config.Broker) *netpoll.Limiter {
	special := map[netip.Addr]int{}
	for host, n := range c.ConnectionOverrides() {
		if a, err := netip.ParseAddr(host); err == nil {
			special[a] = n
		}
	}
	return netpoll.NewLimiter(noLimit(c.Int("max.connections")), noLimit(c.Int("max.connections.per.ip")), special)
}

// noLimit turns Kafka's largest number, which means no limit, into the limiter's.
func noLimit(n int) int {
	if n == 1<<31-1 {
		return 0
	}
	return n
}
