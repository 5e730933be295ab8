package main

import (
	"context"
	"fmt"
	"sort"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

type logDirView struct {
	Broker     int32              `json:"broker"`
	Dir        string             `json:"dir"`
	Error      string             `json:"error,omitempty"`
	Cause      string             `json:"cause,omitempty"`               // with --admin: why it is offline
	Recovering *int64             `json:"recovering_logs,omitempty"`     // with --admin: logs that are not served yet since an unclean stop
	Segments   *int64             `json:"recovering_segments,omitempty"` // with --admin: what those have yet to read
	Total      int64              `json:"total_bytes"`
	Usable     int64              `json:"usable_bytes"`
	Partitions []logPartitionView `json:"partitions"`
}

type logPartitionView struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Size      int64  `json:"size_bytes"`
	Lag       int64  `json:"offset_lag"`
	Future    bool   `json:"future"`
	Durable   *int64 `json:"durable_offset,omitempty"` // with --admin: everything below it is on the disk
	End       *int64 `json:"end_offset,omitempty"`
	// Uncleanable is, with --admin, why the partition is not compacted any more.
	Uncleanable string `json:"uncleanable,omitempty"`
}

func logDirsCommand(std streams) *cobra.Command {
	conn := &connection{std: std}
	var topics []string
	var all bool
	var admin string
	c := &cobra.Command{
		Use:     "log-dirs",
		Short:   "Show the log directories of the brokers and what is in them",
		Example: "  pelton log-dirs\n  pelton log-dirs --topic logs --partitions --admin 127.0.0.1:9644",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return conn.admin(cmd.Context(), func(ctx context.Context, a *kadm.Client) error {
				views, err := logDirs(ctx, a, topics)
				if err == nil && admin != "" {
					err = addDurability(ctx, admin, views)
				}
				if err != nil {
					return err
				}
				if conn.json {
					return printJSON(std.out, views)
				}
				return printLogDirs(conn, views, all || len(topics) > 0)
			})
		},
	}
	conn.flags(c)
	c.Flags().StringSliceVar(&topics, "topic", nil, "only these topics")
	c.Flags().StringVar(&admin, "admin", "", "a broker's admin.listener: shows, for its directories, up to where each partition is on the disk, why a directory is offline, and how far its recovery is")
	c.Flags().BoolVar(&all, "partitions", false, "list every partition")
	c.AddCommand(logDirsMoveCommand(std))
	return c
}

func logDirs(ctx context.Context, a *kadm.Client, topics []string) ([]logDirView, error) {
	var set kadm.TopicsSet
	if len(topics) > 0 {
		details, err := a.ListTopicsWithInternal(ctx, topics...)
		if err != nil {
			return nil, err
		}
		for _, d := range details.Sorted() {
			if d.Err != nil {
				return nil, fmt.Errorf("topic %s: %w", d.Topic, d.Err)
			}
		}
		set = details.TopicsSet()
	}
	all, err := a.DescribeAllLogDirs(ctx, set)
	if err != nil {
		return nil, err
	}
	views := []logDirView{}
	for _, d := range all.Sorted() {
		v := logDirView{Broker: d.Broker, Dir: d.Dir, Total: d.TotalBytes, Usable: d.UsableBytes, Partitions: []logPartitionView{}}
		if d.Err != nil {
			v.Error = d.Err.Error()
		}
		for topic, partitions := range d.Topics {
			for p, at := range partitions {
				v.Partitions = append(v.Partitions, logPartitionView{Topic: topic, Partition: p, Size: at.Size, Lag: at.OffsetLag, Future: at.IsFuture})
			}
		}
		sort.Slice(v.Partitions, func(i, j int) bool {
			x, y := v.Partitions[i], v.Partitions[j]
			return x.Topic < y.Topic || x.Topic == y.Topic && x.Partition < y.Partition
		})
		views = append(views, v)
	}
	return views, nil
}

// uncleanable counts the partitions that are not compacted any more.
func (v *logDirView) uncleanable() (n int) {
	for _, p := range v.Partitions {
		if p.Uncleanable != "" {
			n++
		}
	}
	return n
}

func printLogDirs(conn *connection, views []logDirView, partitions bool) error {
	t := newTable("BROKER", "DIR", "STATE", "PARTITIONS", "SIZE", "USABLE", "TOTAL")
	for _, v := range views {
		state, size := "online", int64(0)
		if v.Error != "" {
			state = v.Error
		}
		if v.Cause != "" {
			state += ": " + v.Cause
		}
		if v.Recovering != nil && *v.Recovering > 0 {
			state += fmt.Sprintf(", %d logs recovering (%s segments)", *v.Recovering, known(v.Segments))
		}
		for _, p := range v.Partitions {
			size += p.Size
		}
		if n := v.uncleanable(); n > 0 {
			state += fmt.Sprintf(", %d partitions uncleanable", n)
		}
		t.add(v.Broker, v.Dir, state, len(v.Partitions), humanBytes(size), humanBytes(v.Usable), humanBytes(v.Total))
	}
	if err := t.print(conn.std.out); err != nil || !partitions {
		return err
	}
	fmt.Fprintln(conn.std.out)
	t = newTable("BROKER", "DIR", "TOPIC", "PARTITION", "SIZE", "LAG", "DURABLE", "END", "STATE")
	for _, v := range views {
		for _, p := range v.Partitions {
			state := ""
			if p.Uncleanable != "" {
				state = "uncleanable: " + p.Uncleanable
			}
			t.add(v.Broker, v.Dir, p.Topic, p.Partition, humanBytes(p.Size), p.Lag, known(p.Durable), known(p.End), state)
		}
	}
	return t.print(conn.std.out)
}
