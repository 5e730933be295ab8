package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pelton-broker/pelton/internal/task"
)

// place is where a record was said to be.
type place struct {
	topic     string
	partition int32
	offset    int64
}

// told is what writers were told.
type told struct {
	mu    sync.Mutex
	acked map[place]string
	last  map[place]int64 // of a key (offset is its number): the last offset that was acknowledged
	count atomic.Int64
}

func newTold() *told { return &told{acked: map[place]string{}, last: map[place]int64{}} }

func (t *told) note(r *kgo.Record, key int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := place{r.Topic, r.Partition, r.Offset}
	if other, ok := t.acked[at]; ok {
		return fmt.Errorf("offset %d of %s-%d was given to %.40q and to %.40q", r.Offset, r.Topic, r.Partition, other, r.Value)
	}
	t.acked[at] = string(r.Value)
	if key >= 0 {
		k := place{r.Topic, r.Partition, key}
		t.last[k] = max(t.last[k], r.Offset)
	}
	t.count.Add(1)
	return nil
}

// copied is everything so far.
func (t *told) copied() (acked map[place]string, last map[place]int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.acked), maps.Clone(t.last)
}

// crowd are the writers of all topics.
type crowd struct {
	group *task.Group
	told  *told
	mu    sync.Mutex
	wrong error
}

// start runs two writers for each topic, each with a codec of its own.
func (c *crowd) start(address string, seed int64) {
	c.group = task.NewGroup()
	for i, k := range kinds() {
		for w := range 2 {
			n := 2*i + w
			c.group.Go("writer", func(ctx context.Context) { c.write(ctx, address, k, n, rand.New(rand.NewSource(seed+int64(n)))) })
		}
	}
}

// stop ends them and says what they found wrong.
func (c *crowd) stop() error {
	c.group.Stop()
	return c.wrong
}

// write produces batches of a few records until its context ends. What fails may have been written or not: it was promised to nobody.
func (c *crowd) write(ctx context.Context, address string, k kind, n int, rng *rand.Rand) {
	opts := []kgo.Opt{kgo.SeedBrokers(address), kgo.DefaultProduceTopic(k.name), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.RequiredAcks(k.acks), kgo.ProducerBatchCompression(codecs()[n%len(codecs())]), kgo.AllowIdempotentProduceCancellation(),
		kgo.RecordDeliveryTimeout(2 * time.Second), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond })}
	if !k.idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		c.fail(err)
		return
	}
	// A record that may have been written is not given up by its own context: closing the client does it.
	defer context.AfterFunc(ctx, cl.Close)()
	for i := 0; ctx.Err() == nil; i++ {
		partition := int32(rng.Intn(int(k.partitions)))
		records := make([]*kgo.Record, 1+rng.Intn(20))
		keys := make([]int64, len(records))
		for j := range records {
			value := fmt.Sprintf("%s-%d-%d-%d-%0*d", k.name, n, i, j, rng.Intn(300), 0)
			records[j] = &kgo.Record{Partition: partition, Value: []byte(value)}
			if keys[j] = -1; k.keys > 0 {
				keys[j] = int64(rng.Intn(k.keys))
				records[j].Key = fmt.Appendf(nil, "key-%d", keys[j])
			}
		}
		for j, r := range cl.ProduceSync(ctx, records...) {
			if r.Err == nil {
				c.fail(c.told.note(r.Record, keys[indexOf(records, r.Record, j)]))
			}
		}
	}
}

// indexOf is where a record is in the list; results come in the order of their ends.
func indexOf(records []*kgo.Record, r *kgo.Record, guess int) int {
	if records[guess] == r {
		return guess
	}
	for i := range records {
		if records[i] == r {
			return i
		}
	}
	return guess
}

func (c *crowd) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrong == nil {
		c.wrong = err
	}
}
