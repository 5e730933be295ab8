package broker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// Versions that helpers speak when the version is not what a test is about.
const (
	produceVersion  = 9
	fetchVersion    = 11
	listVersion     = 7
	metadataVersion = 12
)

// topic makes a topic of the test's own with settings key=value.
func topic(t *testing.T, c *conn, partitions int32, settings ...string) string {
	t.Helper()
	name := unique(t)
	makeTopic(t, c, name, partitions, settings...)
	return name
}

func makeTopic(t *testing.T, c *conn, name string, partitions int32, settings ...string) {
	t.Helper()
	resp := ask[*kmsg.CreateTopicsResponse](c, 5, creation(name, partitions, settings...))
	if code := resp.Topics[0].ErrorCode; code != 0 {
		t.Fatalf("creating %s: error %d", name, code)
	}
	eventually(t, "every partition has a leader that takes writes", func() bool { return led(c, name) })
}

func creation(name string, partitions int32, settings ...string) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 20_000
	q := kmsg.NewCreateTopicsRequestTopic()
	q.Topic, q.NumPartitions, q.ReplicationFactor = name, partitions, 1
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		cfg := kmsg.NewCreateTopicsRequestTopicConfig()
		cfg.Name, cfg.Value = key, &value
		q.Configs = append(q.Configs, cfg)
	}
	req.Topics = append(req.Topics, q)
	return req
}

// describe asks Metadata about topics without creating them.
func describe(c *conn, names ...string) *kmsg.MetadataResponse {
	c.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for i := range names {
		q := kmsg.NewMetadataRequestTopic()
		q.Topic = &names[i]
		req.Topics = append(req.Topics, q)
	}
	return ask[*kmsg.MetadataResponse](c, metadataVersion, req)
}

// led tells whether every partition of a topic has its leader, and whether the leader knows it.
func led(c *conn, name string) bool {
	c.t.Helper()
	m := describe(c, name).Topics[0]
	if m.ErrorCode != 0 {
		return false
	}
	for _, p := range m.Partitions {
		if p.ErrorCode != 0 || p.Leader < 0 || listOffset(c, listVersion, name, p.Partition, -1).ErrorCode != 0 {
			return false
		}
	}
	return true
}

// topicID is the id that Metadata tells.
func topicID(c *conn, name string) [16]byte {
	c.t.Helper()
	return describe(c, name).Topics[0].TopicID
}

func deleteTopic(t *testing.T, c *conn, name string) {
	t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis, req.TopicNames = 20_000, []string{name}
	if code := ask[*kmsg.DeleteTopicsResponse](c, 4, req).Topics[0].ErrorCode; code != 0 {
		t.Fatalf("deleting %s: error %d", name, code)
	}
	eventually(t, "the topic is gone", func() bool { return describe(c, name).Topics[0].ErrorCode == 3 })
}

// record is one record of a batch; the zero time is a fixed moment.
type record struct {
	ts         int64
	key, value string
	nullKey    bool
}

// baseTime is the time of records whose time does not matter; recent, so that retention leaves them alone.
var baseTime = time.Now().UnixMilli()

func builder(codec batch.Codec, records ...record) *batch.Builder {
	b := batch.NewBuilder(codec)
	for i, r := range records {
		if r.ts == 0 {
			r.ts = baseTime + int64(i)
		}
		var key []byte
		if r.key != "" {
			key = []byte(r.key)
		}
		b.Add(r.ts, key, []byte(r.value))
	}
	return b
}

// values is a plain batch of records without keys.
func values(v ...string) []byte {
	var records []record
	for i := range v {
		records = append(records, record{value: v[i]})
	}
	return builder(batch.None, records...).Bytes()
}

// timed is a batch of records with these timestamps.
func timed(codec batch.Codec, ts ...int64) []byte {
	var records []record
	for i := range ts {
		records = append(records, record{ts: ts[i], value: "v"})
	}
	return builder(codec, records...).Bytes()
}

func produceRequest(name string, partition int32, acks int16, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 10_000
	q := kmsg.NewProduceRequestTopic()
	q.Topic = name
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	q.Partitions = append(q.Partitions, p)
	req.Topics = append(req.Topics, q)
	return req
}

// produce writes to partition 0 with acks=all and gives the partition's answer.
func produce(c *conn, name string, records []byte) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	return produceTo(c, name, 0, records)
}

func produceTo(c *conn, name string, partition int32, records []byte) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	return ask[*kmsg.ProduceResponse](c, produceVersion, produceRequest(name, partition, -1, records)).Topics[0].Partitions[0]
}

// mustProduce gives the base offset of records that were taken.
func mustProduce(c *conn, name string, records []byte) int64 {
	c.t.Helper()
	p := produce(c, name, records)
	if p.ErrorCode != 0 {
		c.t.Fatalf("producing to %s: error %d", name, p.ErrorCode)
	}
	return p.BaseOffset
}

func fetchRequest(name string, partition int32, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch, req.ReplicaID = 0, 1, 50<<20, -1, -1
	q := kmsg.NewFetchRequestTopic()
	q.Topic = name
	q.Partitions = append(q.Partitions, fetchPartition(partition, offset))
	req.Topics = append(req.Topics, q)
	return req
}

func fetchPartition(partition int32, offset int64) kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 1<<20
	return p
}

// fetch reads partition 0 from an offset without waiting.
func fetch(c *conn, name string, offset int64) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	return ask[*kmsg.FetchResponse](c, fetchVersion, fetchRequest(name, 0, offset)).Topics[0].Partitions[0]
}

// kept is a record as it came back.
type kept struct {
	offset int64
	value  string
}

// unpack lists the records of a fetch, from an offset on.
func unpack(t *testing.T, records []byte, from int64) (out []kept) {
	t.Helper()
	err := batch.Iterate(records, func(r batch.Record) bool {
		if r.Offset >= from {
			out = append(out, kept{r.Offset, string(r.Value)})
		}
		return true
	})
	if err != nil {
		t.Fatalf("%d fetched bytes: %v", len(records), err)
	}
	return out
}

// readAll reads a partition from an offset to its high watermark.
func readAll(c *conn, name string, partition int32, from int64) (out []kept) {
	c.t.Helper()
	for {
		p := ask[*kmsg.FetchResponse](c, fetchVersion, fetchRequest(name, partition, from)).Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			c.t.Fatalf("fetching %s-%d from %d: error %d", name, partition, from, p.ErrorCode)
		}
		got := unpack(c.t, p.RecordBatches, from)
		out = append(out, got...)
		if len(got) == 0 || got[len(got)-1].offset+1 >= p.HighWatermark {
			return out
		}
		from = got[len(got)-1].offset + 1
	}
}

// listOffset asks for the offset of a time, or one of the special values.
func listOffset(c *conn, version int16, name string, partition int32, ts int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	q := kmsg.NewListOffsetsRequestTopic()
	q.Topic = name
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.MaxNumOffsets = partition, ts, 1
	q.Partitions = append(q.Partitions, p)
	req.Topics = append(req.Topics, q)
	return ask[*kmsg.ListOffsetsResponse](c, version, req).Topics[0].Partitions[0]
}

// want fails unless two values are equal.
func want[V comparable](t *testing.T, what string, got, due V) {
	t.Helper()
	if got != due {
		t.Errorf("%s: %v, want %v", what, got, due)
	}
}
