package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// kind is a topic with promises of its own.
type kind struct {
	name       string
	partitions int32
	config     map[string]string
	acks       kgo.Acks
	idempotent bool
	keys       int  // records have one of so many keys; 0: none
	expires    bool // records may go from the beginning
}

// kinds are the topics that every round writes to. Segments are small, so that rolling, indexes, snapshots, retention and compaction all have
// work while the broker is killed.
func kinds() []kind {
	const segment = "200000"
	return []kind{
		{"cached", 6, map[string]string{"segment.bytes": segment}, kgo.LeaderAck(), false, 0, false},
		{"durable", 3, map[string]string{"segment.bytes": segment, "flush.messages": "1"}, kgo.LeaderAck(), false, 0, false},
		{"sequenced", 3, map[string]string{"segment.bytes": segment, "flush.messages": "1"}, kgo.AllISRAcks(), true, 0, false},
		{"compacted", 2, map[string]string{"segment.bytes": segment, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "file.delete.delay.ms": "100"}, kgo.LeaderAck(), false, 40, false},
		{"kept", 2, map[string]string{"segment.bytes": segment, "retention.bytes": "600000", "file.delete.delay.ms": "100"}, kgo.AllISRAcks(), true, 0, true},
	}
}

// codecs are handed out to writers in turn.
func codecs() []kgo.CompressionCodec {
	return []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
}

// create makes the topics.
func create(ctx context.Context, address string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		return err
	}
	defer cl.Close()
	for _, k := range kinds() {
		config := map[string]*string{}
		for key, value := range k.config {
			config[key] = &value
		}
		r, err := kadm.NewClient(cl).CreateTopic(ctx, k.partitions, 1, config, k.name)
		if err == nil {
			err = r.Err
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}
