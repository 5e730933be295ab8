package main

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func metadata(name string, from int16, topics ...*string) probe {
	return probe{name: name, key: 3, from: from, mask: []string{"AuthorizedOperations"}, make: func(w *world, v int16) (kmsg.Request, error) {
		if err := filled(w); err != nil {
			return nil, err
		}
		req := kmsg.NewPtrMetadataRequest()
		for _, t := range topics {
			rt := kmsg.NewMetadataRequestTopic()
			rt.Topic = t
			req.Topics = append(req.Topics, rt)
		}
		if topics == nil {
			req.Topics = []kmsg.MetadataRequestTopic{}
		}
		return req, nil
	}}
}

func clusterProbes() []probe {
	long := strings.Repeat("n", 250)
	return []probe{
		metadata("none", 1),
		metadata("one", 0, str("filled")),
		metadata("missing-among-others", 4, str("filled"), str("nobody"), str("made-v3")),
		metadata("bad-name", 4, str("a/b")),
		metadata("long-name", 4, &long),
		metadata("empty-name", 4, str("")),
		{name: "by-id", key: 3, from: 12, make: func(w *world, _ int16) (kmsg.Request, error) {
			req := kmsg.NewPtrMetadataRequest()
			for _, id := range [][16]byte{w.ids["filled"], {4, 4}} {
				t := kmsg.NewMetadataRequestTopic()
				t.TopicID = id
				req.Topics = append(req.Topics, t)
			}
			return req, nil
		}},
		{name: "good", key: 60, mask: []string{"ClusterAuthorizedOperations"}, make: plainMake(func(int16) kmsg.Request { return kmsg.NewPtrDescribeClusterRequest() })},
		{name: "operations", key: 60, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.IncludeClusterAuthorizedOperations = true
			return req
		})},
		{name: "controllers", key: 60, from: 1, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.EndpointType = 2
			return req
		})},
		{name: "no-such-kind", key: 60, from: 1, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.EndpointType = 7
			return req
		})},
		{name: "some", key: 35, mask: []string{"Size", "PartitionSize"}, make: func(w *world, _ int16) (kmsg.Request, error) {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			t := kmsg.NewDescribeLogDirsRequestTopic()
			t.Topic, t.Partitions = "filled", []int32{0, 1, 9}
			req.Topics = append(req.Topics, t)
			return req, filled(w)
		}},
		{name: "filled", key: 61, make: func(w *world, _ int16) (kmsg.Request, error) { return producersOf("filled", 0, 9), filled(w) }},
		{name: "unknown", key: 61, make: plainMake(func(int16) kmsg.Request { return producersOf("nobody", 0) })},
		{name: "with-sequence", key: 61, make: plainMake(func(int16) kmsg.Request { return producersOf("produce-sequence-first-7-v9", 0) })},
	}
}

func producersOf(topic string, partitions ...int32) kmsg.Request {
	req := kmsg.NewPtrDescribeProducersRequest()
	t := kmsg.NewDescribeProducersRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	req.Topics = append(req.Topics, t)
	return req
}
