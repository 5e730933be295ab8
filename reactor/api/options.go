package api

import (
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/reactor/coord"
	"github.com/pelton-broker/pelton/reactor/quota"
)

// Options are the broker's settings as handlers need them; cmd fills them from the configuration.
type Options struct {
	BrokerID int32
	// Listener is the name of the listener whose endpoints Metadata tells.
	Listener string
	// HandlerThreads, CheckThreads and WorkThreads are the sizes of the pools; at least 1 each.
	HandlerThreads, CheckThreads, WorkThreads int
	// RecoveryThreads is how many logs of one directory are recovered at the same time, RecoveryWaitMs how long partitions wait for that
	// before the others are served.
	RecoveryThreads int
	RecoveryWaitMs  int64

	// CleanerThreads is how many logs are cleaned at the same time.
	CleanerThreads int
	// MoveThreads is how many logs move to other directories at the same time.
	MoveThreads int

	// ReadAhead is how many bytes behind what a fetch found outside the page cache are loaded with it.
	ReadAhead int
	// Migrate: a connection moves to the shard that its requests go to.
	Migrate bool

	AutoCreateTopics         bool
	DefaultPartitions        int32
	DefaultReplicationFactor int32
	OffsetsPartitions        int32
	OffsetsReplication       int32
	OffsetsConfig            map[string]string

	// Coord are the bounds of the group coordinators.
	Coord coord.Options

	RetentionCheckMs       int64
	CleanerBackoffMs       int64 // how often logs are looked at for whether they are to be cleaned
	FetchSessionSlots      int
	FetchSessionEvictionMs int64
	// FetchMaxBytes bounds one answer whatever the consumer asks for.
	FetchMaxBytes int32
	// QuotaWindows are the windows of client quotas, MutationWindows those of the quota on changes of topics.
	QuotaWindows, MutationWindows quota.Windows
	// DecodedBytes bounds what the large requests of one shard cost once decoded.
	DecodedBytes int64

	// Topic works out a topic's effective options from its overrides.
	Topic func(overrides map[string]string) TopicOptions
}

// TopicOptions are the effective settings of one topic.
type TopicOptions struct {
	Log    logstore.Options
	Limits batch.Limits
	// MinISR is min.insync.replicas. Durable: flush.messages=1, appends are acknowledged after their fdatasync.
	MinISR  int32
	Durable bool
	// Target is the form in which records are kept. DownConvert: consumers that know only older formats get converted records.
	Target batch.Target
	// NamedFormat is the older format that the topic's own settings name, -1 without one: a topic that has records, and none that are newer,
	// keeps it whatever Target says, since it may go back to the Kafka that it came from.
	NamedFormat int8
	DownConvert bool
}
