package interop

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Franz is github.com/twmb/franz-go.
type Franz struct{ Seed string }

// Name implements Client.
func (Franz) Name() string { return "franz-go" }

func franzCodec(name string) kgo.CompressionCodec {
	switch name {
	case "gzip":
		return kgo.GzipCompression()
	case "snappy":
		return kgo.SnappyCompression()
	case "lz4":
		return kgo.Lz4Compression()
	case "zstd":
		return kgo.ZstdCompression()
	}
	return kgo.NoCompression()
}

// Produce implements Client.
func (f Franz) Produce(ctx context.Context, topic string, records []Record, o ProduceOptions) ([]int64, error) {
	opts := []kgo.Opt{kgo.SeedBrokers(f.Seed), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(franzCodec(o.Codec))}
	if !o.Idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()), kgo.MaxProduceRequestsInflightPerBroker(1))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	rs := make([]*kgo.Record, len(records))
	for i, r := range records {
		rs[i] = &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: r.Time}
		for _, h := range r.Headers {
			rs[i].Headers = append(rs[i].Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
	}
	offsets := make([]int64, len(records))
	if err := cl.ProduceSync(ctx, rs...).FirstErr(); err != nil {
		return nil, err
	}
	for i, r := range rs {
		offsets[i] = r.Offset
	}
	return offsets, nil
}

// Consume implements Client.
func (f Franz) Consume(ctx context.Context, topic string, partitions int32, count int) ([]Record, error) {
	at := map[int32]kgo.Offset{}
	for p := range partitions {
		at[p] = kgo.NewOffset().AtStart()
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(f.Seed), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return franzPoll(ctx, cl, count)
}

func franzPoll(ctx context.Context, cl *kgo.Client, count int) (out []Record, err error) {
	for len(out) < count {
		fs := cl.PollFetches(ctx)
		if err := fs.Err0(); err != nil {
			return out, err
		}
		fs.EachError(func(t string, p int32, e error) { err = fmt.Errorf("%s-%d: %w", t, p, e) })
		if err != nil {
			return out, err
		}
		fs.EachRecord(func(r *kgo.Record) {
			x := Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value, Time: r.Timestamp}
			for _, h := range r.Headers {
				x.Headers = append(x.Headers, Header{h.Key, h.Value})
			}
			out = append(out, x)
		})
	}
	return out, nil
}

// Group implements Client.
func (f Franz) Group(ctx context.Context, group, topic string, count int) ([]Record, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(f.Seed), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	out, err := franzPoll(ctx, cl, count)
	if err != nil {
		return out, err
	}
	return out, cl.CommitUncommittedOffsets(ctx)
}
