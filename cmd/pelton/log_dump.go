package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/inspect"
	"github.com/pelton-broker/pelton/logstore/producer"
)

// logDump prints what is in files, one line or one JSON document for each thing.
type logDump struct {
	out     *bufio.Writer
	json    bool
	records bool
	from    int64
	count   int64
	parse   inspect.Parser
	it      batch.Iterator
	table   []int // widths of the columns of the table that is being printed
}

func logDumpCommand(std streams) *cobra.Command {
	d := &logDump{}
	kafka := &kafkaDumpFlags{}
	var offsets, txns bool
	c := &cobra.Command{
		Use:   "dump PATH...",
		Short: "Print the batches of logs, their records, indexes, snapshots, checkpoints",
		Long: `Print what is in files: the batches of a log, with --records also the records; the entries of indexes, transaction indexes and
producer snapshots; checkpoints. A directory stands for the logs in it. With --json there is one document a line.`,
		Example: "  pelton log dump data/logs/orders-0\n  pelton log dump --records --offset 1000 --count 5 data/logs/orders-0/00000000000000000000.log\n" +
			"  kafka-dump-log --deep-iteration --files data/logs/orders-0/00000000000000000000.log",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if kafka.on {
				return kafka.run(std, args)
			}
			switch d.parse = plainText; {
			case offsets:
				d.parse, d.records = inspect.Offsets(), true
			case txns:
				d.parse, d.records = inspect.TxnLog(), true
			}
			files, err := expandLogs(args)
			if err != nil {
				return err
			}
			return d.run(std.out, files)
		},
	}
	fs := c.Flags()
	fs.BoolVar(&d.json, "json", false, "one JSON document a line")
	fs.BoolVar(&d.records, "records", false, "print every record")
	fs.Int64Var(&d.from, "offset", 0, "begin at this offset")
	fs.Int64Var(&d.count, "count", 0, "end after so many batches, or records with --records")
	fs.BoolVar(&offsets, "offsets", false, "records are those of __consumer_offsets")
	fs.BoolVar(&txns, "transactions", false, "records are those of __transaction_state")
	kafka.flags(c)
	return c
}

// plainText shows keys and values quoted, so that a line stays a line.
func plainText(r *batch.Record) (key, value *string, err error) {
	show := func(b []byte) *string {
		if b == nil {
			return nil
		}
		s := strconv.Quote(string(b))
		return &s
	}
	return show(r.Key), show(r.Value), nil
}

func (d *logDump) run(w io.Writer, files []string) error {
	d.out = bufio.NewWriterSize(w, 64<<10)
	for i, f := range files {
		if len(files) > 1 && !d.json {
			if i > 0 {
				fmt.Fprintln(d.out)
			}
			fmt.Fprintf(d.out, "%s\n", f)
		}
		err := d.one(f)
		if e := d.out.Flush(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *logDump) one(path string) error {
	name := filepath.Base(path)
	_, suffix, _ := logstore.ParseFileName(name)
	if suffix == "" {
		suffix = filepath.Ext(name)
	}
	switch suffix {
	case ".log":
		return d.log(path)
	case ".index", ".timeindex":
		return d.index(path)
	}
	raw, err := disk.OS().ReadFile(path)
	if err != nil {
		return err
	}
	switch {
	case suffix == ".snapshot":
		return d.snapshot(path, raw)
	case suffix == ".txnindex":
		return d.txnIndex(path, raw)
	case name == logstore.EpochFile:
		list, err := logstore.DecodeEpochs(raw)
		d.heading("EPOCH", "START")
		for _, e := range list {
			d.line([]string{"epoch", "start"}, e.Epoch, e.Start)
		}
		return named(path, err)
	case name == logstore.PartitionFile:
		id, err := logstore.DecodePartition(raw)
		if err == nil {
			d.line([]string{"topic_id"}, fmt.Sprintf("%x", id))
		}
		return named(path, err)
	case name == logstore.MetaFile:
		m, err := logstore.DecodeMeta(raw)
		if err == nil {
			d.heading("VERSION", "BROKER", "CLUSTER", "DIRECTORY")
			d.line([]string{"version", "broker", "cluster", "directory"}, m.Version, m.BrokerID, m.ClusterID, m.DirID)
		}
		return named(path, err)
	}
	for _, c := range logstore.CheckpointFiles() {
		if c == name {
			return d.checkpoint(path, raw)
		}
	}
	return fmt.Errorf("%s: not a file of a log: .log, .index, .timeindex, .txnindex, .snapshot or a checkpoint", path)
}

func named(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}

// heading begins a table; rows get its widths.
func (d *logDump) heading(names ...string) {
	if d.json {
		return
	}
	d.table = d.table[:0]
	for i, n := range names {
		width := max(len(n), 10)
		if n == "TIMESTAMP" {
			width = 24
		}
		d.table = append(d.table, width)
		d.cell(i, len(names), n)
	}
}

func (d *logDump) cell(i, n int, text string) {
	if i == n-1 {
		fmt.Fprintln(d.out, text)
		return
	}
	width := 0
	if i < len(d.table) {
		width = d.table[i]
	}
	fmt.Fprintf(d.out, "%-*s  ", width, text)
}

// line prints one thing.
func (d *logDump) line(names []string, values ...any) {
	if d.json {
		d.document(names, values)
		return
	}
	for i, v := range values {
		text := ""
		switch v := v.(type) {
		case *string:
			if v != nil {
				text = *v
			}
		default:
			text = fmt.Sprint(v)
		}
		d.cell(i, len(values), orDash(text))
	}
}

func (d *logDump) document(names []string, values []any) {
	d.out.WriteByte('{')
	for i, n := range names {
		if i > 0 {
			d.out.WriteByte(',')
		}
		b, err := json.Marshal(values[i])
		if err != nil {
			b = []byte("null")
		}
		fmt.Fprintf(d.out, "%q:%s", n, b)
	}
	d.out.WriteString("}\n")
}

// when prints a timestamp of a record.
func when(ms int64) string {
	if ms < 0 {
		return "-"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func (d *logDump) checkpoint(path string, raw []byte) error {
	m, err := logstore.DecodeOffsets(raw)
	if err != nil {
		return named(path, err)
	}
	d.heading("OFFSET", "PARTITION")
	for _, tp := range sortedPartitions(m) {
		d.line([]string{"offset", "partition"}, m[tp], tp.String())
	}
	return nil
}

func (d *logDump) snapshot(path string, raw []byte) error {
	list, err := producer.ReadSnapshot(raw)
	if err != nil {
		return named(path, err)
	}
	d.heading("PRODUCER", "EPOCH", "LASTSEQ", "LASTOFFSET", "DELTA", "TXNFIRST", "COORDEPOCH", "TIMESTAMP")
	for _, e := range list {
		if d.json {
			d.line([]string{"producer_id", "epoch", "last_sequence", "last_offset", "offset_delta", "txn_first_offset", "coordinator_epoch", "timestamp"},
				e.ProducerID, e.Epoch, e.LastSequence, e.LastOffset, e.OffsetDelta, e.TxnFirst, e.CoordinatorEpoch, e.Timestamp)
			continue
		}
		d.line(nil, e.ProducerID, e.Epoch, e.LastSequence, e.LastOffset, e.OffsetDelta, e.TxnFirst, e.CoordinatorEpoch, when(e.Timestamp))
	}
	return nil
}

func (d *logDump) txnIndex(path string, raw []byte) error {
	list, err := logstore.DecodeTxnIndex(raw)
	if err != nil {
		return named(path, err)
	}
	d.heading("PRODUCER", "FIRST", "LAST", "LASTSTABLE")
	for _, x := range list {
		d.line([]string{"producer_id", "first_offset", "last_offset", "last_stable_offset"}, x.ProducerID, x.FirstOffset, x.LastOffset, x.LastStable)
	}
	return nil
}

func (d *logDump) index(path string) error {
	x, err := inspect.ReadIndex(disk.OS(), path)
	if err != nil {
		return err
	}
	if x.Times {
		d.heading("TIMESTAMP", "OFFSET")
	} else {
		d.heading("OFFSET", "POSITION")
	}
	for _, e := range x.Entries {
		switch {
		case x.Times && d.json:
			d.line([]string{"timestamp", "offset"}, e.Timestamp, e.Offset)
		case x.Times:
			d.line(nil, when(e.Timestamp), e.Offset)
		default:
			d.line([]string{"offset", "position"}, e.Offset, e.Position)
		}
	}
	if x.Reserved > 0 && !d.json {
		fmt.Fprintf(d.out, "%d bytes behind the entries are reserved room: the segment was active when the broker stopped without closing it.\n", x.Reserved)
	}
	return nil
}
