package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/internal/task"
)

// promised is what producers were told: the value at an offset.
type promised struct {
	mu    sync.Mutex
	topic string
	acked map[int64]string
	fails int
	// gone: what is sent from here on cannot be written any more; late is how much of that was acknowledged all the same.
	gone atomic.Bool
	late atomic.Int64
}

func newPromised(topic string) *promised { return &promised{topic: topic, acked: map[int64]string{}} }

func (p *promised) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.acked)
}

// failed is how many records were refused or given up.
func (p *promised) failed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fails
}

// snapshot copies what is acknowledged now.
func (p *promised) snapshot() map[int64]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.acked)
}

// restore goes back to an earlier snapshot.
func (p *promised) restore(acked map[int64]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acked = acked
}

// await waits for something that must come.
func await(ctx context.Context, what string, is func() bool) error {
	for !is() {
		if ctx.Err() != nil {
			return fmt.Errorf("no %s within the time", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// makeTopic makes a topic of one partition; flush is flush.messages.
func makeTopic(ctx context.Context, address, name string, flush int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		return err
	}
	defer cl.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, 1, 1
	for key, value := range map[string]string{"flush.messages": fmt.Sprint(flush), "segment.bytes": "1048576"} {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = key, kmsg.StringPtr(value)
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

// produce writes with acks=1, some at a time, until stop is called, and notes what was acknowledged.
func produce(address string, p *promised, writers int) (stop func()) {
	g := task.NewGroup()
	for w := range writers {
		g.Go("writer", func(ctx context.Context) { write(ctx, address, p, w) })
	}
	return g.Stop
}

// write is one producer; every second one is idempotent.
func write(ctx context.Context, address string, p *promised, w int) {
	opts := []kgo.Opt{kgo.SeedBrokers(address), kgo.DefaultProduceTopic(p.topic), kgo.ProducerLinger(0), kgo.RecordDeliveryTimeout(time.Second), kgo.AllowIdempotentProduceCancellation()}
	if w%2 == 0 {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return
	}
	// A record that may have been written is not given up by its own context: closing the client does it.
	context.AfterFunc(ctx, cl.Close)
	for n := 0; ctx.Err() == nil; n++ {
		value := fmt.Sprintf("%s-%d-%d-%0*d", p.topic, w, n, n%700, 0)
		gone := p.gone.Load()
		r, err := cl.ProduceSync(ctx, kgo.StringRecord(value)).First()
		p.mu.Lock()
		if err == nil {
			p.acked[r.Offset] = value
			if gone {
				p.late.Add(1)
			}
		} else {
			p.fails++
		}
		p.mu.Unlock()
	}
}

// verify reads the whole topic and holds it against what was promised.
func verify(ctx context.Context, address string, p *promised) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{p.topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return err
	}
	defer cl.Close()
	last := int64(-1)
	for offset := range p.acked {
		last = max(last, offset)
	}
	next := int64(0)
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for next <= last {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return fmt.Errorf("reading %s at %d of %d: %w", p.topic, next, last, err)
		}
		for _, e := range fetches.Errors() {
			return fmt.Errorf("reading %s at %d of %d: %w", p.topic, next, last, e.Err)
		}
		var wrong error
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset != next && wrong == nil {
				wrong = fmt.Errorf("%s: offset %d follows %d", p.topic, r.Offset, next-1)
			}
			next = r.Offset + 1
			if want, ok := p.acked[r.Offset]; ok && want != string(r.Value) && wrong == nil {
				wrong = fmt.Errorf("%s: offset %d has %.40s, %.40s was acknowledged", p.topic, r.Offset, r.Value, want)
			}
		})
		if wrong != nil {
			return wrong
		}
	}
	return nil
}
