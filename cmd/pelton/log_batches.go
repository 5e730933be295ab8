package main

import (
	"encoding/base64"
	"fmt"
	"sort"
	"unicode/utf8"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/inspect"
)

// batchDocument is a batch as --json prints it.
type batchDocument struct {
	File          string `json:"file"`
	Position      int64  `json:"position"`
	Size          int    `json:"size"`
	Magic         int8   `json:"magic"`
	BaseOffset    *int64 `json:"base_offset"` // null where only the records inside tell it
	LastOffset    int64  `json:"last_offset"`
	Count         *int32 `json:"count"`
	Codec         string `json:"codec"`
	TimestampType string `json:"timestamp_type"`
	MaxTimestamp  int64  `json:"max_timestamp"`
	LeaderEpoch   int32  `json:"leader_epoch"`
	ProducerID    int64  `json:"producer_id"`
	ProducerEpoch int16  `json:"producer_epoch"`
	BaseSequence  int32  `json:"base_sequence"`
	Transactional bool   `json:"transactional"`
	Control       bool   `json:"control"`
	DeleteHorizon *int64 `json:"delete_horizon"`
	CRC           uint32 `json:"crc"`
	Valid         bool   `json:"valid"`
}

// recordDocument is a record as --json prints it. Keys and values that are no text are base64 under another name.
type recordDocument struct {
	Offset      int64      `json:"offset"`
	Timestamp   int64      `json:"timestamp"`
	Sequence    int32      `json:"sequence"`
	Key         *string    `json:"key"`
	Key64       string     `json:"key_base64,omitempty"`
	Value       *string    `json:"value"`
	Value64     string     `json:"value_base64,omitempty"`
	Headers     [][]string `json:"headers,omitempty"` // name and value; no value = null
	Marker      string     `json:"marker,omitempty"`  // COMMIT or ABORT
	Coordinator *int32     `json:"coordinator_epoch,omitempty"`
}

// log prints a log's batches or records.
func (d *logDump) log(path string) error {
	switch {
	case d.json:
	case d.records:
		d.heading("OFFSET", "TIMESTAMP", "KEY", "VALUE", "HEADERS")
	default:
		d.heading("BASE", "LAST", "COUNT", "POSITION", "SIZE", "MAGIC", "CODEC", "TIMESTAMP", "EPOCH", "PRODUCER", "SEQUENCE", "FLAGS")
	}
	left := d.count
	if left <= 0 {
		left = -1
	}
	var bad error
	end, err := inspect.WalkFile(disk.OS(), path, func(b *inspect.Batch) bool {
		if b.Last < d.from {
			return true
		}
		if d.records {
			bad = d.recordsOf(path, b, &left)
		} else {
			d.batch(path, b)
			left--
		}
		return bad == nil && left != 0
	})
	if err != nil || bad != nil {
		return earlier(err, bad)
	}
	if end.Err != nil {
		return fmt.Errorf("%s: no batch can be read at position %d (%w), %d bytes are left; pelton log verify tells more", path, end.Position, end.Err, end.Trailing())
	}
	if left != 0 && end.Trailing() > 0 && !d.json {
		fmt.Fprintf(d.out, "%d bytes at the end, from position %d on, are no whole batch.\n", end.Trailing(), end.Position)
	}
	return nil
}

func earlier(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *logDump) batch(path string, b *inspect.Batch) {
	if d.json {
		doc := batchDocument{
			File: path, Position: b.Position, Size: b.Size, Magic: b.Magic, LastOffset: b.Last, Codec: b.Codec().String(), TimestampType: inspect.TimestampType(&b.Header),
			MaxTimestamp: b.MaxTimestamp, LeaderEpoch: b.LeaderEpoch, ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch, BaseSequence: b.BaseSequence,
			Transactional: b.IsTransactional(), Control: b.IsControl(), CRC: b.CRC, Valid: b.Valid,
		}
		if b.BaseOffset >= 0 {
			doc.BaseOffset, doc.Count = &b.BaseOffset, &b.Count
		}
		if b.HasDeleteHorizon() {
			doc.DeleteHorizon = &b.FirstTimestamp
		}
		_ = printLine(d.out, doc) // a failed write shows at Flush
		return
	}
	base, count := any(b.BaseOffset), any(b.Count)
	if b.BaseOffset < 0 {
		base, count = "-", "-"
	}
	d.line(nil, base, b.Last, count, b.Position, b.Size, b.Magic, b.Codec(), when(b.MaxTimestamp), orNone(int64(b.LeaderEpoch)), orNone(b.ProducerID), orNone(int64(b.BaseSequence)), batchFlags(b))
}

func orNone(n int64) any {
	if n < 0 {
		return "-"
	}
	return n
}

// batchFlags are what is not so for most batches.
func batchFlags(b *inspect.Batch) string {
	s := ""
	for _, f := range []struct {
		on   bool
		text string
	}{{!b.Valid, "BAD-CRC"}, {b.IsTransactional(), "txn"}, {b.IsControl(), "control"}, {b.IsLogAppendTime(), "append-time"}, {b.HasDeleteHorizon(), "delete-horizon"}} {
		if f.on {
			if s != "" {
				s += ","
			}
			s += f.text
		}
	}
	return s
}

// recordsOf prints the records of one batch; left counts down to none.
func (d *logDump) recordsOf(path string, b *inspect.Batch, left *int64) error {
	var bad error
	err := inspect.Records(&d.it, b, func(r *inspect.Record) bool {
		if r.Offset < d.from {
			return true
		}
		bad = d.record(b, r)
		*left--
		return bad == nil && *left != 0
	})
	if err = earlier(err, bad); err != nil {
		return fmt.Errorf("%s, batch at position %d: %w", path, b.Position, err)
	}
	return nil
}

func (d *logDump) record(b *inspect.Batch, r *inspect.Record) error {
	marker := ""
	if kind, ok := r.Marker(); ok && b.Magic == 2 && b.IsControl() {
		marker = map[int16]string{0: "ABORT", 1: "COMMIT"}[kind]
		if marker == "" {
			marker = fmt.Sprintf("CONTROL-%d", kind)
		}
	}
	key, value, err := d.parse(&r.Record)
	if marker != "" {
		key, value, err = nil, nil, nil
	}
	if err != nil {
		return err
	}
	if d.json {
		return printLine(d.out, d.recordDocument(r, marker))
	}
	if marker != "" {
		value = &marker
	}
	headers := ""
	for _, h := range r.DecodeHeaders() {
		headers += fmt.Sprintf("%s=%q ", h.Key, h.Value)
	}
	d.line(nil, r.Offset, when(r.Timestamp), key, value, headers)
	return nil
}

func (d *logDump) recordDocument(r *inspect.Record, marker string) recordDocument {
	doc := recordDocument{Offset: r.Offset, Timestamp: r.Timestamp, Sequence: r.Sequence, Marker: marker}
	if marker != "" {
		epoch := r.CoordinatorEpoch()
		doc.Coordinator = &epoch
		return doc
	}
	text := func(b []byte) (*string, string) {
		if b == nil {
			return nil, ""
		}
		if !utf8.Valid(b) {
			return nil, base64.StdEncoding.EncodeToString(b)
		}
		s := string(b)
		return &s, ""
	}
	doc.Key, doc.Key64 = text(r.Key)
	doc.Value, doc.Value64 = text(r.Value)
	for _, h := range r.DecodeHeaders() {
		one := []string{h.Key}
		if h.Value != nil {
			one = append(one, string(h.Value))
		}
		doc.Headers = append(doc.Headers, one)
	}
	return doc
}

// sortedPartitions are the keys of a checkpoint in their order.
func sortedPartitions(m map[logstore.TopicPartition]int64) []logstore.TopicPartition {
	out := make([]logstore.TopicPartition, 0, len(m))
	for tp := range m {
		out = append(out, tp)
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Topic < out[j].Topic || out[i].Topic == out[j].Topic && out[i].Partition < out[j].Partition
	})
	return out
}
