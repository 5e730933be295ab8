package broker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// waiting makes a fetch wait for as many bytes.
func waiting(req *kmsg.FetchRequest, ms, minBytes int32) *kmsg.FetchRequest {
	req.MaxWaitMillis, req.MinBytes = ms, minBytes
	return req
}

// forLong is a max wait that no test waits for.
const forLong = 600_000

// A fetch at the end waits, and is answered by the record that comes.
func TestFetchWaitsForRecords(t *testing.T) {
	n := shared(t)
	reader, writer := n.dial(t), n.dial(t)
	name := topic(t, reader, 2)
	mustProduce(writer, name, values("old"))
	req := waiting(fetchRequest(name, 0, 1), forLong, 1)
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, fetchPartition(1, 0))
	corr := reader.send(fetchVersion, req)
	produceTo(writer, name, 1, values("new"))
	got := reader.receive(corr, req).(*kmsg.FetchResponse).Topics[0].Partitions
	want(t, "partitions", len(got), 2)
	want(t, "bytes of the idle one", len(got[0].RecordBatches), 0)
	if r := unpack(t, got[1].RecordBatches, 0); len(r) != 1 || r[0].value != "new" {
		t.Errorf("records %v", r)
	}
}

// min bytes holds the answer back until enough has come, over all partitions.
func TestFetchMinBytes(t *testing.T) {
	n := shared(t)
	reader, writer := n.dial(t), n.dial(t)
	name := topic(t, reader, 2)
	one := values(strings.Repeat("x", 100))
	req := waiting(fetchRequest(name, 0, 0), forLong, int32(3*len(one)))
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, fetchPartition(1, 0))
	corr := reader.send(fetchVersion, req)
	for i := range int32(3) {
		want(t, "produce", produceTo(writer, name, i%2, one).ErrorCode, 0)
	}
	total := 0
	for _, p := range reader.receive(corr, req).(*kmsg.FetchResponse).Topics[0].Partitions {
		total += len(p.RecordBatches)
	}
	want(t, "bytes", total, 3*len(one))
}

// The wait ends at max wait with what there is, and at once when min bytes is 0 or a partition has an error.
func TestFetchEndsWaiting(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	name := topic(t, c, 2)
	one := values("x")
	mustProduce(c, name, one)
	p := ask[*kmsg.FetchResponse](c, fetchVersion, waiting(fetchRequest(name, 0, 0), 20, 1<<20)).Topics[0].Partitions[0]
	want(t, "bytes at max wait", len(p.RecordBatches), len(one))
	p = ask[*kmsg.FetchResponse](c, fetchVersion, waiting(fetchRequest(name, 0, 1), forLong, 0)).Topics[0].Partitions[0]
	want(t, "bytes with min bytes 0", len(p.RecordBatches), 0)
	req := waiting(fetchRequest(name, 0, 1), forLong, 1)
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, fetchPartition(1, 7))
	got := ask[*kmsg.FetchResponse](c, fetchVersion, req).Topics[0].Partitions
	want(t, "error", got[1].ErrorCode, 1)
}

// C-13: no answer is larger than max bytes and one batch, no partition starves, and everything is read in the end.
func TestFetchMaxBytes(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	const partitions, batches, size, maxBytes = 20, 8, 16 << 10, 100_000
	name := topic(t, c, partitions)
	body := values(strings.Repeat("x", size))
	for p := range int32(partitions) {
		for range batches {
			want(t, "produce", produceTo(c, name, p, body).ErrorCode, 0)
		}
	}
	session, epoch := int32(0), int32(0)
	next := make([]int64, partitions)
	first := map[int32]bool{}
	for total := 0; total < partitions*batches; {
		req := fetchRequest(name, 0, 0)
		req.Topics[0].Partitions = nil
		for p := range int32(partitions) {
			q := fetchPartition(p, next[p])
			q.PartitionMaxBytes = 40_000
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, q)
		}
		req.MaxBytes, req.SessionID, req.SessionEpoch = maxBytes, session, epoch
		resp := ask[*kmsg.FetchResponse](c, fetchVersion, req)
		if resp.ErrorCode != 0 || resp.SessionID == 0 {
			t.Fatalf("error %d session %d", resp.ErrorCode, resp.SessionID)
		}
		session, epoch = resp.SessionID, epoch+1
		bytes, before := 0, total
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				bytes += len(p.RecordBatches)
				for _, r := range unpack(t, p.RecordBatches, next[p.Partition]) {
					next[p.Partition] = r.offset + 1
					total++
				}
				first[p.Partition] = first[p.Partition] || len(p.RecordBatches) > 0
			}
		}
		if bytes > maxBytes+len(body) {
			t.Errorf("an answer of %d bytes", bytes)
		}
		if total == before {
			t.Fatal("an answer without records")
		}
		if total == partitions*batches/2 && len(first) < partitions {
			t.Errorf("after half of the records only %d partitions had a turn", len(first))
		}
	}
}

// The first batch goes out even when it is larger than every bound.
func TestFetchLargerThanMaxBytes(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	body := values(strings.Repeat("x", 10_000))
	mustProduce(c, name, body)
	mustProduce(c, name, body)
	req := fetchRequest(name, 0, 0)
	req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = 1, 1
	p := ask[*kmsg.FetchResponse](c, fetchVersion, req).Topics[0].Partitions[0]
	if r := unpack(t, p.RecordBatches, 0); len(r) == 0 || len(r[0].value) != 10_000 {
		t.Errorf("%d bytes", len(p.RecordBatches))
	}
}

// Offsets outside the log are an error of their partition alone.
func TestFetchOutOfRange(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 2)
	mustProduce(c, name, values("a", "b"))
	for _, offset := range []int64{3, 1 << 40, -7} {
		req := fetchRequest(name, 0, offset)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, fetchPartition(1, 0))
		got := ask[*kmsg.FetchResponse](c, fetchVersion, req).Topics[0].Partitions
		want(t, fmt.Sprint("offset ", offset), got[0].ErrorCode, 1)
		want(t, "the other partition", got[1].ErrorCode, 0)
	}
	p := fetch(c, name, 2)
	if p.ErrorCode != 0 || p.HighWatermark != 2 || p.LastStableOffset != 2 || p.LogStartOffset != 0 {
		t.Errorf("at the end: %+v", p)
	}
}

// From inside a batch the whole batch comes.
func TestFetchInsideABatch(t *testing.T) {
	c := shared(t).dial(t)
	for _, codec := range []batch.Codec{batch.None, batch.Gzip, batch.Snappy, batch.LZ4, batch.Zstd} {
		c := shared(t).dial(t)
		name := unique(t) + fmt.Sprint("-", codec)
		makeTopic(t, c, name, 1)
		mustProduce(c, name, builder(codec, record{value: "a"}, record{value: "b"}, record{value: "c"}).Bytes())
		got := unpack(t, fetch(c, name, 1).RecordBatches, 0)
		want(t, "first offset", got[0].offset, 0)
		want(t, "records", len(got), 3)
		want(t, "last value", got[2].value, "c")
	}
	c.works()
}

// Topic ids from version 13 on.
func TestFetchByID(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	mustProduce(c, name, values("v"))
	_, highest := served(c, 1)
	for v := int16(13); v <= highest; v++ {
		req := fetchRequest("", 0, 0)
		req.Topics[0].TopicID = topicID(c, name)
		got := ask[*kmsg.FetchResponse](c, v, req).Topics[0]
		want(t, "id", got.TopicID, req.Topics[0].TopicID)
		want(t, "records", len(unpack(t, got.Partitions[0].RecordBatches, 0)), 1)
		req.Topics[0].TopicID[3]++
		want(t, "unknown id", ask[*kmsg.FetchResponse](c, v, req).Topics[0].Partitions[0].ErrorCode, 100)
	}
}

// sessionOf makes a fetch session over partitions of a topic.
func sessionOf(c *conn, name string, partitions ...int32) *kmsg.FetchResponse {
	c.t.Helper()
	req := fetchRequest(name, 0, 0)
	req.SessionEpoch, req.Topics[0].Partitions = 0, nil
	for _, p := range partitions {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, fetchPartition(p, 0))
	}
	resp := ask[*kmsg.FetchResponse](c, fetchVersion, req)
	if resp.ErrorCode != 0 || resp.SessionID == 0 {
		c.t.Fatalf("making a session: error %d id %d", resp.ErrorCode, resp.SessionID)
	}
	return resp
}

// next is an incremental fetch that lists nothing.
func next(id, epoch int32) *kmsg.FetchRequest {
	req := fetchRequest("", 0, 0)
	req.Topics, req.SessionID, req.SessionEpoch = []kmsg.FetchRequestTopic{}, id, epoch
	return req
}

// C-7: an incremental fetch that lists nothing waits for the session's partitions, and tells only those that changed.
func TestFetchSessionWaits(t *testing.T) {
	n := shared(t)
	reader, writer := n.dial(t), n.dial(t)
	name := topic(t, reader, 2)
	id := sessionOf(reader, name, 0, 1).SessionID
	resp := ask[*kmsg.FetchResponse](reader, fetchVersion, waiting(next(id, 1), 50, 1))
	if resp.ErrorCode != 0 || resp.SessionID != id || len(resp.Topics) != 0 {
		t.Errorf("nothing new: error %d session %d topics %d", resp.ErrorCode, resp.SessionID, len(resp.Topics))
	}
	req := waiting(next(id, 2), forLong, 1)
	corr := reader.send(fetchVersion, req)
	want(t, "produce", produceTo(writer, name, 1, values("v")).ErrorCode, 0)
	resp = reader.receive(corr, req).(*kmsg.FetchResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].Partition != 1 {
		t.Fatalf("changed: %+v", resp.Topics)
	}
	want(t, "records", len(unpack(t, resp.Topics[0].Partitions[0].RecordBatches, 0)), 1)
}

// Epochs of sessions: wrong ones, forgotten partitions, the end of a session.
func TestFetchSessionEpochs(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 3)
	id := sessionOf(c, name, 0, 1).SessionID
	want(t, "wrong epoch", ask[*kmsg.FetchResponse](c, fetchVersion, next(id, 7)).ErrorCode, 71)
	want(t, "unknown session", ask[*kmsg.FetchResponse](c, fetchVersion, next(id+1000, 1)).ErrorCode, 70)

	add := next(id, 1)
	add.Topics = []kmsg.FetchRequestTopic{{Topic: name, Partitions: []kmsg.FetchRequestTopicPartition{fetchPartition(2, 0)}}}
	add.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: name, Partitions: []int32{0}}}
	resp := ask[*kmsg.FetchResponse](c, fetchVersion, add)
	want(t, "error", resp.ErrorCode, 0)
	for p := range int32(3) {
		want(t, "produce", produceTo(c, name, p, values("v")).ErrorCode, 0)
	}
	resp = ask[*kmsg.FetchResponse](c, fetchVersion, next(id, 2))
	told := map[int32]bool{}
	for _, p := range resp.Topics[0].Partitions {
		told[p.Partition] = true
	}
	if told[0] || !told[1] || !told[2] {
		t.Errorf("told of %v", told)
	}
	end := next(id, -1)
	want(t, "closing", ask[*kmsg.FetchResponse](c, fetchVersion, end).SessionID, 0)
	want(t, "after closing", ask[*kmsg.FetchResponse](c, fetchVersion, next(id, 3)).ErrorCode, 70)
}
