package logstore

import "math"

// Options are one log's settings, Kafka's topic keys. Zero fields get Kafka's defaults; NoLimit switches a limit off.
type Options struct {
	SegmentBytes          int32   // segment.bytes
	SegmentMs             int64   // segment.ms
	SegmentJitterMs       int64   // segment.jitter.ms: taken off SegmentMs
	IndexInterval         int32   // index.interval.bytes; NoLimit = an entry for every batch but the first
	IndexMaxBytes         int32   // segment.index.bytes
	RetentionMs           int64   // retention.ms; NoLimit keeps for ever
	RetentionBytes        int64   // retention.bytes; 0 and NoLimit keep everything
	FileDeleteMs          int64   // file.delete.delay.ms
	FlushMessages         int64   // flush.messages; 0 and NoLimit leave flushing to the kernel
	FlushMs               int64   // flush.ms; 0 and NoLimit leave flushing to the kernel
	Delete                bool    // cleanup.policy has delete: retention applies
	Compact               bool    // cleanup.policy has compact
	Cleaner               bool    // log.cleaner.enable; the host takes several jobs at once (TakeWork)
	MinCleanableRatio     float64 // min.cleanable.dirty.ratio
	MinCompactionLagMs    int64   // min.compaction.lag.ms
	MaxCompactionLagMs    int64   // max.compaction.lag.ms; 0 and NoLimit have none
	DeleteRetentionMs     int64   // delete.retention.ms
	DedupeBytes           int64   // log.cleaner.dedupe.buffer.size, for one cleaning
	CleanerBytesPerSecond float64 // log.cleaner.io.max.bytes.per.second, of all cleaners together; 0 has none
	LogAppendTime         bool    // message.timestamp.type
	SettleDelayMs         int64   // pelton.log.settle.delay.ms: how long a closed segment that nobody flushes may wait for its sync
	Preallocate           bool    // preallocate: a new segment's blocks are reserved when it is made
	ProducerExpiry        int64   // producer.id.expiration.ms
}

// NoLimit switches a limit off.
const NoLimit = -1

// Kafka's defaults.
const (
	defaultSegmentBytes      = 1 << 30
	defaultSegmentMs         = 7 * 24 * 3600 * 1000
	defaultIndexInterval     = 4096
	defaultIndexMaxBytes     = 10 << 20
	defaultRetentionMs       = 7 * 24 * 3600 * 1000
	defaultFileDeleteMs      = 60_000
	defaultDeleteRetentionMs = 24 * 3600 * 1000
	defaultDedupeBytes       = 128 << 20
	defaultCleanableRatio    = 0.5
	defaultProducerExpiry    = 24 * 3600 * 1000
)

// withDefaults fills the zero fields.
func (o Options) withDefaults() Options {
	o.SegmentBytes = orDefault(o.SegmentBytes, defaultSegmentBytes)
	o.SegmentMs = orDefault(o.SegmentMs, defaultSegmentMs)
	o.IndexInterval = orDefault(o.IndexInterval, defaultIndexInterval)
	o.IndexMaxBytes = orDefault(o.IndexMaxBytes, defaultIndexMaxBytes)
	o.RetentionMs = orDefault(o.RetentionMs, defaultRetentionMs)
	o.RetentionBytes = orDefault(o.RetentionBytes, NoLimit)
	o.FileDeleteMs = orDefault(o.FileDeleteMs, defaultFileDeleteMs)
	o.FlushMessages = orDefault(o.FlushMessages, NoLimit)
	o.FlushMs = orDefault(o.FlushMs, NoLimit)
	o.ProducerExpiry = orDefault(o.ProducerExpiry, defaultProducerExpiry)
	o.DeleteRetentionMs = orDefault(o.DeleteRetentionMs, defaultDeleteRetentionMs)
	o.DedupeBytes = orDefault(o.DedupeBytes, defaultDedupeBytes)
	if o.MinCleanableRatio == 0 {
		o.MinCleanableRatio = defaultCleanableRatio
	}
	o.DeleteRetentionMs = max(o.DeleteRetentionMs, 0)
	o.IndexInterval = max(o.IndexInterval, 0)
	if o.SegmentMs < 0 {
		o.SegmentMs = math.MaxInt64
	}
	return o
}

func orDefault[T int32 | int64](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}
