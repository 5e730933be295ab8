package main

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func listed(name string, at int64, change func(req *kmsg.ListOffsetsRequest)) probe {
	return probe{name: name, key: 2, from: 1, make: func(w *world, _ int16) (kmsg.Request, error) {
		if err := filled(w); err != nil {
			return nil, err
		}
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID = -1
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = "filled"
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp, p.CurrentLeaderEpoch = at, -1
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		if change != nil {
			change(req)
		}
		return req, nil
	}}
}

func listProbes() []probe {
	return []probe{
		listed("latest", -1, nil),
		listed("earliest", -2, nil),
		listed("max-timestamp", -3, nil),
		listed("earliest-local", -4, nil),
		listed("latest-tiered", -5, nil),
		listed("earliest-pending-upload", -6, nil),
		listed("impossible", -17, nil),
		listed("time-zero", 0, nil),
		listed("time-first", baseTime, nil),
		listed("time-inside", baseTime+1, nil),
		listed("time-largest", baseTime+5, nil),
		listed("time-after", baseTime+6, nil),
		listed("committed", -1, func(req *kmsg.ListOffsetsRequest) { req.IsolationLevel = 1 }),
		listed("empty-partition", -3, func(req *kmsg.ListOffsetsRequest) { req.Topics[0].Partitions[0].Partition = 1 }),
		listed("unknown-topic", -1, func(req *kmsg.ListOffsetsRequest) { req.Topics[0].Topic = "nobody" }),
		listed("unknown-partition", -1, func(req *kmsg.ListOffsetsRequest) { req.Topics[0].Partitions[0].Partition = 9 }),
		listed("future-epoch", -1, func(req *kmsg.ListOffsetsRequest) { req.Topics[0].Partitions[0].CurrentLeaderEpoch = 50 }),
		listed("partition-twice", -1, func(req *kmsg.ListOffsetsRequest) {
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
		}),
	}
}

func epochAsked(name, topic string, current, epoch int32) probe {
	return probe{name: name, key: 23, make: func(w *world, _ int16) (kmsg.Request, error) {
		if err := filled(w); err != nil {
			return nil, err
		}
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID = -1
		t := kmsg.NewOffsetForLeaderEpochRequestTopic()
		t.Topic = topic
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.CurrentLeaderEpoch, p.LeaderEpoch = current, epoch
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		return req, nil
	}}
}

func trimmed(name string, topic func(v int16) string, offset int64) probe {
	return probe{name: name, key: 21, make: func(w *world, v int16) (kmsg.Request, error) {
		own := fmt.Sprintf("trim-v%d", v)
		if _, ok := w.ids[own]; !ok {
			if err := w.topic(own, 1, "retention.ms", "-1"); err != nil {
				return nil, err
			}
			if _, err := w.ask(produceTo(w, own, 0, 1, good()), 9); err != nil {
				return nil, err
			}
		}
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.TimeoutMillis = 10_000
		t := kmsg.NewDeleteRecordsRequestTopic()
		t.Topic = topic(v)
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Offset = offset
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		return req, nil
	}}
}

func offsetProbes() []probe {
	own := func(v int16) string { return fmt.Sprintf("trim-v%d", v) }
	return append(listProbes(),
		epochAsked("current", "filled", -1, 0),
		epochAsked("future", "filled", -1, 7),
		epochAsked("negative", "filled", -1, -1),
		epochAsked("unknown-epoch", "filled", 9, 0),
		epochAsked("unknown-topic", "nobody", -1, 0),
		trimmed("to-two", own, 2),
		trimmed("below-start", own, 1),
		trimmed("beyond-end", own, 50),
		trimmed("negative", own, -7),
		trimmed("to-high-watermark", own, -1),
		trimmed("unknown-topic", func(int16) string { return "nobody" }, 0),
		trimmed("compacted", func(int16) string { return "cfg" }, 0),
		probe{name: "new-id", key: 22, make: func(w *world, _ int16) (kmsg.Request, error) { return newProducer(), identified(w) }},
		probe{name: "empty-transactional-id", key: 22, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = str(""), 60_000, -1, -1
			return req
		})},
	)
}

func newProducer() kmsg.Request {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = 60_000, -1, -1
	return req
}

// identified waits until the broker has a block of producer ids to give out.
func identified(w *world) error {
	for range 200 {
		resp, err := w.ask(newProducer(), 0)
		if err != nil {
			return err
		}
		if resp.(*kmsg.InitProducerIDResponse).ErrorCode == 0 {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s: no producer id after 10 s", w.addr)
}
