package main

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/internal/config"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func topicsCommand(std streams) *cobra.Command {
	conn := &connection{std: std}
	c := &cobra.Command{
		Use:     "topics",
		Short:   "Create, list, describe, grow and delete topics",
		Example: "  pelton topics create logs --partitions 6 --config retention.ms=86400000\n  pelton topics describe logs\n  pelton topics alter logs --partitions 12",
	}
	conn.flags(c)
	return family(c, topicsCreate(conn), topicsList(conn), topicsDescribe(conn), topicsAlter(conn), topicsDelete(conn))
}

func topicsCreate(conn *connection) *cobra.Command {
	req := newTopic{}
	c := &cobra.Command{
		Use:     "create NAME...",
		Short:   "Create topics",
		Example: "  pelton topics create logs --partitions 6\n  pelton topics create state --config cleanup.policy=compact",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return conn.with(cmd.Context(), func(ctx context.Context, client *kgo.Client) error { return req.create(ctx, conn, client, names) })
		},
	}
	f := c.Flags()
	f.Int32VarP(&req.partitions, "partitions", "p", -1, "number of partitions; -1: the broker's num.partitions")
	f.Int16Var(&req.replicas, "replication-factor", -1, "replicas of each partition; -1: the broker's default")
	f.StringArrayVar(&req.configs, "config", nil, "topic config key=value, may be repeated")
	f.StringVar(&req.assignment, "replica-assignment", "", "brokers of each partition, as 0:1,1:2 for two partitions with two replicas")
	f.BoolVar(&req.ifNotExists, "if-not-exists", false, "succeed when the topic exists already")
	f.BoolVar(&req.validate, "validate-only", false, "ask whether it would work, without doing it")
	return c
}

type newTopic struct {
	partitions  int32
	replicas    int16
	configs     []string
	assignment  string
	ifNotExists bool
	validate    bool
}

// createdTopic is what is told about one new topic.
type createdTopic struct {
	Topic      string `json:"topic"`
	Partitions int32  `json:"partitions"`
	Replicas   int16  `json:"replication_factor"`
	Existed    bool   `json:"existed,omitempty"`
}

func (r *newTopic) request(names []string) (*kmsg.CreateTopicsRequest, error) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.ValidateOnly = r.validate
	assignment, err := parseAssignment(r.assignment)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, r.partitions, r.replicas
		if assignment != nil {
			if r.partitions != -1 || r.replicas != -1 {
				return nil, usageError("--replica-assignment already says how many partitions and replicas there are")
			}
			t.ReplicaAssignment = assignment
		}
		for _, text := range r.configs {
			key, value, err := config.ParseOverride(text)
			if err != nil {
				return nil, usageError("--config %v", err)
			}
			entry := kmsg.NewCreateTopicsRequestTopicConfig()
			entry.Name, entry.Value = key, &value
			t.Configs = append(t.Configs, entry)
		}
		req.Topics = append(req.Topics, t)
	}
	return req, nil
}

func parseAssignment(text string) (out []kmsg.CreateTopicsRequestTopicReplicaAssignment, err error) {
	if text == "" {
		return nil, nil
	}
	for i, part := range strings.Split(text, ",") {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition = int32(i)
		for _, b := range strings.Split(part, ":") {
			id, err := strconv.ParseInt(strings.TrimSpace(b), 10, 32)
			if err != nil {
				return nil, usageError("--replica-assignment %s: %q is no broker number", text, b)
			}
			a.Replicas = append(a.Replicas, int32(id))
		}
		out = append(out, a)
	}
	return out, nil
}

func (r *newTopic) create(ctx context.Context, conn *connection, client *kgo.Client, names []string) error {
	req, err := r.request(names)
	if err != nil {
		return err
	}
	req.TimeoutMillis = int32(conn.timeout.Milliseconds())
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	done := []createdTopic{}
	var failed error
	for _, t := range resp.Topics {
		made := createdTopic{Topic: t.Topic, Partitions: t.NumPartitions, Replicas: t.ReplicationFactor}
		code := kerr.ErrorForCode(t.ErrorCode)
		if made.Existed = code == kerr.TopicAlreadyExists && r.ifNotExists; made.Existed {
			code = nil
		}
		if code == nil {
			done = append(done, made)
		} else if failed == nil {
			failed = brokerError("topic "+t.Topic, code, text(t.ErrorMessage))
		}
	}
	if err := r.report(conn, done); err != nil {
		return err
	}
	return failed
}

func (r *newTopic) report(conn *connection, done []createdTopic) error {
	if conn.json {
		return printJSON(conn.std.out, done)
	}
	for _, t := range done {
		if strings.ContainsAny(t.Topic, "._") && !t.Existed {
			fmt.Fprintf(conn.std.err, "WARNING: topics whose names differ only in . and _ share their metric names: %s\n", t.Topic)
		}
		word := "Created topic "
		switch {
		case t.Existed:
			word = "Topic exists already: "
		case r.validate:
			word = "Could be created: topic "
		}
		if _, err := fmt.Fprintf(conn.std.out, "%s%s.\n", word, t.Topic); err != nil {
			return err
		}
	}
	return nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func topicsList(conn *connection) *cobra.Command {
	var noInternal bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List topics",
		Example: "  pelton topics list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, a *kadm.Client) error {
				all, err := a.ListTopicsWithInternal(ctx)
				if err != nil {
					return err
				}
				names := make([]string, 0, len(all))
				for _, t := range all.Sorted() {
					if !noInternal || !t.IsInternal {
						names = append(names, t.Topic)
					}
				}
				if conn.json {
					return printJSON(conn.std.out, names)
				}
				for _, n := range names {
					fmt.Fprintln(conn.std.out, n)
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&noInternal, "exclude-internal", false, "leave out topics of the broker itself")
	return c
}

func topicsAlter(conn *connection) *cobra.Command {
	var partitions int
	c := &cobra.Command{
		Use:     "alter NAME...",
		Short:   "Add partitions to topics",
		Example: "  pelton topics alter logs --partitions 12",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if partitions <= 0 {
				return usageError("say how many partitions there shall be: --partitions N (configs are changed by 'pelton configs alter')")
			}
			return conn.admin(cmd.Context(), func(ctx context.Context, a *kadm.Client) error {
				resp, err := a.UpdatePartitions(ctx, partitions, names...)
				if err != nil {
					return err
				}
				done := newOutcome(conn)
				for _, r := range resp.Sorted() {
					if r.Err != nil {
						return done.print(brokerError("topic "+r.Topic, r.Err, r.ErrMessage))
					}
					done.add(map[string]any{"topic": r.Topic, "partitions": partitions}, "Topic %s has %s now.", r.Topic, plural(partitions, "partition"))
				}
				fmt.Fprintln(conn.std.err, "WARNING: with more partitions, records with a key go to other partitions than before")
				return done.print(nil)
			})
		},
	}
	c.Flags().IntVarP(&partitions, "partitions", "p", 0, "new number of partitions")
	return c
}

func topicsDelete(conn *connection) *cobra.Command {
	var ifExists bool
	c := &cobra.Command{
		Use:     "delete NAME...",
		Short:   "Delete topics and their data",
		Example: "  pelton topics delete logs",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, a *kadm.Client) error {
				resp, err := a.DeleteTopics(ctx, names...)
				if err != nil {
					return err
				}
				list := resp.Sorted()
				sort.SliceStable(list, func(i, j int) bool { return list[i].Topic < list[j].Topic })
				done := newOutcome(conn)
				for _, r := range list {
					if ifExists && r.Err == kerr.UnknownTopicOrPartition {
						continue
					}
					if r.Err != nil {
						return done.print(brokerError("topic "+r.Topic, r.Err, r.ErrMessage))
					}
					done.add(map[string]any{"topic": r.Topic}, "Deleted topic %s.", r.Topic)
				}
				return done.print(nil)
			})
		},
	}
	c.Flags().BoolVar(&ifExists, "if-exists", false, "succeed when there is no such topic")
	return c
}
