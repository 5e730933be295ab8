package interop

import (
	"context"
	"errors"
	"sync"

	"github.com/IBM/sarama"
)

// Sarama is github.com/IBM/sarama.
type Sarama struct{ Seed string }

// Name implements Client.
func (Sarama) Name() string { return "sarama" }

func (s Sarama) config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V3_6_0_0
	c.ClientID = "interop"
	c.Producer.Return.Successes = true
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Consumer.Return.Errors = true
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	return c
}

func saramaCodec(name string) sarama.CompressionCodec {
	return map[string]sarama.CompressionCodec{"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD}[name]
}

// Produce implements Client.
func (s Sarama) Produce(_ context.Context, topic string, records []Record, o ProduceOptions) ([]int64, error) {
	c := s.config()
	c.Producer.Compression = saramaCodec(o.Codec)
	c.Net.MaxOpenRequests = 1
	c.Producer.RequiredAcks = sarama.WaitForLocal
	if o.Idempotent {
		c.Producer.Idempotent, c.Producer.RequiredAcks = true, sarama.WaitForAll
	}
	p, err := sarama.NewSyncProducer([]string{s.Seed}, c)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	ms := make([]*sarama.ProducerMessage, len(records))
	for i, r := range records {
		m := &sarama.ProducerMessage{Topic: topic, Partition: r.Partition, Timestamp: r.Time}
		if r.Key != nil {
			m.Key = sarama.ByteEncoder(r.Key)
		}
		if r.Value != nil {
			m.Value = sarama.ByteEncoder(r.Value)
		}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
		}
		ms[i] = m
	}
	if err := p.SendMessages(ms); err != nil {
		return nil, err
	}
	offsets := make([]int64, len(ms))
	for i, m := range ms {
		offsets[i] = m.Offset
	}
	return offsets, nil
}

func saramaRecord(m *sarama.ConsumerMessage) Record {
	r := Record{Partition: m.Partition, Offset: m.Offset, Key: m.Key, Value: m.Value, Time: m.Timestamp}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, Header{string(h.Key), h.Value})
	}
	return r
}

// Consume implements Client.
func (s Sarama) Consume(ctx context.Context, topic string, partitions int32, count int) ([]Record, error) {
	c, err := sarama.NewConsumer([]string{s.Seed}, s.config())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	messages := make(chan *sarama.ConsumerMessage, 64)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	for p := range partitions {
		pc, err := c.ConsumePartition(topic, p, sarama.OffsetOldest)
		if err != nil {
			return nil, err
		}
		defer pc.Close()
		wg.Go(func() {
			for {
				select {
				case m := <-pc.Messages():
					select {
					case messages <- m:
					case <-stop:
						return
					}
				case <-stop:
					return
				}
			}
		})
	}
	var out []Record
	for len(out) < count {
		select {
		case m := <-messages:
			out = append(out, saramaRecord(m))
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
	return out, nil
}

// saramaMember collects what a member of a group is given.
type saramaMember struct {
	want int
	mu   sync.Mutex
	out  []Record
	done context.CancelFunc
}

// Setup implements sarama.ConsumerGroupHandler.
func (*saramaMember) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup implements sarama.ConsumerGroupHandler.
func (*saramaMember) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim implements sarama.ConsumerGroupHandler.
func (m *saramaMember) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case msg, ok := <-c.Messages():
			if !ok {
				return nil
			}
			s.MarkMessage(msg, "")
			m.mu.Lock()
			m.out = append(m.out, saramaRecord(msg))
			full := len(m.out) >= m.want
			m.mu.Unlock()
			if full {
				s.Commit()
				m.done()
				return nil
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

// Group implements Client.
func (s Sarama) Group(ctx context.Context, group, topic string, count int) ([]Record, error) {
	g, err := sarama.NewConsumerGroup([]string{s.Seed}, group, s.config())
	if err != nil {
		return nil, err
	}
	defer g.Close()
	inner, done := context.WithCancel(ctx)
	defer done()
	m := &saramaMember{want: count, done: done}
	for inner.Err() == nil {
		if err := g.Consume(inner, []string{topic}, m); err != nil && !errors.Is(err, context.Canceled) {
			return m.out, err
		}
	}
	return m.out, ctx.Err()
}
