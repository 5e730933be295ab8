//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/pelton-broker/pelton/internal/tools/expected"
)

// expected reads what the Kafka that wrote the directory answered.
func (t *trip) expected() (expected.View, error) {
	return expected.Read(filepath.Join(t.from, "kafka-"+t.version, "expected.json"))
}

// client talks to a broker as one of its version; "" is the newest.
func client(addr, version string, opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.FetchMaxWait(50 * time.Millisecond)}, opts...)
	if v := pinned(version); v != nil {
		opts = append(opts, kgo.MaxVersions(v))
	}
	return kgo.NewClient(opts...)
}

// pinned are the requests of a release that cannot be asked for them.
func pinned(version string) *kversion.Versions {
	switch {
	case strings.HasPrefix(version, "0.8."):
		return kversion.V0_8_2()
	case strings.HasPrefix(version, "0.9."):
		return kversion.V0_9_0()
	}
	return nil
}

// patience bounds every question.
const patience = 120 * time.Second

// look reads everything. plan says which topics and groups there are.
func look(addr, version string, plan expected.View) (v expected.View, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := client(addr, version)
	if err != nil {
		return v, err
	}
	defer c.Close()
	v = expected.View{Topics: map[string]expected.Topic{}, Groups: map[string]map[string][2]any{}}
	for name := range plan.Topics {
		if v.Topics[name], err = lookAt(ctx, c, addr, version, name); err != nil {
			return v, fmt.Errorf("%s: %w", name, err)
		}
	}
	for group := range plan.Groups {
		if v.Groups[group], err = commits(ctx, c, version, group, topicsOf(plan)); err != nil {
			return v, fmt.Errorf("group %s: %w", group, err)
		}
	}
	return v, nil
}

func topicsOf(v expected.View) []string {
	var out []string
	for name := range v.Topics {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

func lookAt(ctx context.Context, c *kgo.Client, addr, version, name string) (v expected.Topic, err error) {
	if v.LogStartOffset, err = offsetAt(ctx, c, name, -2, 0); err != nil {
		return v, err
	}
	if v.HighWatermark, err = offsetAt(ctx, c, name, -1, 0); err != nil {
		return v, err
	}
	if v.Records, err = consume(ctx, addr, version, name, v.LogStartOffset, v.HighWatermark); err != nil {
		return v, err
	}
	if strings.HasPrefix(version, "0.8.") || strings.HasPrefix(version, "0.9.") || strings.HasPrefix(version, "0.10.") {
		return v, nil // it knows no transactions
	}
	stable, err := offsetAt(ctx, c, name, -1, 1)
	if err != nil {
		return v, err
	}
	v.LastStableOffset, v.ReadCommitted = &stable, []int64{}
	var last int64 = -1
	for _, r := range v.Records {
		if r.Offset < stable {
			last = r.Offset
		}
	}
	if last < 0 {
		return v, nil
	}
	committed, err := consume(ctx, addr, version, name, v.LogStartOffset, last+1, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	for _, r := range committed {
		if !r.Control {
			v.ReadCommitted = append(v.ReadCommitted, r.Offset)
		}
	}
	return v, err
}

// offsetAt asks for the offset at a special time.
func offsetAt(ctx context.Context, c *kgo.Client, topic string, time int64, isolation int8) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, isolation
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.MaxNumOffsets = time, 1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	resp, err := req.RequestWith(ctx, c)
	if err != nil {
		return 0, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, errors.New("ListOffsets answers nothing")
	}
	got := &resp.Topics[0].Partitions[0]
	if len(got.OldStyleOffsets) > 0 {
		return got.OldStyleOffsets[0], kerr.ErrorForCode(got.ErrorCode)
	}
	return got.Offset, kerr.ErrorForCode(got.ErrorCode)
}

// consume reads from start until the record before end, or, with a log whose last offsets have no record, what comes before them.
func consume(ctx context.Context, addr, version, topic string, start, end int64, opts ...kgo.Opt) ([]expected.Record, error) {
	if start >= end {
		return nil, nil
	}
	c, err := client(addr, version, append(opts, kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(start)}}))...)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var out []expected.Record
	for len(out) == 0 || out[len(out)-1].Offset < end-1 {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return out, fmt.Errorf("reading %d to %d, %d records: %w", start, end, len(out), err)
		}
		fetches.EachRecord(func(r *kgo.Record) { out = append(out, expected.Seen(r)) })
	}
	return slices.DeleteFunc(out, func(r expected.Record) bool { return r.Offset >= end }), nil
}

// commits are what a group committed in topics.
func commits(ctx context.Context, c *kgo.Client, version, group string, topics []string) (map[string][2]any, error) {
	got := map[string][2]any{}
	if strings.HasPrefix(version, "0.8.") {
		return got, namedCommits(ctx, c, group, topics, got)
	}
	offsets, err := kadm.NewClient(c).FetchOffsetsForTopics(ctx, group, topics...)
	if err != nil {
		return nil, err
	}
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Err != nil {
			err = o.Err
		} else if o.At >= 0 {
			got[fmt.Sprintf("%s-%d", o.Topic, o.Partition)] = [2]any{float64(o.At), o.Metadata}
		}
	})
	return got, err
}

// namedCommits asks for each partition by name: Kafka 0.8 does not know how to list a group's.
func namedCommits(ctx context.Context, c *kgo.Client, group string, topics []string, got map[string][2]any) error {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	for _, topic := range topics {
		req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: topic, Partitions: []int32{0}})
	}
	resp, err := req.RequestWith(ctx, c)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("%s: %w", t.Topic, err)
			}
			if p.Offset >= 0 {
				metadata := ""
				if p.Metadata != nil {
					metadata = *p.Metadata
				}
				got[fmt.Sprintf("%s-%d", t.Topic, p.Partition)] = [2]any{float64(p.Offset), metadata}
			}
		}
	}
	return nil
}

// difference is the first one between two views, "" when there is none. What a version cannot tell (ids and epochs of producers, say) is the
// same on both sides, since both are asked in the version of the older.
func difference(want, got expected.View, starts bool) string {
	for _, name := range topicsOf(want) {
		w, g := want.Topics[name], got.Topics[name]
		if starts && w.LogStartOffset != g.LogStartOffset || w.HighWatermark != g.HighWatermark {
			return fmt.Sprintf("%s: [%d, %d), want [%d, %d)", name, g.LogStartOffset, g.HighWatermark, w.LogStartOffset, w.HighWatermark)
		}
		if len(w.Records) != len(g.Records) {
			return fmt.Sprintf("%s: %d records, want %d", name, len(g.Records), len(w.Records))
		}
		for i := range w.Records {
			if !reflect.DeepEqual(w.Records[i], g.Records[i]) {
				return fmt.Sprintf("%s:\n got %s\nwant %s", name, text(g.Records[i]), text(w.Records[i]))
			}
		}
		if w.LastStableOffset == nil || g.LastStableOffset == nil {
			continue
		}
		if *w.LastStableOffset != *g.LastStableOffset || fmt.Sprint(w.ReadCommitted) != fmt.Sprint(g.ReadCommitted) {
			return fmt.Sprintf("%s: read_committed to %d: %v, want to %d: %v", name, *g.LastStableOffset, g.ReadCommitted, *w.LastStableOffset, w.ReadCommitted)
		}
	}
	for group, w := range want.Groups {
		if g := got.Groups[group]; len(w) != len(g) || len(w) > 0 && !reflect.DeepEqual(w, g) {
			return fmt.Sprintf("group %s: %v, want %v", group, g, w)
		}
	}
	return ""
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
