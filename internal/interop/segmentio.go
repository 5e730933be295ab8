package interop

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
)

// Segmentio is github.com/segmentio/kafka-go.
type Segmentio struct{ Seed string }

// Name implements Client.
func (Segmentio) Name() string { return "kafka-go" }

func segmentioCodec(name string) kafka.Compression {
	return map[string]kafka.Compression{"gzip": compress.Gzip, "snappy": compress.Snappy, "lz4": compress.Lz4, "zstd": compress.Zstd}[name]
}

// byField sends a record to the partition that it names.
type byField struct{}

// Balance implements kafka.Balancer.
func (byField) Balance(m kafka.Message, _ ...int) int { return m.WriterData.(int) }

// Produce implements Client. The library has no idempotent producer and does not tell offsets, so none are returned.
func (s Segmentio) Produce(ctx context.Context, topic string, records []Record, o ProduceOptions) ([]int64, error) {
	w := &kafka.Writer{Addr: kafka.TCP(s.Seed), Topic: topic, Balancer: byField{}, RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond,
		Compression: segmentioCodec(o.Codec), Transport: &kafka.Transport{}} // its default transport remembers that a new topic was missing
	defer w.Close()
	ms := make([]kafka.Message, len(records))
	for i, r := range records {
		ms[i] = kafka.Message{Key: r.Key, Value: r.Value, Time: r.Time, WriterData: int(r.Partition)}
		for _, h := range r.Headers {
			ms[i].Headers = append(ms[i].Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
	}
	return nil, w.WriteMessages(ctx, ms...)
}

func segmentioRecord(m kafka.Message) Record {
	r := Record{Partition: int32(m.Partition), Offset: m.Offset, Key: m.Key, Value: m.Value, Time: m.Time}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, Header{h.Key, h.Value})
	}
	return r
}

// Consume implements Client.
func (s Segmentio) Consume(ctx context.Context, topic string, partitions int32, count int) (out []Record, err error) {
	for p := range partitions {
		conn, err := kafka.DialLeader(ctx, "tcp", s.Seed, topic, int(p))
		if err != nil {
			return out, err
		}
		_, last, err := conn.ReadOffsets()
		conn.Close()
		if err != nil {
			return out, err
		}
		r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{s.Seed}, Topic: topic, Partition: int(p), MaxWait: 100 * time.Millisecond})
		for next := int64(0); next < last; {
			m, err := r.ReadMessage(ctx)
			if err != nil {
				r.Close()
				return out, err
			}
			out = append(out, segmentioRecord(m))
			next = m.Offset + 1
		}
		r.Close()
	}
	return out, nil
}

// Group implements Client.
func (s Segmentio) Group(ctx context.Context, group, topic string, count int) (out []Record, err error) {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{s.Seed}, GroupID: group, Topic: topic, StartOffset: kafka.FirstOffset,
		MaxWait: 100 * time.Millisecond})
	defer r.Close()
	for len(out) < count {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return out, err
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			return out, err
		}
		out = append(out, segmentioRecord(m))
	}
	return out, nil
}
