package interop

import (
	"context"
	"errors"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// Confluent is github.com/confluentinc/confluent-kafka-go, that is librdkafka.
type Confluent struct{ Seed string }

// Name implements Client.
func (Confluent) Name() string { return "librdkafka" }

// Produce implements Client.
func (c Confluent) Produce(ctx context.Context, topic string, records []Record, o ProduceOptions) ([]int64, error) {
	p, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": c.Seed, "compression.type": o.Codec, "enable.idempotence": o.Idempotent,
		"linger.ms": 5, "max.in.flight.requests.per.connection": 1, "acks": "all"})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	done := make(chan kafka.Event, len(records))
	for i, r := range records {
		m := &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: r.Partition}, Key: r.Key, Value: r.Value,
			Timestamp: r.Time, Opaque: i}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		if err := p.Produce(m, done); err != nil {
			return nil, err
		}
	}
	offsets := make([]int64, len(records))
	for range records {
		select {
		case e := <-done:
			m := e.(*kafka.Message)
			if m.TopicPartition.Error != nil {
				return nil, m.TopicPartition.Error
			}
			offsets[m.Opaque.(int)] = int64(m.TopicPartition.Offset)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return offsets, nil
}

func (c Confluent) consumer(group string) (*kafka.Consumer, error) {
	return kafka.NewConsumer(&kafka.ConfigMap{"bootstrap.servers": c.Seed, "group.id": group, "auto.offset.reset": "earliest",
		"enable.auto.commit": false, "session.timeout.ms": 10_000})
}

// Consume implements Client.
func (c Confluent) Consume(ctx context.Context, topic string, partitions int32, count int) ([]Record, error) {
	cl, err := c.consumer("interop-assign-" + topic)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var at []kafka.TopicPartition
	for p := range partitions {
		at = append(at, kafka.TopicPartition{Topic: &topic, Partition: p, Offset: kafka.OffsetBeginning})
	}
	if err := cl.Assign(at); err != nil {
		return nil, err
	}
	return confluentPoll(ctx, cl, count)
}

func confluentPoll(ctx context.Context, cl *kafka.Consumer, count int) (out []Record, err error) {
	var last error
	for len(out) < count {
		if ctx.Err() != nil {
			return out, errors.Join(ctx.Err(), last)
		}
		switch e := cl.Poll(100).(type) {
		case *kafka.Message:
			r := Record{Partition: e.TopicPartition.Partition, Offset: int64(e.TopicPartition.Offset), Key: e.Key, Value: e.Value, Time: e.Timestamp}
			for _, h := range e.Headers {
				r.Headers = append(r.Headers, Header{h.Key, h.Value})
			}
			out = append(out, r)
		case kafka.Error:
			last = e
			if e.IsFatal() || e.Code() == kafka.ErrAllBrokersDown {
				return out, errors.New(e.String())
			}
		}
	}
	return out, nil
}

// Group implements Client.
func (c Confluent) Group(ctx context.Context, group, topic string, count int) ([]Record, error) {
	cl, err := c.consumer(group)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	if err := cl.Subscribe(topic, nil); err != nil {
		return nil, err
	}
	out, err := confluentPoll(ctx, cl, count)
	if err != nil {
		return out, err
	}
	_, err = cl.Commit()
	return out, err
}
