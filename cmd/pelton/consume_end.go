package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// endTracker knows for -e which partitions have not been read to the end that they had when the run began.
// Callbacks of the group come on other goroutines than the records, hence the lock.
type endTracker struct {
	mu struct {
		sync.Mutex
		starts, ends map[int32]int64
		position     map[int32]int64 // of the partitions that this run reads; -1: not known yet
		assigned     bool
	}
}

func newEndTracker() *endTracker {
	t := &endTracker{}
	t.mu.position = map[int32]int64{}
	return t
}

// load asks for the first and the next offset of each partition.
func (t *endTracker) load(ctx context.Context, a *kadm.Client, topic string) error {
	starts, err := a.ListStartOffsets(ctx, topic)
	if err != nil {
		return err
	}
	ends, err := a.ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.starts, t.mu.ends = map[int32]int64{}, map[int32]int64{}
	for p := range ends[topic] {
		start, end := offsetOf(starts, topic, p), offsetOf(ends, topic, p)
		if start == nil || end == nil {
			return fmt.Errorf("topic %s: partition %d has no leader, so its end is not known", topic, p)
		}
		t.mu.starts[p], t.mu.ends[p] = *start, *end
	}
	return nil
}

// begin is the offset that each partition is read from.
func (t *endTracker) begin(ctx context.Context, a *kadm.Client, topic string, from startAt) (map[int32]int64, error) {
	var timed kadm.ListedOffsets
	if from.kind == 't' {
		var err error
		if timed, err = a.ListOffsetsAfterMilli(ctx, from.number, topic); err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[int32]int64{}
	for p, end := range t.mu.ends {
		at := t.mu.starts[p]
		switch from.kind {
		case 'e':
			at = end
		case 'a':
			at = from.number
		case 'r':
			at = end - from.number
		case 't':
			if o := offsetOf(timed, topic, p); o != nil {
				at = *o
			}
		}
		out[p] = min(max(at, t.mu.starts[p]), end)
	}
	return out, nil
}

// want adds a partition that is read from this offset on.
func (t *endTracker) want(partition int32, from int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.assigned = true
	t.mu.position[partition] = from
}

// assign adds partitions that the group gave; where they begin is looked up later.
func (t *endTracker) assign(partitions []int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.assigned = true
	for _, p := range partitions {
		if _, known := t.mu.position[p]; !known {
			t.mu.position[p] = -1
		}
	}
}

func (t *endTracker) revoke(partitions []int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range partitions {
		delete(t.mu.position, p)
	}
}

// advance tells that everything below next was seen.
func (t *endTracker) advance(partition int32, next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.mu.position[partition]; ok && next > at {
		t.mu.position[partition] = next
	}
}

// past reports an offset at or behind the end that the partition had when the run began.
func (t *endTracker) past(partition int32, offset int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	end, ok := t.mu.ends[partition]
	return ok && offset >= end
}

// reached reports whether every partition was read to its end.
func (t *endTracker) reached() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, at := range t.mu.position {
		if at < t.mu.ends[p] {
			return false
		}
	}
	return t.mu.assigned
}

// lookUp fills the positions of the group's partitions that no record has come from: what was committed, else where the
// run begins in them.
func (t *endTracker) lookUp(ctx context.Context, a *kadm.Client, group, topic, offset string) error {
	if !t.unknown() {
		return nil
	}
	committed, err := a.FetchOffsets(ctx, group)
	if err != nil {
		return fmt.Errorf("group %s: %w", group, err)
	}
	from, err := parseStart(offset)
	if err != nil {
		return err
	}
	begins, err := t.begin(ctx, a, topic, from)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, at := range t.mu.position {
		if at >= 0 {
			continue
		}
		t.mu.position[p] = begins[p]
		if c, ok := committed.Lookup(topic, p); ok && c.Err == nil && c.At >= 0 {
			t.mu.position[p] = c.At
		}
	}
	return nil
}

func (t *endTracker) unknown() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, at := range t.mu.position {
		if at < 0 {
			return true
		}
	}
	return false
}

// positions are the known ones, to be committed: a partition without records gets the offset that its next reader begins at.
func (t *endTracker) positions(topic string) map[string]map[int32]kgo.EpochOffset {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[int32]kgo.EpochOffset{}
	for p, at := range t.mu.position {
		if at >= 0 {
			out[p] = kgo.EpochOffset{Epoch: -1, Offset: at}
		}
	}
	return map[string]map[int32]kgo.EpochOffset{topic: out}
}
