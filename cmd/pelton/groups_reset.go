package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// resetRequest says where a group's offsets shall go.
type resetRequest struct {
	topics                      []string // NAME or NAME:0,1
	allTopics, earliest, latest bool
	current, execute            bool
	toOffset, shift             int64
	hasOffset, hasShift         bool
	at                          string
	by                          time.Duration
}

func groupsReset(conn *connection) *cobra.Command {
	r := &resetRequest{}
	c := &cobra.Command{
		Use:   "reset-offsets GROUP",
		Short: "Move a group's committed offsets; without --execute only show where they would go",
		Example: `  pelton groups reset-offsets readers --topic logs --to-earliest --execute
  pelton groups reset-offsets readers --topic logs:0,2 --shift-by -100
  pelton groups reset-offsets readers --all-topics --to-datetime 2026-01-31T12:00:00Z`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.hasOffset, r.hasShift = cmd.Flags().Changed("to-offset"), cmd.Flags().Changed("shift-by")
			return conn.admin(cmd.Context(), func(ctx context.Context, a *kadm.Client) error { return r.run(ctx, conn, a, args[0]) })
		},
	}
	f := c.Flags()
	f.StringArrayVar(&r.topics, "topic", nil, "topic, or topic:partition,... may be repeated")
	f.BoolVar(&r.allTopics, "all-topics", false, "every topic that the group has offsets for")
	f.BoolVar(&r.earliest, "to-earliest", false, "to the first offset")
	f.BoolVar(&r.latest, "to-latest", false, "to the next offset")
	f.BoolVar(&r.current, "to-current", false, "to where they are")
	f.Int64Var(&r.toOffset, "to-offset", 0, "to this offset")
	f.Int64Var(&r.shift, "shift-by", 0, "forward by so many, backward when negative")
	f.StringVar(&r.at, "to-datetime", "", "to the first record at or after this time (RFC 3339, or milliseconds)")
	f.DurationVar(&r.by, "by-duration", 0, "to the first record of the last so long, as 1h30m")
	f.BoolVar(&r.execute, "execute", false, "do it")
	return c
}

type resetView struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Before    *int64 `json:"before"`
	After     int64  `json:"after"`
}

func (r *resetRequest) run(ctx context.Context, conn *connection, a *kadm.Client, group string) error {
	if err := r.check(); err != nil {
		return err
	}
	committed, err := a.FetchOffsets(ctx, group)
	if err != nil {
		return fmt.Errorf("group %s: %w", group, err)
	}
	wanted, err := r.wanted(ctx, a, committed)
	if err != nil {
		return err
	}
	views, err := r.plan(ctx, a, committed, wanted)
	if err != nil {
		return err
	}
	if r.execute {
		offsets := kadm.Offsets{}
		for _, v := range views {
			offsets.AddOffset(v.Topic, v.Partition, v.After, -1)
		}
		if err := a.CommitAllOffsets(ctx, group, offsets); err != nil {
			return fmt.Errorf("group %s: %w. Offsets move only while the group has no members", group, err)
		}
	}
	if conn.json {
		return printJSON(conn.std.out, views)
	}
	t := newTable("TOPIC", "PARTITION", "BEFORE", "AFTER")
	for _, v := range views {
		t.add(v.Topic, v.Partition, shownOffset(v.Before), v.After)
	}
	if err := t.print(conn.std.out); err != nil {
		return err
	}
	if !r.execute {
		fmt.Fprintln(conn.std.err, "Nothing was changed; add --execute to do it.")
	}
	return nil
}

func (r *resetRequest) check() error {
	given := 0
	for _, set := range [...]bool{r.earliest, r.latest, r.current, r.hasOffset, r.hasShift, r.at != "", r.by != 0} {
		if set {
			given++
		}
	}
	if given != 1 {
		return usageError("say where to: one of --to-earliest, --to-latest, --to-current, --to-offset, --shift-by, --to-datetime, --by-duration")
	}
	if r.allTopics == (len(r.topics) > 0) {
		return usageError("say which topics: --topic NAME (may be repeated) or --all-topics")
	}
	return nil
}

// wanted are the partitions that are meant.
func (r *resetRequest) wanted(ctx context.Context, a *kadm.Client, committed kadm.OffsetResponses) (kadm.TopicsSet, error) {
	set := kadm.TopicsSet{}
	if r.allTopics {
		for topic, partitions := range committed {
			for p := range partitions {
				set.Add(topic, p)
			}
		}
		return set, nil
	}
	for _, text := range r.topics {
		name, list, some := strings.Cut(text, ":")
		if some {
			for _, p := range strings.Split(list, ",") {
				n, err := strconv.ParseInt(p, 10, 32)
				if err != nil {
					return nil, usageError("--topic %s: %q is no partition", text, p)
				}
				set.Add(name, int32(n))
			}
			continue
		}
		details, err := a.ListTopicsWithInternal(ctx, name)
		if err != nil {
			return nil, err
		}
		if err := details[name].Err; err != nil {
			return nil, fmt.Errorf("topic %s: %w", name, err)
		}
		set.Add(name, details[name].Partitions.Numbers()...)
	}
	return set, nil
}

// plan computes the new offsets, kept between the first and the next offset of each partition.
func (r *resetRequest) plan(ctx context.Context, a *kadm.Client, committed kadm.OffsetResponses, wanted kadm.TopicsSet) ([]resetView, error) {
	topics := wanted.Topics()
	starts, err := a.ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, err
	}
	ends, err := a.ListEndOffsets(ctx, topics...)
	if err != nil {
		return nil, err
	}
	var timed kadm.ListedOffsets
	if r.at != "" || r.by != 0 {
		ms := time.Now().Add(-r.by).UnixMilli()
		if r.at != "" {
			if ms, err = parseTime(r.at); err != nil {
				return nil, usageError("--to-datetime %v", err)
			}
		}
		if timed, err = a.ListOffsetsAfterMilli(ctx, ms, topics...); err != nil {
			return nil, err
		}
	}
	views := []resetView{}
	for _, tp := range wanted.Sorted() {
		for _, p := range tp.Partitions {
			start, end := offsetOf(starts, tp.Topic, p), offsetOf(ends, tp.Topic, p)
			if start == nil || end == nil {
				return nil, fmt.Errorf("topic %s has no partition %d, or it has no leader", tp.Topic, p)
			}
			v := resetView{Topic: tp.Topic, Partition: p}
			if c, ok := committed.Lookup(tp.Topic, p); ok && c.Err == nil && c.At >= 0 {
				v.Before = &c.At
			}
			v.After = min(max(r.target(v.Before, *start, *end, offsetOf(timed, tp.Topic, p)), *start), *end)
			views = append(views, v)
		}
	}
	return views, nil
}

func (r *resetRequest) target(before *int64, start, end int64, timed *int64) int64 {
	now := end
	if before != nil {
		now = *before
	}
	switch {
	case r.earliest:
		return start
	case r.hasOffset:
		return r.toOffset
	case r.hasShift:
		return now + r.shift
	case r.current:
		return now
	case timed != nil:
		return *timed
	}
	return end
}

// parseTime reads a time as milliseconds since 1970 or in RFC 3339.
func parseTime(text string) (int64, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return ms, nil
	}
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05.000", "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("%q is neither milliseconds nor a time like 2026-01-31T12:00:00Z", text)
}
