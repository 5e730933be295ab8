package broker_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What stands beside an error in a Produce answer is Kafka's: every refused record is named, and the log's start is told when the log
// refused a batch, not when there was none to look at.
func TestProduceSaysWhatWasRefused(t *testing.T) {
	c := shared(t).dial(t)
	compacted, plain := topic(t, c, 1, "cleanup.policy=compact"), unique(t)+"-plain"
	makeTopic(t, c, plain, 1)
	cases := []struct {
		name, topic string
		records     []byte
		code        int16
		logStart    int64
		refused     []int32
	}{
		{"null-keys", compacted, builder(0, record{key: "k", value: "v"}, record{value: "v"}, record{key: "k", value: "v"}, record{value: "v"}).Bytes(), 87, 0, []int32{1, 3}},
		{"two-batches", plain, append(values("one"), values("two")...), 87, -1, nil},
		{"nothing", plain, []byte{}, 87, -1, nil},
		{"cut-off", plain, values("one")[:40], 87, -1, nil},
		{"magic-7", plain, patched(false, 16, 7), 2, -1, nil},
		{"magic-1", plain, patched(false, 16, 1), 87, -1, nil},
		{"bad-crc", plain, patched(false, 65, 0xff), 2, -1, nil},
		{"not-gzip", plain, patched(true, 21, 0, 1), 87, 0, nil},
		{"control-bit", plain, patched(true, 21, 0, 0x20), 87, 0, nil},
		{"producer-without-epoch", plain, patched(true, 43, 0, 0, 0, 0, 0, 0, 0, 9, 0xff, 0xfd, 0, 0, 0, 0), 47, 0, nil},
		{"transaction-without-id", plain, patched(true, 21, 0, 0x10), 53, -1, nil},
	}
	for _, bad := range cases {
		t.Run(bad.name, func(t *testing.T) {
			got := produce(c, bad.topic, bad.records)
			want(t, "error", got.ErrorCode, bad.code)
			want(t, "log start", got.LogStartOffset, bad.logStart)
			want(t, "records named", len(got.ErrorRecords), len(bad.refused))
			for i := range min(len(got.ErrorRecords), len(bad.refused)) {
				want(t, "record", got.ErrorRecords[i].RelativeOffset, bad.refused[i])
			}
		})
	}
}

// A client that says of its records when they were appended is heard as one that does not say it.
func TestProduceDropsTheClaimOfAppendTime(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	want(t, "base offset", mustProduce(c, name, patched(true, 21, 0, 8)), 0)
	got := fetch(c, name, 0)
	if len(got.RecordBatches) < 61 || got.RecordBatches[22]&8 != 0 {
		t.Fatalf("attributes of what was kept: %x", got.RecordBatches)
	}
}

// A timestamp that asks for something this version does not know is UNSUPPORTED_VERSION for its partition.
func TestListOffsetsUnknownSpecial(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	for _, q := range []struct {
		version int16
		at      int64
		code    int16
	}{{6, -3, 35}, {7, -3, 0}, {7, -4, 35}, {8, -4, 0}, {8, -5, 35}, {9, -5, 0}, {9, -6, 35}, {11, -6, 0}, {9, -17, 35}} {
		if p := listOffset(c, q.version, name, 0, q.at); p.ErrorCode != q.code {
			t.Errorf("version %d, %d: error %d, want %d", q.version, q.at, p.ErrorCode, q.code)
		}
	}
}

// A topic that stands twice in a request is refused twice when it is made and deleted once.
func TestTopicNamedTwice(t *testing.T) {
	c := shared(t).dial(t)
	name := unique(t)
	twice := creation(name, 1)
	twice.Topics = append(twice.Topics, twice.Topics[0])
	made := ask[*kmsg.CreateTopicsResponse](c, 5, twice)
	want(t, "entries", len(made.Topics), 2)
	for _, m := range made.Topics {
		want(t, "creating", m.ErrorCode, 42)
	}
	makeTopic(t, c, name, 1)
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 20_000
	for _, q := range []kmsg.DeleteTopicsRequestTopic{{Topic: &name}, {TopicID: topicID(c, name)}} {
		req.Topics = append(req.Topics, q)
	}
	gone := ask[*kmsg.DeleteTopicsResponse](c, 6, req)
	for _, g := range gone.Topics {
		want(t, "deleting", g.ErrorCode, 0)
		want(t, "name", *g.Topic, name)
	}
}

// -1 means the broker's own numbers in every version.
func TestCreateTopicsDefaultsInEveryVersion(t *testing.T) {
	c := shared(t).dial(t)
	for _, version := range []int16{0, 3, 4} {
		req := creation(unique(t)+string(rune('a'+version)), -1)
		req.Topics[0].ReplicationFactor = -1
		want(t, "error", ask[*kmsg.CreateTopicsResponse](c, version, req).Topics[0].ErrorCode, 0)
	}
}

// A producer brings its id and its epoch, or neither.
func TestInitProducerIDHalfKnown(t *testing.T) {
	c := shared(t).dial(t)
	for _, q := range []struct {
		id    int64
		epoch int16
		code  int16
	}{{-1, -1, 0}, {5, 0, 0}, {5, -1, 42}, {-1, 0, 42}} {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = 60_000, q.id, q.epoch
		want(t, "error", ask[*kmsg.InitProducerIDResponse](c, 4, req).ErrorCode, q.code)
	}
}

// What a broker's settings do not take is INVALID_REQUEST, what a topic's do not take INVALID_CONFIG.
func TestAlterConfigsRefusalsByKind(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	for _, q := range []struct {
		kind      kmsg.ConfigResourceType
		name, key string
		code      int16
	}{{kmsg.ConfigResourceTypeBroker, "", "log.cleaner.threads", 42}, {kmsg.ConfigResourceTypeTopic, name, "retention.ms", 40}} {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = q.kind, q.name
		many := "many"
		r.Configs = append(r.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: q.key, Value: &many})
		req.Resources = append(req.Resources, r)
		want(t, q.key, ask[*kmsg.IncrementalAlterConfigsResponse](c, 1, req).Resources[0].ErrorCode, q.code)
	}
}
