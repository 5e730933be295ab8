package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// content is a partition as it is now.
type content struct {
	start, end int64
	values     map[int64]string
	newest     map[string]int64 // last offset of each key
}

// check reads every topic from its first record on and holds it against what was promised.
func check(ctx context.Context, address string, t *told) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	acked, last := t.copied()
	for _, k := range kinds() {
		for p := range k.partitions {
			c, err := read(ctx, address, k.name, p)
			if err != nil {
				return fmt.Errorf("%s-%d: %w", k.name, p, err)
			}
			if err := k.holds(c, p, acked, last); err != nil {
				return fmt.Errorf("%s-%d [%d, %d): %w", k.name, p, c.start, c.end, err)
			}
		}
	}
	return nil
}

// holds compares one partition.
func (k kind) holds(c *content, partition int32, acked map[place]string, last map[place]int64) error {
	if c.start > 0 && !k.expires {
		return errors.New("the log's start has moved")
	}
	for at, want := range acked {
		if at.topic != k.name || at.partition != partition {
			continue
		}
		got, ok := c.values[at.offset]
		switch {
		case ok && got != want:
			return fmt.Errorf("offset %d has %.40q, %.40q was acknowledged", at.offset, got, want)
		case !ok && at.offset >= c.end:
			return fmt.Errorf("offset %d was acknowledged and is behind the end", at.offset)
		case !ok && at.offset >= c.start && k.keys == 0:
			return fmt.Errorf("offset %d was acknowledged and is not there", at.offset)
		}
	}
	for at, offset := range last {
		if at.topic != k.name || at.partition != partition {
			continue
		}
		// Something newer may have been written without an answer; nothing older may be the last.
		if now, ok := c.newest[fmt.Sprintf("key-%d", at.offset)]; !ok || now < offset {
			return fmt.Errorf("key %d has its last value at %d, one at %d was acknowledged", at.offset, now, offset)
		}
	}
	return nil
}

// read takes all of a partition. Offsets go up, and leader epochs with them; no epoch is newer than the leader's.
func read(ctx context.Context, address, topic string, partition int32) (*content, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}),
		kgo.FetchMaxWait(50*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	start, _ := starts.Lookup(topic, partition)
	end, _ := ends.Lookup(topic, partition)
	if err := errors.Join(start.Err, end.Err); err != nil {
		return nil, err
	}
	c := &content{start: start.Offset, end: end.Offset, values: map[int64]string{}, newest: map[string]int64{}}
	next, epoch := int64(0), int32(-1)
	// Nothing writes now, and an active segment is not compacted: the record before the end is there.
	for next < c.end {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("reading at %d of %d: %w", next, c.end, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset < next {
				err = errors.Join(err, fmt.Errorf("offset %d follows %d", r.Offset, next-1))
			}
			if r.LeaderEpoch < epoch || r.LeaderEpoch > end.LeaderEpoch {
				err = errors.Join(err, fmt.Errorf("offset %d has leader epoch %d after %d, the leader's is %d", r.Offset, r.LeaderEpoch, epoch, end.LeaderEpoch))
			}
			next, epoch = r.Offset+1, r.LeaderEpoch
			c.values[r.Offset] = string(r.Value)
			if r.Key != nil {
				c.newest[string(r.Key)] = r.Offset
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}
