package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicView is one topic as describe shows it.
type topicView struct {
	Topic      string            `json:"topic"`
	ID         string            `json:"id"`
	Partitions []partitionView   `json:"partitions"`
	Replicas   int               `json:"replication_factor"`
	Internal   bool              `json:"internal"`
	Configs    map[string]string `json:"configs"` // only what the topic sets itself
}

type partitionView struct {
	Partition int32   `json:"partition"`
	Leader    int32   `json:"leader"` // -1: none
	Epoch     int32   `json:"leader_epoch"`
	Replicas  []int32 `json:"replicas"`
	ISR       []int32 `json:"isr"`
	Offline   []int32 `json:"offline"`
	Start     *int64  `json:"start_offset,omitempty"`
	End       *int64  `json:"end_offset,omitempty"`
}

type describeOptions struct {
	offsets, underReplicated, unavailable, kafkaLayout bool
}

func topicsDescribe(conn *connection) *cobra.Command {
	opt := describeOptions{}
	c := &cobra.Command{
		Use:     "describe [NAME...]",
		Short:   "Show partitions, leaders, replicas and own configs of topics",
		Example: "  pelton topics describe logs --offsets\n  pelton topics describe --under-replicated",
		RunE: func(cmd *cobra.Command, names []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, a *kadm.Client) error {
				views, err := describeTopics(ctx, a, names, opt)
				if err != nil {
					return err
				}
				switch {
				case conn.json:
					return printJSON(conn.std.out, views)
				case opt.kafkaLayout:
					return printKafkaTopics(conn.std.out, views)
				}
				return printTopics(conn.std.out, views, opt.offsets)
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&opt.offsets, "offsets", false, "show first and next offset of each partition")
	f.BoolVar(&opt.underReplicated, "under-replicated", false, "only partitions with replicas out of sync")
	f.BoolVar(&opt.unavailable, "unavailable", false, "only partitions without a leader")
	f.BoolVar(&opt.kafkaLayout, "kafka-layout", false, "print as kafka-topics does")
	return c
}

func describeTopics(ctx context.Context, a *kadm.Client, names []string, opt describeOptions) ([]topicView, error) {
	all, err := a.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return nil, err
	}
	configs, err := ownConfigs(ctx, a, all)
	if err != nil {
		return nil, err
	}
	var starts, ends kadm.ListedOffsets
	if opt.offsets && len(all) > 0 {
		if starts, err = a.ListStartOffsets(ctx, all.Names()...); err != nil {
			return nil, err
		}
		if ends, err = a.ListEndOffsets(ctx, all.Names()...); err != nil {
			return nil, err
		}
	}
	views := []topicView{}
	for _, t := range all.Sorted() {
		if t.Err != nil {
			return nil, fmt.Errorf("topic %s: %w", t.Topic, t.Err)
		}
		v := topicView{Topic: t.Topic, ID: topicID(t.ID), Internal: t.IsInternal, Configs: configs[t.Topic], Partitions: []partitionView{}}
		for _, p := range t.Partitions.Sorted() {
			v.Replicas = max(v.Replicas, len(p.Replicas))
			if opt.underReplicated && len(p.ISR) >= len(p.Replicas) || opt.unavailable && p.Leader >= 0 {
				continue
			}
			view := partitionView{Partition: p.Partition, Leader: p.Leader, Epoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR, Offline: p.OfflineReplicas}
			view.Start, view.End = offsetOf(starts, t.Topic, p.Partition), offsetOf(ends, t.Topic, p.Partition)
			v.Partitions = append(v.Partitions, view)
		}
		if len(v.Partitions) > 0 || !opt.underReplicated && !opt.unavailable {
			views = append(views, v)
		}
	}
	return views, nil
}

// topicID prints an id as Kafka does.
func topicID(id kadm.TopicID) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

func offsetOf(list kadm.ListedOffsets, topic string, partition int32) *int64 {
	if o, ok := list.Lookup(topic, partition); ok && o.Err == nil {
		return &o.Offset
	}
	return nil
}

// ownConfigs asks for what each topic sets itself.
func ownConfigs(ctx context.Context, a *kadm.Client, topics kadm.TopicDetails) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	var names []string
	for _, t := range topics.Sorted() {
		if t.Err == nil {
			names = append(names, t.Topic)
		}
	}
	if len(names) == 0 {
		return out, nil
	}
	resources, err := a.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return nil, err
	}
	for _, r := range resources {
		set := map[string]string{}
		for _, c := range r.Configs {
			if c.Source == kmsg.ConfigSourceDynamicTopicConfig {
				set[c.Key] = c.MaybeValue()
			}
		}
		out[r.Name] = set
	}
	return out, nil
}

func printTopics(w io.Writer, views []topicView, offsets bool) error {
	for i, v := range views {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  id %s  partitions %d  replicas %d  %s\n", v.Topic, v.ID, len(v.Partitions), v.Replicas, joinConfigs(v.Configs, " "))
		heading := []string{"PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR"}
		if offsets {
			heading = append(heading, "START", "END")
		}
		t := newTable(heading...)
		for _, p := range v.Partitions {
			cells := []any{p.Partition, leaderName(p.Leader), p.Epoch, joinInts(p.Replicas), joinInts(p.ISR)}
			if offsets {
				cells = append(cells, shownOffset(p.Start), shownOffset(p.End))
			}
			t.add(cells...)
		}
		if err := t.print(w); err != nil {
			return err
		}
	}
	return nil
}

func leaderName(id int32) string {
	if id < 0 {
		return "none"
	}
	return fmt.Sprint(id)
}

func shownOffset(o *int64) string {
	if o == nil {
		return "-"
	}
	return fmt.Sprint(*o)
}

func joinConfigs(set map[string]string, sep string) string {
	var parts []string
	for _, k := range sortedKeys(set) {
		parts = append(parts, k+"="+set[k])
	}
	return strings.Join(parts, sep)
}

// printKafkaTopics is the layout of kafka-topics --describe.
func printKafkaTopics(w io.Writer, views []topicView) error {
	for _, v := range views {
		fmt.Fprintf(w, "Topic: %s\tTopicId: %s\tPartitionCount: %d\tReplicationFactor: %d\tConfigs: %s\n",
			v.Topic, v.ID, len(v.Partitions), v.Replicas, joinConfigs(v.Configs, ","))
		for _, p := range v.Partitions {
			if _, err := fmt.Fprintf(w, "\tTopic: %s\tPartition: %d\tLeader: %s\tReplicas: %s\tIsr: %s\tElr: N/A\tLastKnownElr: N/A\n",
				v.Topic, p.Partition, leaderName(p.Leader), joinInts(p.Replicas), joinInts(p.ISR)); err != nil {
				return err
			}
		}
	}
	return nil
}
