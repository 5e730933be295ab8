package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/pelton-broker/pelton/internal/config"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

// producing is one run of pelton produce.
type producing struct {
	conn        *connection
	topic       string
	separator   string
	nullValues  bool
	partition   int32
	compression string
	acks        string
	headers     []string
	headerList  []kgo.RecordHeader
	acksGiven   bool

	sent     int64
	failed   atomic.Int64
	firstErr atomic.Pointer[error]
}

func produceCommand(std streams) *cobra.Command {
	p := &producing{conn: &connection{std: std}}
	c := &cobra.Command{
		Use:   "produce TOPIC",
		Short: "Write each line of standard input as a record",
		Long: `Write each line of standard input as a record, without its newline.

With -k the line is cut at the first separator into key and value, and a record goes to the partition of its key, as the
Java client places it. The exit code is not 0 when a record could not be delivered.`,
		Example: `  pelton produce logs < some.log
  printf 'k1=v1\nk2=v2\n' | pelton produce logs -k =
  pelton produce logs -p 3 --compression zstd --acks all < some.log`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.topic, p.acksGiven = args[0], cmd.Flags().Changed("acks")
			return p.run(cmd.Context())
		},
	}
	p.conn.flags(c)
	f := c.Flags()
	f.StringVarP(&p.separator, "key-separator", "k", "", "cut each line into key and value at this text; \\t is a tab")
	f.Int32VarP(&p.partition, "partition", "p", -1, "write to this partition only")
	f.StringVarP(&p.compression, "compression", "z", "none", "none, gzip, snappy, lz4 or zstd")
	f.StringVar(&p.acks, "acks", "all", "0: do not wait, 1: the leader has it, all: every replica in sync has it")
	f.BoolVarP(&p.nullValues, "null", "Z", false, "an empty value (or key) is sent as null")
	f.StringArrayVarP(&p.headers, "header", "H", nil, "header key=value on every record, may be repeated")
	return c
}

func (p *producing) options() ([]kgo.Opt, error) {
	props, err := p.conn.properties()
	if err != nil {
		return nil, err
	}
	compression, err := compressionOption(p.compression)
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		compression,
		kgo.AllowAutoTopicCreation(),
		kgo.MaxBufferedRecords(1 << 18),
		kgo.MaxBufferedBytes(128 << 20),
		kgo.ProducerBatchMaxBytes(1000000),
		kgo.ProducerLinger(2 * time.Millisecond),
		kgo.UnknownTopicRetries(4),
	}
	if p.partition >= 0 {
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	acks := p.acks
	for _, key := range [...]string{"acks", "request.required.acks"} {
		if v, ok := props[key]; ok && !p.acksGiven {
			acks = v
		}
	}
	idempotent := props["enable.idempotence"] != "false"
	switch acks {
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "all", "-1":
		if !idempotent {
			opts = append(opts, kgo.DisableIdempotentWrite())
		}
	default:
		return nil, usageError("--acks %s: must be 0, 1 or all", acks)
	}
	for _, h := range p.headers {
		key, value, err := config.ParseOverride(h)
		if err != nil {
			return nil, usageError("-H %v", err)
		}
		p.headerList = append(p.headerList, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	return opts, nil
}

func (p *producing) run(ctx context.Context) error {
	defer relaxCollector()()
	opts, err := p.options()
	if err != nil {
		return err
	}
	client, err := p.conn.dial(ctx, opts...)
	if err != nil {
		return err
	}
	defer client.Close()
	readErr := p.feed(ctx, client)
	// What was read is delivered even when the reading was interrupted.
	if err := client.Flush(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if first := p.firstErr.Load(); first != nil {
		return fmt.Errorf("%d of %d records were not delivered: %w", p.failed.Load(), p.sent, *first)
	}
	if p.conn.json {
		return errors.Join(readErr, printJSON(p.conn.std.out, map[string]any{"topic": p.topic, "records": p.sent}))
	}
	return readErr
}

// feed turns lines into records until the input ends, the user stops it or a record fails.
func (p *producing) feed(ctx context.Context, client *kgo.Client) error {
	lines := newLineReader(p.conn.std.in)
	separator := unescape(p.separator)
	done := func(_ *kgo.Record, err error) {
		if err != nil {
			p.failed.Add(1)
			p.firstErr.CompareAndSwap(nil, &err)
		}
	}
	var slab []kgo.Record
	for p.firstErr.Load() == nil && ctx.Err() == nil {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		if len(slab) == 0 {
			slab = make([]kgo.Record, 256)
		}
		r := &slab[0]
		slab = slab[1:]
		r.Topic, r.Partition, r.Headers, r.Value = p.topic, p.partition, p.headerList, line
		if len(separator) > 0 {
			if key, value, ok := bytes.Cut(line, separator); ok {
				r.Key, r.Value = key, value
			}
		}
		if p.nullValues {
			r.Key, r.Value = nilWhenEmpty(r.Key), nilWhenEmpty(r.Value)
		}
		p.sent++
		client.Produce(context.Background(), r, done)
	}
	return nil
}

func nilWhenEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}
