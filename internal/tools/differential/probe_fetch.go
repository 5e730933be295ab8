package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// filled makes the topic that fetches read: three batches of three records.
func filled(w *world) error {
	if _, ok := w.ids["filled"]; ok {
		return nil
	}
	if err := w.topic("filled", 2, "retention.ms", "-1"); err != nil {
		return err
	}
	for i := range 3 {
		resp, err := w.ask(produceTo(w, "filled", 0, 1, good()), 9)
		if err != nil {
			return err
		}
		if code := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
			return fmt.Errorf("filling, batch %d: error %d", i, code)
		}
	}
	return nil
}

// fetched asks for partition 0 of the filled topic; change may spoil the request.
func fetched(name string, from int16, offset int64, change func(w *world, v int16, req *kmsg.FetchRequest)) probe {
	return probe{name: name, key: 1, from: from, make: func(w *world, v int16) (kmsg.Request, error) {
		if err := filled(w); err != nil {
			return nil, err
		}
		req := kmsg.NewPtrFetchRequest()
		req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = -1, 100, 1, 1<<20, -1
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID = "filled", w.ids["filled"]
		p := kmsg.NewFetchRequestTopicPartition()
		p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch, p.LogStartOffset, p.PartitionMaxBytes = -1, offset, -1, -1, 1<<20
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		if change != nil {
			change(w, v, req)
		}
		return req, nil
	}}
}

func fetchProbes() []probe {
	part := func(change func(p *kmsg.FetchRequestTopicPartition)) func(*world, int16, *kmsg.FetchRequest) {
		return func(_ *world, _ int16, req *kmsg.FetchRequest) { change(&req.Topics[0].Partitions[0]) }
	}
	session := fetched("session-new", 7, 0, func(_ *world, _ int16, req *kmsg.FetchRequest) { req.SessionEpoch = 0 })
	session.then = func(w *world, v int16, resp kmsg.Response) {
		w.vars[fmt.Sprintf("session-v%d", v)] = fmt.Sprint(resp.(*kmsg.FetchResponse).SessionID)
	}
	within := func(epoch int32, change func(req *kmsg.FetchRequest)) func(*world, int16, *kmsg.FetchRequest) {
		return func(w *world, v int16, req *kmsg.FetchRequest) {
			fmt.Sscan(w.vars[fmt.Sprintf("session-v%d", v)], &req.SessionID)
			req.SessionEpoch = epoch
			change(req)
		}
	}
	return []probe{
		fetched("from-start", 0, 0, nil),
		fetched("from-middle", 0, 4, nil),
		fetched("at-end", 0, 9, nil),
		fetched("beyond-end", 0, 10, nil),
		fetched("negative", 0, -1, nil),
		fetched("read-committed", 0, 0, func(_ *world, _ int16, req *kmsg.FetchRequest) { req.IsolationLevel = 1 }),
		fetched("small-max", 0, 0, part(func(p *kmsg.FetchRequestTopicPartition) { p.PartitionMaxBytes = 10 })),
		fetched("unknown-partition", 0, 0, part(func(p *kmsg.FetchRequestTopicPartition) { p.Partition = 9 })),
		fetched("epoch-right", 9, 0, part(func(p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 0 })),
		fetched("epoch-future", 9, 0, part(func(p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 50 })),
		fetched("unknown-topic", 0, 0, func(_ *world, _ int16, req *kmsg.FetchRequest) {
			req.Topics[0].Topic, req.Topics[0].TopicID = "nobody", [16]byte{3}
		}),
		fetched("empty-partition", 0, 0, part(func(p *kmsg.FetchRequestTopicPartition) { p.Partition = 1 })),
		session,
		fetched("session-next", 7, 9, within(1, func(*kmsg.FetchRequest) {})),
		fetched("session-nothing-changed", 7, 0, within(2, func(req *kmsg.FetchRequest) { req.Topics = nil })),
		fetched("session-wrong-epoch", 7, 0, within(9, func(*kmsg.FetchRequest) {})),
		fetched("session-unknown", 7, 0, func(_ *world, _ int16, req *kmsg.FetchRequest) { req.SessionID, req.SessionEpoch = 123, 4 }),
	}
}
