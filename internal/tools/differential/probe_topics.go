package main

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// created is one topic of a CreateTopics request.
func created(name string, partitions int32, factor int16, config ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, factor
	for i := 0; i+1 < len(config); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = config[i], str(config[i+1])
		t.Configs = append(t.Configs, c)
	}
	return t
}

func create(name string, topics func(v int16) []kmsg.CreateTopicsRequestTopic) probe {
	return probe{name: name, key: 19, make: plainMake(func(v int16) kmsg.Request {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis, req.Topics = 20_000, topics(v)
		return req
	}), then: func(w *world, v int16, _ kmsg.Response) {
		for _, t := range topics(v) {
			if strings.HasPrefix(t.Topic, "made") {
				_ = w.learn(t.Topic) // later probes find out when it is missing
			}
		}
	}}
}

// unknownBroker does not wait for a leader that never comes.
func unknownBroker(topic func(v int16) kmsg.CreateTopicsRequestTopic) probe {
	return probe{name: "assignment-unknown-broker", key: 19, make: plainMake(func(v int16) kmsg.Request {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis, req.Topics = 100, []kmsg.CreateTopicsRequestTopic{topic(v)}
		return req
	})}
}

func topicProbes() []probe {
	assigned := func(name string, replicas ...[]int32) kmsg.CreateTopicsRequestTopic {
		t := created(name, -1, -1)
		for i, r := range replicas {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = int32(i), r
			t.ReplicaAssignment = append(t.ReplicaAssignment, a)
		}
		return t
	}
	one := func(t kmsg.CreateTopicsRequestTopic) func(int16) []kmsg.CreateTopicsRequestTopic {
		return func(int16) []kmsg.CreateTopicsRequestTopic { return []kmsg.CreateTopicsRequestTopic{t} }
	}
	both := assigned("counts-and-assignment", []int32{0})
	both.NumPartitions, both.ReplicationFactor = 2, 1
	return append([]probe{
		create("good", func(v int16) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{created(fmt.Sprintf("made-v%d", v), 3, 1, "retention.ms", "99999")}
		}),
		create("exists", one(created("made-v3", 1, 1))),
		create("factor-too-large", one(created("rf5", 1, 5))),
		create("factor-zero", one(created("rf0", 1, 0))),
		create("factor-default", func(v int16) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{created(fmt.Sprintf("rf-default-v%d", v), 2, -1)}
		}),
		create("partitions-zero", one(created("p0", 0, 1))),
		create("partitions-default", func(v int16) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{created(fmt.Sprintf("p-default-v%d", v), -1, 1)}
		}),
		create("counts-and-assignment", one(both)),
		create("twice", one(created("twice", 1, 1))),
		create("same-name-twice", func(int16) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{created("dup", 1, 1), created("dup", 2, 1)}
		}),
		create("name-too-long", one(created(strings.Repeat("n", 250), 1, 1))),
		create("name-empty", one(created("", 1, 1))),
		create("name-dots", one(created("..", 1, 1))),
		create("name-slash", one(created("a/b", 1, 1))),
		create("collision-first", one(created("a_b", 1, 1))),
		create("collision", one(created("a.b", 1, 1))),
		create("config-unknown", one(created("cfg1", 1, 1, "no.such.key", "1"))),
		create("config-bad-value", one(created("cfg2", 1, 1, "retention.ms", "soon"))),
		create("config-out-of-bounds", one(created("cfg3", 1, 1, "segment.bytes", "1"))),
		unknownBroker(func(v int16) kmsg.CreateTopicsRequestTopic { return assigned(fmt.Sprintf("asg1-v%d", v), []int32{77}) }),
		create("assignment-duplicate-broker", one(assigned("asg2", []int32{0, 0}))),
		create("assignment-good", func(v int16) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{assigned(fmt.Sprintf("asg-good-v%d", v), []int32{0}, []int32{0})}
		}),
		{name: "validate-only", key: 19, from: 1, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrCreateTopicsRequest()
			req.TimeoutMillis, req.ValidateOnly = 20_000, true
			req.Topics = []kmsg.CreateTopicsRequestTopic{created("never-made", 4, 1), created("never-made-2", 1, 9)}
			return req
		})},
	}, partitionProbes()...)
}

func grow(name, topic string, count int32, replicas ...[]int32) probe {
	return probe{name: name, key: 37, make: func(w *world, v int16) (kmsg.Request, error) {
		if err := w.topic(fmt.Sprintf("grow-v%d", v), 2); err != nil {
			return nil, err
		}
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis = 20_000
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = strings.ReplaceAll(topic, "V", fmt.Sprint(v)), count
		for _, r := range replicas {
			a := kmsg.NewCreatePartitionsRequestTopicAssignment()
			a.Replicas = r
			t.Assignment = append(t.Assignment, a)
		}
		req.Topics = append(req.Topics, t)
		return req, nil
	}}
}

func partitionProbes() []probe {
	return []probe{
		grow("shrink", "grow-vV", 1),
		grow("same-count", "grow-vV", 2),
		grow("unknown-topic", "nobody", 5),
		grow("assignment-of-wrong-size", "grow-vV", 4, []int32{0}),
		grow("assignment-unknown-broker", "grow-vV", 3, []int32{9}),
		grow("assignment-good", "grow-vV", 3, []int32{0}),
		grow("good", "grow-vV", 5),
		{name: "delete-unknown", key: 20, make: plainMake(func(v int16) kmsg.Request { return deleted(v, "nobody") })},
		{name: "delete-good", key: 20, make: func(w *world, v int16) (kmsg.Request, error) {
			name := fmt.Sprintf("gone-v%d", v)
			return deleted(v, name), w.topic(name, 1)
		}},
		{name: "delete-twice", key: 20, to: 5, make: func(w *world, v int16) (kmsg.Request, error) {
			name := fmt.Sprintf("gone-twice-v%d", v)
			return deleted(v, name, name), w.topic(name, 1)
		}},
		{name: "delete-unknown-id", key: 20, from: 6, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrDeleteTopicsRequest()
			t := kmsg.NewDeleteTopicsRequestTopic()
			t.TopicID = [16]byte{1, 2, 3}
			req.Topics = append(req.Topics, t)
			return req
		})},
	}
}

func deleted(v int16, names ...string) kmsg.Request {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 20_000
	if v <= 5 {
		req.TopicNames = names
	}
	for _, n := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = str(n)
		req.Topics = append(req.Topics, t)
	}
	return req
}
