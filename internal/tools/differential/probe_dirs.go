package main

import (
	"errors"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// dirProbes ask for partitions to lie in directories, and on brokers.
func dirProbes() []probe {
	// lie asks for partitions of a topic in directories, of which "own" is the broker's first, and "own/" that with a slash.
	lie := func(name, topic string, partitions []int32, dirs ...string) probe {
		return probe{name: name, key: 34, make: func(w *world, _ int16) (kmsg.Request, error) {
			own, err := firstDir(w)
			req := kmsg.NewPtrAlterReplicaLogDirsRequest()
			for _, dir := range dirs {
				d := kmsg.NewAlterReplicaLogDirsRequestDir()
				d.Dir = strings.Replace(dir, "own", own, 1)
				d.Topics = []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: topic, Partitions: partitions}}
				req.Dirs = append(req.Dirs, d)
			}
			return req, errors.Join(err, filled(w))
		}}
	}
	held := func(name, topic string, partition int32, brokers []int32) probe {
		return probe{name: name, key: 45, upToZero: true, make: func(w *world, _ int16) (kmsg.Request, error) {
			req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			req.TimeoutMillis = 10_000
			t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
			p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
			t.Topic, p.Partition, p.Replicas = topic, partition, brokers
			t.Partitions = append(t.Partitions, p)
			req.Topics = append(req.Topics, t)
			return req, filled(w)
		}}
	}
	return []probe{
		lie("unknown-dir", "filled", []int32{0}, "/nowhere"),
		lie("own-dir", "filled", []int32{0}, "own"),
		lie("own-dir-slash", "filled", []int32{0}, "own/"),
		lie("empty-dir", "filled", []int32{0}, ""),
		lie("no-such-partition", "filled", []int32{9}, "own"),
		lie("negative-partition", "filled", []int32{-1}, "own"),
		lie("unknown-topic", "nobody", []int32{0}, "own"),
		lie("unknown-topic-and-dir", "nobody", []int32{0}, "/nowhere"),
		lie("name-too-long", strings.Repeat("n", 240), []int32{0}, "own"),
		lie("name-too-long-and-dir", strings.Repeat("n", 240), []int32{0}, "/nowhere"),
		lie("last-counts", "filled", []int32{0}, "/nowhere", "own"),
		lie("last-counts-wrong", "filled", []int32{0}, "own", "/nowhere"),
		lie("none", "filled", nil),
		lie("no-partitions", "filled", []int32{}, "own"),
		held("same", "filled", 0, []int32{0}),
		held("cancel", "filled", 0, nil),
		held("empty", "filled", 0, []int32{}),
		held("not-alive", "filled", 0, []int32{7}),
		held("more", "filled", 0, []int32{0, 7}),
		held("twice", "filled", 0, []int32{0, 0}),
		held("negative", "filled", 0, []int32{-1}),
		held("no-such-partition", "filled", 9, []int32{0}),
		held("unknown-topic", "nobody", 0, []int32{0}),
		{name: "all", key: 46, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrListPartitionReassignmentsRequest()
			req.TimeoutMillis = 10_000
			return req
		})},
		{name: "some", key: 46, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrListPartitionReassignmentsRequest()
			req.TimeoutMillis = 10_000
			req.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: "filled", Partitions: []int32{0, 9}}, {Topic: "nobody", Partitions: []int32{0}}}
			return req
		})},
	}
}

// firstDir is the name of the broker's first log directory.
func firstDir(w *world) (string, error) {
	resp, err := w.ask(kmsg.NewPtrDescribeLogDirsRequest(), 1)
	if err != nil {
		return "", err
	}
	dirs := resp.(*kmsg.DescribeLogDirsResponse).Dirs
	if len(dirs) == 0 {
		return "", errors.New("the broker tells no log directory")
	}
	return dirs[0].Dir, nil
}
