package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/IBM/sarama"
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
	segmentio "github.com/segmentio/kafka-go"
)

// corpusTopic is where the corpus goes, one partition, so that it comes back in order.
const corpusTopic = "corpus"

// chunkLines is how many lines a library is handed at a time where it takes lists.
const chunkLines = 5000

// eachChunk hands the lines of a corpus on in lists.
func eachChunk(in io.Reader, fn func(lines [][]byte) error) error {
	r := bufio.NewReaderSize(in, 1<<20)
	var chunk [][]byte
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			chunk = append(chunk, line[:len(line)-1])
		}
		if len(chunk) == chunkLines || (err != nil && len(chunk) > 0) {
			if e := fn(chunk); e != nil {
				return e
			}
			chunk = nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// WriteLines writes a corpus by sarama, idempotent.
func (s Sarama) WriteLines(_ context.Context, in io.Reader) error {
	c := s.config()
	c.Net.MaxOpenRequests, c.Producer.Idempotent, c.Producer.RequiredAcks = 1, true, sarama.WaitForAll
	c.Producer.Retry.Max, c.Producer.Retry.Backoff = 200, 100*time.Millisecond
	c.Metadata.Retry.Max, c.Metadata.Retry.Backoff = 200, 100*time.Millisecond
	p, err := sarama.NewSyncProducer([]string{s.Seed}, c)
	if err != nil {
		return err
	}
	defer p.Close()
	return eachChunk(in, func(lines [][]byte) error {
		ms := make([]*sarama.ProducerMessage, len(lines))
		for i, l := range lines {
			ms[i] = &sarama.ProducerMessage{Topic: corpusTopic, Value: sarama.ByteEncoder(l)}
		}
		return p.SendMessages(ms)
	})
}

// WriteLines writes a corpus by kafka-go. It has no idempotent producer, so it must not be under way when the broker dies:
// the chunk that the kill comes with has been read but not sent.
func (s Segmentio) WriteLines(ctx context.Context, in io.Reader) error {
	w := &segmentio.Writer{Addr: segmentio.TCP(s.Seed), Topic: corpusTopic, RequiredAcks: segmentio.RequireAll, BatchTimeout: time.Millisecond,
		BatchSize: chunkLines, BatchBytes: 900_000, MaxAttempts: 1, AllowAutoTopicCreation: true, Transport: &segmentio.Transport{}}
	defer w.Close()
	return eachChunk(in, func(lines [][]byte) error {
		ms := make([]segmentio.Message, len(lines))
		for i, l := range lines {
			ms[i] = segmentio.Message{Value: l}
		}
		// Connections that died with the broker fail before anything is written; the whole chunk is sent again then.
		var err error
		for range 50 {
			if err = w.WriteMessages(ctx, ms...); err == nil {
				return nil
			}
			var some segmentio.WriteErrors
			if errors.As(err, &some) && some.Count() < len(ms) {
				return fmt.Errorf("%d of %d lines were written: %w", len(ms)-some.Count(), len(ms), err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		return err
	})
}

// WriteLines writes a corpus by librdkafka, idempotent.
func (c Confluent) WriteLines(ctx context.Context, in io.Reader) error {
	p, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": c.Seed, "enable.idempotence": true, "linger.ms": 5,
		"message.timeout.ms": 120_000, "queue.buffering.max.messages": 200_000, "reconnect.backoff.max.ms": 500, "go.delivery.reports": true})
	if err != nil {
		return err
	}
	defer p.Close()
	topic := corpusTopic
	failed := make(chan error, 1)
	go func() {
		for e := range p.Events() {
			if m, ok := e.(*kafka.Message); ok && m.TopicPartition.Error != nil {
				select {
				case failed <- m.TopicPartition.Error:
				default:
				}
			}
		}
	}()
	err = eachChunk(in, func(lines [][]byte) error {
		for _, l := range lines {
			m := &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: 0}, Value: l}
			for p.Produce(m, nil) != nil { // its queue is full
				p.Flush(100)
			}
		}
		return ctx.Err()
	})
	for err == nil && p.Flush(1000) > 0 {
		err = ctx.Err()
	}
	select {
	case e := <-failed:
		return e
	default:
		return err
	}
}

// ReadLines reads a corpus back by librdkafka, one line after another: a large one would not fit into memory as records.
func (c Confluent) ReadLines(ctx context.Context, lines int, out io.Writer) error {
	cl, err := c.consumer("interop-corpus")
	if err != nil {
		return err
	}
	defer cl.Close()
	topic := corpusTopic
	if err := cl.Assign([]kafka.TopicPartition{{Topic: &topic, Partition: 0, Offset: kafka.OffsetBeginning}}); err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	for lines > 0 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%d lines are missing: %w", lines, err)
		}
		switch e := cl.Poll(1000).(type) {
		case *kafka.Message:
			_, _ = w.Write(e.Value) // a failure stays and comes out of Flush
			_ = w.WriteByte('\n')
			lines--
		case kafka.Error:
			if e.IsFatal() || e.Code() == kafka.ErrAllBrokersDown {
				return e
			}
		}
	}
	return w.Flush()
}

// ReadLines writes what a client reads, in order, as lines.
func ReadLines(ctx context.Context, c Client, lines int, out io.Writer) error {
	rs, err := c.Consume(ctx, corpusTopic, 1, lines)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	for _, r := range rs {
		_, _ = w.Write(r.Value) // a failure stays and comes out of Flush
		_ = w.WriteByte('\n')
	}
	return w.Flush()
}
