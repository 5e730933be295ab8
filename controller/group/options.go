package group

import "github.com/pelton-broker/pelton/internal/invariant"

// NewMemberJoinMs bounds how long a member that has never had an answer may wait in a join:
// its client knows no member id yet, cannot heartbeat, and would otherwise pile up by retrying.
const NewMemberJoinMs = 5 * 60 * 1000

// Options are the bounds of all groups of a machine.
type Options struct {
	MinSessionMs      int32 // group.min.session.timeout.ms
	MaxSessionMs      int32 // group.max.session.timeout.ms
	MaxSize           int   // group.max.size
	InitialDelayMs    int32 // group.initial.rebalance.delay.ms
	MetadataMax       int   // offset.metadata.max.bytes, in UTF-16 units as Kafka counts
	RetentionMs       int64 // offsets.retention.minutes
	RetentionCheckMs  int64 // offsets.retention.check.interval.ms
	NewMemberIDSuffix func() string
	Values            *ValueVersions // by inter.broker.protocol.version; nil: the newest
}

// DefaultOptions are Kafka's defaults; the source of ids has none.
func DefaultOptions() Options {
	return Options{
		MinSessionMs:     6_000,
		MaxSessionMs:     1_800_000,
		MaxSize:          1<<31 - 1,
		InitialDelayMs:   3_000,
		MetadataMax:      4096,
		RetentionMs:      7 * 24 * 60 * 60 * 1000,
		RetentionCheckMs: 600_000,
	}
}

func (o *Options) check() {
	if o.NewMemberIDSuffix == nil || o.RetentionCheckMs <= 0 || o.MaxSize < 1 {
		invariant.Broken("group: options without ids, check interval or size", o.RetentionCheckMs, o.MaxSize)
	}
}

// Now is one moment on both clocks, in milliseconds. Wall goes into records, Mono decides deadlines.
type Now struct {
	WallMs int64
	MonoMs int64
}
