package broker_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// producerID gets an id for an idempotent producer.
func producerID(t *testing.T, c *conn) int64 {
	t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis = 60_000
	req.ProducerID, req.ProducerEpoch = -1, -1
	id := int64(-1)
	eventually(t, "a producer id", func() bool {
		resp := ask[*kmsg.InitProducerIDResponse](c, 4, req)
		id = resp.ProducerID
		return resp.ErrorCode == 0
	})
	return id
}

// sequenced is a batch of a producer: count records from a sequence on.
func sequenced(id int64, epoch int16, sequence, count int32) []byte {
	var records []record
	for i := range count {
		records = append(records, record{value: fmt.Sprintf("%d", int64(sequence)+int64(i))})
	}
	b := builder(batch.None, records...)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = id, epoch, sequence
	return b.Bytes()
}

func wantProduced(t *testing.T, what string, p kmsg.ProduceResponseTopicPartition, code int16, base int64) {
	t.Helper()
	if p.ErrorCode != code || code == 0 && p.BaseOffset != base {
		t.Errorf("%s: error %d offset %d, want error %d offset %d", what, p.ErrorCode, p.BaseOffset, code, base)
	}
}

// C-19: repeats of the last five batches answer their old offset, gaps are refused, a new epoch starts at 0.
func TestIdempotence(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	id := producerID(t, c)
	for i := range int32(7) {
		wantProduced(t, "in order", produce(c, name, sequenced(id, 0, 2*i, 2)), 0, int64(2*i))
	}
	for i := int32(2); i < 7; i++ {
		wantProduced(t, "a repeat of one of the last five", produce(c, name, sequenced(id, 0, 2*i, 2)), 0, int64(2*i))
	}
	wantProduced(t, "a gap", produce(c, name, sequenced(id, 0, 16, 2)), 45, 0)
	if p := produce(c, name, sequenced(id, 0, 0, 2)); p.ErrorCode != 45 && p.ErrorCode != 46 {
		t.Errorf("an old batch: error %d", p.ErrorCode)
	}
	wantProduced(t, "the next", produce(c, name, sequenced(id, 0, 14, 1)), 0, 14)
	wantProduced(t, "a new epoch not at 0", produce(c, name, sequenced(id, 1, 15, 1)), 45, 0)
	wantProduced(t, "a new epoch at 0", produce(c, name, sequenced(id, 1, 0, 1)), 0, 15)
	wantProduced(t, "the old epoch", produce(c, name, sequenced(id, 0, 15, 1)), 47, 0)
	want(t, "records", len(readAll(c, name, 0, 0)), 16)
}

// C-19: an id that the partition knows nothing of may start anywhere, also after everything was deleted.
func TestIdempotenceUnknownProducer(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	id := producerID(t, c)
	wantProduced(t, "first", produce(c, name, sequenced(id, 0, 7, 1)), 0, 0)
	want(t, "DeleteRecords", deleteRecords(c, name, -1).ErrorCode, 0)
	wantProduced(t, "after DeleteRecords", produce(c, name, sequenced(id, 0, 8, 1)), 0, 1)
}

// C-19: sequences wrap.
func TestIdempotenceWraps(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	id := producerID(t, c)
	wantProduced(t, "near the end", produce(c, name, sequenced(id, 0, math.MaxInt32-1, 1)), 0, 0)
	wantProduced(t, "over the end", produce(c, name, sequenced(id, 0, math.MaxInt32, 2)), 0, 1)
	wantProduced(t, "behind the end", produce(c, name, sequenced(id, 0, 1, 1)), 0, 3)
	wantProduced(t, "a repeat over the end", produce(c, name, sequenced(id, 0, math.MaxInt32, 2)), 0, 1)
}

// C-19: a producer that was idle longer than the expiry starts anywhere.
func TestIdempotenceExpires(t *testing.T) {
	n := own(t, "producer.id.expiration.ms=300")
	c := n.dial(t)
	name := topic(t, c, 1)
	id := producerID(t, c)
	wantProduced(t, "first", produce(c, name, sequenced(id, 0, 0, 7)), 0, 0)
	eventually(t, "the producer is forgotten", func() bool { return len(producers(c, name)) == 0 })
	wantProduced(t, "after the expiry", produce(c, name, sequenced(id, 0, 70, 1)), 0, 7)
	wantProduced(t, "the next", produce(c, name, sequenced(id, 0, 71, 1)), 0, 8)
}

// producers are those that partition 0 remembers.
func producers(c *conn, name string) []kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	c.t.Helper()
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: name, Partitions: []int32{0}}}
	return ask[*kmsg.DescribeProducersResponse](c, 0, req).Topics[0].Partitions[0].ActiveProducers
}

// What a partition knows of producers survives a restart: repeats are still answered with their old offset.
func TestIdempotenceSurvivesRestart(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	id := producerID(t, c)
	for i := range int32(6) {
		wantProduced(t, "before", produce(c, name, sequenced(id, 0, i, 1)), 0, int64(i))
	}
	n.restart(t)
	c = n.dial(t)
	wantProduced(t, "a repeat", produce(c, name, sequenced(id, 0, 5, 1)), 0, 5)
	wantProduced(t, "a gap", produce(c, name, sequenced(id, 0, 8, 1)), 45, 0)
	wantProduced(t, "the next", produce(c, name, sequenced(id, 0, 6, 1)), 0, 6)
	if other := producerID(t, c); other == id {
		t.Error("an id was given out twice")
	}
	want(t, "records", len(readAll(c, name, 0, 0)), 7)
}

// C-71: records sent the moment a topic is made are all taken, in order, with several batches in flight.
func TestFirstWrite(t *testing.T) {
	n := shared(t)
	const partitions, batches, size, rounds = 3, 14, 49, 8
	for round := range rounds {
		c := n.dial(t)
		name := fmt.Sprintf("%s-%d", unique(t), round)
		id := int64(-1)
		if round%2 == 0 {
			id = producerID(t, c)
		}
		want(t, "creating", ask[*kmsg.CreateTopicsResponse](c, 5, creation(name, partitions)).Topics[0].ErrorCode, 0)
		var reqs []*kmsg.ProduceRequest
		var corrs []int32
		for b := range int32(batches) {
			for p := range int32(partitions) {
				epoch := int16(0)
				if id < 0 {
					epoch = -1
				}
				reqs = append(reqs, produceRequest(name, p, -1, numbered(id, epoch, b*size, size)))
				corrs = append(corrs, c.send(produceVersion, reqs[len(reqs)-1]))
			}
		}
		for i, req := range reqs {
			p := c.receive(corrs[i], req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
			wantProduced(t, fmt.Sprint(name, " request ", i), p, 0, int64(i/partitions)*size)
		}
		for p := range int32(partitions) {
			for i, r := range readAll(c, name, p, 0) {
				if r.offset != int64(i) || r.value != fmt.Sprint(i) {
					t.Fatalf("offset %d holds %q", r.offset, r.value)
				}
			}
		}
	}
}

// numbered is sequenced for producers with and without an id.
func numbered(id int64, epoch int16, sequence, count int32) []byte {
	var records []record
	for i := range count {
		records = append(records, record{value: fmt.Sprint(sequence + i)})
	}
	b := builder(batch.None, records...)
	if id >= 0 {
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = id, epoch, sequence
	}
	return b.Bytes()
}
