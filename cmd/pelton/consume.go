package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// consuming is one run of pelton consume.
type consuming struct {
	conn       *connection
	topic      string
	group      string
	offset     string
	count      int64
	untilEnd   bool
	partitions []int32
	formatText string
	idleLimit  time.Duration

	client  *kgo.Client
	out     *bufio.Writer
	format  *format
	scratch []byte
	printed int64
	ends    *endTracker // nil without -e
}

func consumeCommand(std streams) *cobra.Command {
	v := &consuming{conn: &connection{std: std}}
	c := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Print the records of a topic, each value followed by a newline",
		Example: `  pelton consume logs -o beginning -e
  pelton consume logs -g readers -f '%t %p %o %k: %s\n'
  pelton consume logs -p 0 -o -10 -e
  pelton consume logs -o @2026-01-31T12:00:00Z -c 100 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v.topic = args[0]
			if v.group != "" && len(v.partitions) > 0 {
				return usageError("-p and -g exclude each other: a group's members are given their partitions")
			}
			return v.run(cmd.Context())
		},
	}
	v.conn.flags(c)
	f := c.Flags()
	f.StringVarP(&v.group, "group", "g", "", "consume as a member of this group and commit what was printed")
	f.StringVarP(&v.group, "kcat-group", "G", "", "the same, in kcat's letter")
	_ = f.MarkHidden("kcat-group")
	f.StringVarP(&v.offset, "offset", "o", "", "where to begin: beginning, end, N, -N (the last N), @time; default end, in a group where it stopped")
	f.Int64VarP(&v.count, "count", "c", 0, "stop after so many records")
	f.BoolVarP(&v.untilEnd, "exit", "e", false, "stop at the end")
	f.DurationVar(&v.idleLimit, "idle-timeout", 0, "stop when nothing came for so long")
	f.Int32SliceVarP(&v.partitions, "partition", "p", nil, "only these partitions")
	f.StringVarP(&v.formatText, "format", "f", "", `print by kcat's directives: %t %p %o %k %K %s %S %T %h %R %%, \n \t \xHH`)
	return c
}

func (v *consuming) options() ([]kgo.Opt, error) {
	offset := v.offset
	if offset == "" {
		props, err := v.conn.properties()
		if err != nil {
			return nil, err
		}
		offset = "end"
		if reset := props["auto.offset.reset"]; reset != "" {
			offset = reset
		}
	}
	start, err := parseStart(offset)
	if err != nil {
		return nil, err
	}
	if v.formatText != "" {
		if v.format, err = parseFormat(v.formatText); err != nil {
			return nil, err
		}
	}
	opts := []kgo.Opt{
		kgo.ConsumeResetOffset(start.offset()),
		kgo.FetchMaxBytes(50 << 20),
		kgo.FetchMaxPartitionBytes(4 << 20),
		kgo.FetchMaxWait(500 * time.Millisecond),
		kgo.MaxConcurrentFetches(4),
	}
	if v.untilEnd {
		opts = append(opts, kgo.KeepControlRecords()) // markers count as progress towards the end
	}
	if v.group != "" {
		opts = append(opts, kgo.ConsumerGroup(v.group), kgo.ConsumeTopics(v.topic), kgo.AutoCommitMarks(), kgo.BlockRebalanceOnPoll())
		if v.untilEnd {
			opts = append(opts, kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { v.ends.assign(got[v.topic]) }),
				kgo.OnPartitionsLost(v.revoked), kgo.OnPartitionsRevoked(func(ctx context.Context, c *kgo.Client, gone map[string][]int32) {
					_ = c.CommitMarkedOffsets(ctx) // what was printed is not printed again by the next owner
					v.revoked(ctx, c, gone)
				}))
		}
	}
	return opts, nil
}

func (v *consuming) revoked(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	v.ends.revoke(gone[v.topic])
}

func (v *consuming) run(ctx context.Context) (err error) {
	defer relaxCollector()()
	opts, err := v.options()
	if err != nil {
		return err
	}
	if v.untilEnd {
		v.ends = newEndTracker()
	}
	if v.client, err = v.conn.dial(ctx, opts...); err != nil {
		return err
	}
	defer v.client.Close()
	if err := v.prepare(ctx); err != nil {
		return err
	}
	v.out = bufio.NewWriterSize(v.conn.std.out, 1<<20)
	err = v.loop(ctx)
	if flushErr := v.out.Flush(); err == nil {
		err = flushErr
	}
	if v.group != "" {
		if v.ends != nil {
			v.client.MarkCommitOffsets(v.ends.positions(v.topic))
		}
		commitContext, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.conn.timeout)
		defer cancel()
		if commitErr := v.client.CommitMarkedOffsets(commitContext); err == nil && commitErr != nil {
			err = fmt.Errorf("group %s: could not commit: %w", v.group, commitErr)
		}
		v.client.LeaveGroup()
	}
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled) {
		return nil // the reader of our output has enough, or the user has
	}
	return err
}

// prepare makes sure that the topic exists, and without a group names every partition that is to be read.
func (v *consuming) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, v.conn.timeout)
	defer cancel()
	admin := kadm.NewClient(v.client)
	details, err := admin.ListTopicsWithInternal(ctx, v.topic)
	if err != nil {
		return err
	}
	topic := details[v.topic]
	if topic.Err != nil {
		return fmt.Errorf("topic %s: %w", v.topic, topic.Err)
	}
	wanted := v.partitions
	if len(wanted) == 0 {
		wanted = topic.Partitions.Numbers()
	}
	for _, p := range wanted {
		if _, ok := topic.Partitions[p]; !ok {
			return usageError("topic %s has no partition %d; it has 0 to %d", v.topic, p, len(topic.Partitions)-1)
		}
	}
	if v.untilEnd {
		if err := v.ends.load(ctx, admin, v.topic); err != nil {
			return err
		}
	}
	if v.group == "" {
		return v.assign(ctx, admin, wanted)
	}
	return nil
}

// assign resolves the start of each partition itself, so that -e knows at once which of them have nothing to read.
func (v *consuming) assign(ctx context.Context, admin *kadm.Client, partitions []int32) error {
	start, err := parseStart(v.offsetOrEnd())
	if err != nil {
		return err
	}
	at := map[int32]kgo.Offset{}
	for _, p := range partitions {
		at[p] = start.offset()
	}
	if v.untilEnd {
		begins, err := v.ends.begin(ctx, admin, v.topic, start)
		if err != nil {
			return err
		}
		for _, p := range partitions {
			at[p] = kgo.NewOffset().At(begins[p])
			v.ends.want(p, begins[p])
		}
	}
	v.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{v.topic: at})
	return nil
}

func (v *consuming) offsetOrEnd() string {
	if v.offset != "" {
		return v.offset
	}
	if props, err := v.conn.properties(); err == nil && props["auto.offset.reset"] != "" {
		return props["auto.offset.reset"]
	}
	return "end"
}

// loop prints until the count, the end, or the user says stop. Output is flushed whenever nothing waits.
func (v *consuming) loop(ctx context.Context) error {
	heard := time.Now()
	for !v.finished() {
		wait, cancel := context.WithTimeout(ctx, time.Second)
		if v.out.Buffered() > 0 {
			cancel()
			wait, cancel = context.WithTimeout(ctx, 5*time.Millisecond)
		}
		fetches := v.client.PollRecords(wait, 0)
		cancel()
		if err := v.take(ctx, fetches); err != nil {
			return err
		}
		if v.group != "" {
			v.client.AllowRebalance()
		}
		if fetches.NumRecords() > 0 {
			heard = time.Now()
		} else {
			if v.idleLimit > 0 && time.Since(heard) >= v.idleLimit {
				return nil
			}
			if err := v.out.Flush(); err != nil {
				return err
			}
			if err := v.idle(ctx); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// idle finds out, when nothing comes, whether there is still something to come.
func (v *consuming) idle(ctx context.Context) error {
	if !v.untilEnd {
		return nil
	}
	if v.group != "" {
		if err := v.ends.lookUp(ctx, kadm.NewClient(v.client), v.group, v.topic, v.offsetOrEnd()); err != nil {
			return err
		}
	}
	return v.ends.probe(ctx, v.client, v.topic)
}

func (v *consuming) finished() bool {
	return v.count > 0 && v.printed >= v.count || v.untilEnd && v.ends.reached()
}

func (v *consuming) take(ctx context.Context, fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		if ctx.Err() == nil && !errors.Is(e.Err, context.DeadlineExceeded) && !kerr.IsRetriable(e.Err) {
			return fmt.Errorf("topic %s partition %d: %w", e.Topic, e.Partition, e.Err)
		}
	}
	var err error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if err == nil && !v.countReached() {
			err = v.print(p)
		}
	})
	return err
}

func (v *consuming) countReached() bool { return v.count > 0 && v.printed >= v.count }

// print writes a partition's records and remembers how far it came.
func (v *consuming) print(p kgo.FetchTopicPartition) error {
	var last *kgo.Record
	for _, r := range p.Records {
		if v.countReached() {
			break
		}
		if v.ends != nil && v.ends.past(p.Partition, r.Offset) {
			break // came after the end that -e means: neither printed nor committed
		}
		last = r
		if r.Attrs.IsControl() {
			continue
		}
		v.printed++
		if err := v.write(r); err != nil {
			return err
		}
	}
	if last == nil {
		return nil
	}
	if v.group != "" {
		v.client.MarkCommitRecords(last)
	}
	if v.ends != nil {
		v.ends.advance(p.Partition, last.Offset+1)
	}
	return nil
}

func (v *consuming) write(r *kgo.Record) error {
	switch {
	case v.conn.json:
		line, err := json.Marshal(envelope(r))
		if err != nil {
			return err
		}
		v.scratch = append(append(v.scratch[:0], line...), '\n')
	case v.format != nil:
		v.scratch = v.format.append(v.scratch[:0], r)
	default:
		if _, err := v.out.Write(r.Value); err != nil {
			return err
		}
		return v.out.WriteByte('\n')
	}
	_, err := v.out.Write(v.scratch)
	return err
}

// jsonRecord is kcat's envelope.
type jsonRecord struct {
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	TimeType  string   `json:"tstype"`
	Time      int64    `json:"ts"`
	Headers   []string `json:"headers,omitempty"`
	Key       *string  `json:"key"`
	Payload   *string  `json:"payload"`
}

func envelope(r *kgo.Record) jsonRecord {
	e := jsonRecord{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, TimeType: "create", Time: r.Timestamp.UnixMilli(), Key: textOf(r.Key), Payload: textOf(r.Value)}
	if r.Attrs.TimestampType() == 1 {
		e.TimeType = "logappend"
	}
	for _, h := range r.Headers {
		e.Headers = append(e.Headers, h.Key, string(h.Value))
	}
	return e
}

func textOf(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}
