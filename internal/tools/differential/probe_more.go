package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// squeezed is the good batch with its records compressed.
func squeezed(codec int16, compress func([]byte) []byte) func(int16) []byte {
	return func(int16) []byte {
		plain := good()
		b := append(plain[:61:61], compress(plain[61:])...)
		binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
		binary.BigEndian.PutUint16(b[21:], uint16(codec))
		return seal(b)
	}
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

// zstdded is a zstd frame of one block that is stored as it is; b has less than 256 bytes.
func zstdded(b []byte) []byte {
	block := len(b)<<3 | 1 // the last one, raw
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, byte(len(b)), byte(block), byte(block >> 8), byte(block >> 16)}
	return append(frame, b...)
}

func sequenceProbes() []probe {
	send := func(name string, epoch int16, sequence int32, records int) probe {
		return probe{name: name, key: 0, from: 3, make: func(w *world, v int16) (kmsg.Request, error) {
			topic := fmt.Sprintf("sequence-v%d", v)
			if err := w.topic(topic, 1, "retention.ms", "-1"); err != nil {
				return nil, err
			}
			kvs := make([][]byte, 2*records)
			for i := range kvs {
				kvs[i] = []byte("x")
			}
			times := make([]int64, records)
			for i := range times {
				times[i] = baseTime
			}
			return produceTo(w, topic, 0, -1, batchOf(4242, epoch, sequence, times, kvs...)), nil
		}}
	}
	return []probe{
		send("sequence-zero", 0, 0, 2),
		send("sequence-repeated", 0, 0, 2),
		send("sequence-next", 0, 2, 1),
		send("sequence-gap", 0, 9, 1),
		send("sequence-overlap", 0, 1, 2),
		send("sequence-new-epoch-not-zero", 1, 3, 1),
		send("sequence-new-epoch", 1, 0, 1),
		send("sequence-old-epoch", 0, 3, 1),
	}
}

func moreProduceProbes() []probe {
	same := func(b []byte) func(int16) []byte { return func(int16) []byte { return b } }
	own := func(epoch int16) func(int16) []byte {
		return same(batchOf(78, epoch, 0, []int64{baseTime}, []byte("k"), []byte("v")))
	}
	return append([]probe{
		produced("gzip", 0, 1, squeezed(1, gzipped)),
		produced("gzip-torn", 0, 1, squeezed(1, func(b []byte) []byte { return gzipped(b)[:12] })),
		produced("gzip-rubbish", 0, 1, squeezed(1, func([]byte) []byte { return []byte("no gzip at all") })),
		produced("gzip-count-wrong", 0, 1, func(v int16) []byte {
			b := squeezed(1, gzipped)(v)
			binary.BigEndian.PutUint32(b[57:], 9)
			binary.BigEndian.PutUint32(b[23:], 8)
			return seal(b)
		}),
		produced("zstd", 0, 1, squeezed(4, zstdded)),
		produced("gzip-on-zstd-topic", 0, 1, squeezed(1, gzipped), "compression.type", "zstd"),
		produced("trailing-bytes", 0, 1, func(int16) []byte { return append(good(), 1, 2, 3, 4, 5) }),
		produced("append-time-bit-and-topic", 0, 1, changed(true, 21, 0, 8), "message.timestamp.type", "LogAppendTime"),
		produced("transactional-bit", 0, 1, changed(true, 21, 0, 0x10)),
		produced("epoch-minus-one", 0, 1, own(-1)),
		produced("delete-horizon-bit", 0, 1, changed(true, 21, 0, 0x40)),
		produced("max-timestamp-wrong", 0, 1, changed(true, 35, binary.BigEndian.AppendUint64(nil, uint64(baseTime+99))...)),
		produced("time-missing", 0, 1, same(batchOf(-1, -1, -1, []int64{-1, -1}, []byte("k"), []byte("v"), []byte("k"), []byte("v")))),
		produced("time-far-future", 0, 1, same(batchOf(-1, -1, -1, []int64{baseTime * 5}, []byte("k"), []byte("v"))), "message.timestamp.after.max.ms", "1000"),
		produced("compacted-half-null-keys", 0, 1, same(batchOf(-1, -1, -1, []int64{baseTime, baseTime, baseTime, baseTime},
			[]byte("k"), []byte("v"), nil, []byte("v"), nil, []byte("v"), []byte("k"), []byte("v"))), "cleanup.policy", "compact"),
		{name: "partition-negative", key: 0, from: 3, make: func(w *world, _ int16) (kmsg.Request, error) {
			return produceTo(w, "made-v3", -1, 1, good()), nil
		}},
		{name: "good-beside-bad", key: 0, from: 3, make: func(w *world, v int16) (kmsg.Request, error) {
			topic := fmt.Sprintf("beside-v%d", v)
			if err := w.topic(topic, 2); err != nil {
				return nil, err
			}
			req := produceTo(w, topic, 0, 1, good()).(*kmsg.ProduceRequest)
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition, p.Records = 1, changed(false, 70, 0xff)(v)
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
			return req, nil
		}},
		{name: "no-topics", key: 0, from: 3, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrProduceRequest()
			req.Acks, req.TimeoutMillis = 1, 1000
			return req
		})},
	}, sequenceProbes()...)
}

// strange sends ApiVersions in a version that nobody serves; the answer comes in version 0.
func strange(name string, version int16) probe {
	return probe{name: name, key: 18, to: 1, mask: []string{"ApiKeys"}, raw: func(w *world) (kmsg.Response, error) {
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = "differential", "1"
		req.SetVersion(4)
		frame := w.frame(req)
		binary.BigEndian.PutUint16(frame[6:], uint16(version))
		body, err := w.roundTrip(frame, true)
		if err != nil {
			return nil, err
		}
		resp := kmsg.NewPtrApiVersionsResponse()
		return resp, resp.ReadFrom(body)
	}}
}

func versionProbes() []probe {
	named := func(name, software, version string) probe {
		return probe{name: name, key: 18, mask: []string{"ApiKeys", "SupportedFeatures", "FinalizedFeatures", "FinalizedFeaturesEpoch"}, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrApiVersionsRequest()
			req.ClientSoftwareName, req.ClientSoftwareVersion = software, version
			return req
		})}
	}
	return []probe{
		named("good", "differential", "1.0"),
		named("name-with-space", "a b", "1.0"),
		named("name-empty", "", ""),
		strange("five", 5),
		strange("ninety-nine", 99),
	}
}

func moreTopicProbes() []probe {
	remove := func(name string, build func(w *world, topic string) []kmsg.DeleteTopicsRequestTopic) probe {
		return probe{name: name, key: 20, from: 6, make: func(w *world, _ int16) (kmsg.Request, error) {
			topic := "gone-" + name
			if err := w.topic(topic, 1); err != nil {
				return nil, err
			}
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.TimeoutMillis, req.Topics = 20_000, build(w, topic)
			return req, nil
		}}
	}
	of := func(name *string, id [16]byte) kmsg.DeleteTopicsRequestTopic {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic, t.TopicID = name, id
		return t
	}
	return []probe{
		remove("by-id", func(w *world, n string) []kmsg.DeleteTopicsRequestTopic {
			return []kmsg.DeleteTopicsRequestTopic{of(nil, w.ids[n])}
		}),
		remove("by-both", func(w *world, n string) []kmsg.DeleteTopicsRequestTopic {
			return []kmsg.DeleteTopicsRequestTopic{of(&n, w.ids[n])}
		}),
		remove("by-neither", func(*world, string) []kmsg.DeleteTopicsRequestTopic {
			return []kmsg.DeleteTopicsRequestTopic{of(nil, [16]byte{})}
		}),
		remove("name-twice", func(_ *world, n string) []kmsg.DeleteTopicsRequestTopic {
			return []kmsg.DeleteTopicsRequestTopic{of(&n, [16]byte{}), of(&n, [16]byte{})}
		}),
		remove("id-twice", func(w *world, n string) []kmsg.DeleteTopicsRequestTopic {
			return []kmsg.DeleteTopicsRequestTopic{of(nil, w.ids[n]), of(nil, w.ids[n])}
		}),
		remove("name-and-id-apart", func(w *world, n string) []kmsg.DeleteTopicsRequestTopic {
			return []kmsg.DeleteTopicsRequestTopic{of(&n, [16]byte{}), of(nil, w.ids[n])}
		}),
		{name: "topic-twice", key: 37, make: func(w *world, v int16) (kmsg.Request, error) {
			topic := fmt.Sprintf("grow-twice-v%d", v)
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.TimeoutMillis = 20_000
			for i := range int32(2) {
				t := kmsg.NewCreatePartitionsRequestTopic()
				t.Topic, t.Count = topic, 2+i
				req.Topics = append(req.Topics, t)
			}
			return req, w.topic(topic, 1)
		}},
		{name: "validate-only", key: 37, make: func(w *world, v int16) (kmsg.Request, error) {
			topic := fmt.Sprintf("grow-validate-v%d", v)
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.TimeoutMillis, req.ValidateOnly = 20_000, true
			t := kmsg.NewCreatePartitionsRequestTopic()
			t.Topic, t.Count = topic, 4
			req.Topics = append(req.Topics, t)
			return req, w.topic(topic, 1)
		}},
	}
}

func pagedProbes() []probe {
	page := func(name string, limit int32, cursor string, topics ...string) probe {
		return probe{name: name, key: 75, mask: []string{"AuthorizedOperations"}, make: func(w *world, _ int16) (kmsg.Request, error) {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.ResponsePartitionLimit = limit
			for _, n := range topics {
				t := kmsg.NewDescribeTopicPartitionsRequestTopic()
				t.Topic = n
				req.Topics = append(req.Topics, t)
			}
			if cursor != "" {
				c := kmsg.NewDescribeTopicPartitionsRequestCursor()
				c.Topic, c.Partition = cursor, 1
				req.Cursor = &c
			}
			return req, filled(w)
		}}
	}
	return []probe{
		page("one", 2000, "", "filled"),
		page("several", 2000, "", "made-v3", "filled", "nobody", "a/b"),
		page("limit", 3, "", "made-v3", "filled"),
		page("limit-one", 1, "", "made-v3", "filled"),
		page("cursor", 2000, "filled", "made-v3", "filled"),
		page("cursor-of-nobody", 2000, "g", "made-v3", "filled"),
		page("limit-zero", 0, "", "filled"),
		page("limit-zero-of-several", 0, "", "made-v3", "filled"),
		page("twice", 2000, "", "filled", "filled"),
	}
}
