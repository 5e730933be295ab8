package interop

import (
	"context"
	"fmt"
	"time"
)

// Header is one record header.
type Header struct {
	Key   string
	Value []byte
}

// Record is a record as every client can say it.
type Record struct {
	Partition int32
	Offset    int64
	Key       []byte // nil is null
	Value     []byte // nil is null
	Headers   []Header
	Time      time.Time
}

// Client is one library under test.
type Client interface {
	Name() string
	// Produce writes records to the partitions they name and returns the offsets they got, in their order.
	Produce(ctx context.Context, topic string, records []Record, o ProduceOptions) ([]int64, error)
	// Consume reads count records of a topic's partitions from the beginning, without a group.
	Consume(ctx context.Context, topic string, partitions int32, count int) ([]Record, error)
	// Group reads count records as a member of a group and commits what it read.
	Group(ctx context.Context, group, topic string, count int) ([]Record, error)
}

// ProduceOptions are what a scenario varies.
type ProduceOptions struct {
	Codec      string // none, gzip, snappy, lz4, zstd
	Idempotent bool
}

// Codecs lists the codecs of the wire format.
func Codecs() []string { return []string{"none", "gzip", "snappy", "lz4", "zstd"} }

// Sample makes n records over partitions: null, empty and binary keys and values, headers, and one large record.
func Sample(n int, partitions int32) []Record {
	out := make([]Record, n)
	for i := range out {
		r := &out[i]
		r.Partition = int32(i) % partitions
		r.Key = fmt.Appendf(nil, "key-%05d", i)
		r.Value = fmt.Appendf(nil, "value %d of a record that a client wrote, %s", i, string(rune('a'+i%26)))
		r.Time = time.UnixMilli(1_700_000_000_000 + int64(i))
		switch i % 10 {
		case 3:
			r.Key = nil
		case 5:
			r.Value = []byte{0, 255, 10, 13, 0}
		case 6:
			r.Headers = []Header{{"h", []byte("v")}, {"h", []byte("twice")}, {"bin", []byte{1, 0, 2}}}
		}
	}
	if n > 20 {
		out[20].Value = make([]byte, 300_000)
		for i := range out[20].Value {
			out[20].Value[i] = byte(i * 7)
		}
	}
	return out
}
