package main

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// baseTime is the time of the first record of every batch; topics that later probes read keep such old records.
const baseTime = int64(1_700_000_000_000)

func good() []byte {
	return batchOf(-1, -1, -1, []int64{baseTime, baseTime + 5, baseTime + 3}, []byte("k1"), []byte("v1"), []byte("k2"), nil, nil, []byte("v3"))
}

// produced sends records to partition 0 of a topic of its own for each version.
func produced(name string, from int16, acks int16, records func(v int16) []byte, config ...string) probe {
	return probe{name: name, key: 0, from: max(3, from), make: func(w *world, v int16) (kmsg.Request, error) {
		topic := fmt.Sprintf("produce-%s-v%d", name, v)
		if err := w.topic(topic, 1, config...); err != nil {
			return nil, err
		}
		return produceTo(w, topic, 0, acks, records(v)), nil
	}}
}

func produceTo(w *world, topic string, partition int32, acks int16, records []byte) kmsg.Request {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 5000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, w.ids[topic]
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// changed is the good batch with some bytes overwritten, its checksum made right again when sealed.
func changed(sealed bool, at int, b ...byte) func(int16) []byte {
	return func(int16) []byte {
		x := good()
		copy(x[at:], b)
		if sealed {
			seal(x)
		}
		return x
	}
}

func always3(b func() []byte) func(int16) []byte { return func(int16) []byte { return b() } }

func produceProbes() []probe {
	be32 := func(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
	withID := func(epoch int16, sequence int32) func(int16) []byte {
		return func(int16) []byte { return batchOf(77, epoch, sequence, []int64{baseTime}, []byte("k"), []byte("v")) }
	}
	return []probe{
		produced("good", 0, 1, always3(good)),
		produced("good-acks-all", 0, -1, always3(good)),
		produced("acks-five", 0, 5, always3(good)),
		produced("bad-crc", 0, 1, changed(false, 70, 0xff)),
		produced("magic-7", 0, 1, changed(false, 16, 7)),
		produced("control-bit", 0, 1, changed(true, 21, 0, 0x20)),
		produced("unknown-codec", 0, 1, changed(true, 21, 0, 7)),
		produced("append-time-bit", 0, 1, changed(true, 21, 0, 8)),
		produced("count-too-large", 0, 1, changed(true, 57, be32(9)...)),
		produced("count-zero", 0, 1, changed(true, 57, be32(0)...)),
		produced("count-negative", 0, 1, changed(true, 57, be32(1<<31)...)),
		produced("last-delta-wrong", 0, 1, changed(true, 23, be32(7)...)),
		produced("length-too-small", 0, 1, changed(true, 8, be32(3)...)),
		produced("length-too-large", 0, 1, changed(true, 8, be32(1<<20)...)),
		produced("base-offset", 0, 1, changed(true, 0, 0, 0, 0, 0, 0, 0, 0, 5)),
		produced("two-batches", 0, 1, func(int16) []byte { return append(good(), good()...) }),
		produced("no-records", 0, 1, func(int16) []byte { return []byte{} }),
		produced("cut-off", 0, 1, func(int16) []byte { return good()[:40] }),
		produced("too-large", 0, 1, func(int16) []byte {
			return batchOf(-1, -1, -1, []int64{baseTime}, []byte("k"), make([]byte, 5000))
		}, "max.message.bytes", "1000"),
		produced("compacted-null-key", 0, 1, always3(good), "cleanup.policy", "compact"),
		produced("append-time-topic", 0, 1, always3(good), "message.timestamp.type", "LogAppendTime"),
		produced("time-too-old", 0, 1, always3(good), "message.timestamp.before.max.ms", "1000"),
		produced("sequence-first-7", 0, 1, withID(0, 7)),
		produced("sequence-negative", 0, 1, withID(0, -5)),
		produced("epoch-negative", 0, 1, withID(-3, 0)),
		{name: "unknown-topic", key: 0, from: 3, to: 12, make: func(w *world, _ int16) (kmsg.Request, error) {
			return produceTo(w, "nobody", 0, 1, good()), nil
		}},
		{name: "unknown-topic-id", key: 0, from: 13, make: func(w *world, _ int16) (kmsg.Request, error) {
			req := produceTo(w, "x", 0, 1, good()).(*kmsg.ProduceRequest)
			req.Topics[0].TopicID = [16]byte{9}
			return req, nil
		}},
		{name: "unknown-partition", key: 0, from: 3, make: func(w *world, _ int16) (kmsg.Request, error) {
			return produceTo(w, "made-v3", 9, 1, good()), nil
		}},
	}
}
