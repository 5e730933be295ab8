package main

import (
	"context"
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// probe looks at the partitions that are not at their end although nothing comes. After compaction the last offsets of a
// log may have no record: the broker then sends a batch that is empty and still says how far it goes.
func (t *endTracker) probe(ctx context.Context, client *kgo.Client, topic string) error {
	for partition, at := range t.unfinished() {
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.ReplicaID = 12, -1
		req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 100, 1, 1<<20
		one := kmsg.NewFetchRequestTopic()
		one.Topic = topic
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.PartitionMaxBytes, part.CurrentLeaderEpoch = partition, at, 1<<20, -1
		one.Partitions = append(one.Partitions, part)
		req.Topics = append(req.Topics, one)
		leader, _, err := client.PartitionLeader(topic, partition)
		if err != nil || leader < 0 {
			continue // the client library is looking for the leader too
		}
		answer, err := client.Broker(int(leader)).Request(ctx, req)
		if err != nil {
			return err
		}
		for _, topics := range answer.(*kmsg.FetchResponse).Topics {
			for _, p := range topics.Partitions {
				if next, empty := onlyEmptyBatches(p.RecordBatches); empty {
					t.advance(partition, next)
				}
			}
		}
	}
	return nil
}

// unfinished are the partitions that have not been read to their end, with where they are.
func (t *endTracker) unfinished() map[int32]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[int32]int64{}
	for p, at := range t.mu.position {
		if at >= 0 && at < t.mu.ends[p] {
			out[p] = at
		}
	}
	return out
}

// onlyEmptyBatches reports whether the batches hold no record at all, and the offset behind them.
func onlyEmptyBatches(b []byte) (next int64, empty bool) {
	const header = 61
	for len(b) >= header {
		size := 12 + int(int32(binary.BigEndian.Uint32(b[8:])))
		if size < header || b[16] < 2 {
			return 0, false
		}
		if binary.BigEndian.Uint32(b[57:]) != 0 {
			return 0, false
		}
		next = int64(binary.BigEndian.Uint64(b)) + int64(int32(binary.BigEndian.Uint32(b[23:]))) + 1
		empty = true
		b = b[min(size, len(b)):]
	}
	return next, empty
}
