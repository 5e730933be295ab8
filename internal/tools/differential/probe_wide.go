package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// wideProbes ask what the probes of each kind leave out: several things in one request, doubles, null lists, brokers' settings.
func wideProbes() []probe {
	var all []probe
	for _, part := range [][]probe{wideMetadata(), wideConfigs(), wideFetches(), wideCommits(), wideGroups(), wideRest()} {
		all = append(all, part...)
	}
	return all
}

func wideMetadata() []probe {
	asked := func(name string, from int16, change func(req *kmsg.MetadataRequest), topics ...string) probe {
		return probe{name: name, key: 3, from: from, make: func(w *world, _ int16) (kmsg.Request, error) {
			req := kmsg.NewPtrMetadataRequest()
			for i := range topics {
				t := kmsg.NewMetadataRequestTopic()
				t.Topic = &topics[i]
				req.Topics = append(req.Topics, t)
			}
			if change != nil {
				change(req)
			}
			return req, filled(w)
		}}
	}
	return []probe{
		asked("all", 1, nil),
		asked("doubles", 4, nil, "filled", "filled"),
		asked("operations", 8, func(req *kmsg.MetadataRequest) {
			req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = true, true
		}, "filled"),
		asked("null-name-and-id", 12, func(req *kmsg.MetadataRequest) {
			req.Topics = []kmsg.MetadataRequestTopic{kmsg.NewMetadataRequestTopic()}
		}),
		asked("name-and-id", 12, func(req *kmsg.MetadataRequest) { req.Topics[0].TopicID = [16]byte{7} }, "filled"),
		{name: "make-on-demand", key: 3, mask: []string{"ErrorCode", "Partitions", "TopicID"}, make: plainMake(func(v int16) kmsg.Request {
			req := kmsg.NewPtrMetadataRequest()
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = str(fmt.Sprintf("demand-v%d", v))
			req.Topics, req.AllowAutoTopicCreation = append(req.Topics, t), true
			return req
		})},
	}
}

func wideConfigs() []probe {
	broker := kmsg.ConfigResourceTypeBroker
	altered := func(name string, kind kmsg.ConfigResourceType, resource, key, value string, op kmsg.IncrementalAlterConfigOp) probe {
		return probe{name: name, key: 44, make: func(w *world, _ int16) (kmsg.Request, error) {
			req := kmsg.NewPtrIncrementalAlterConfigsRequest()
			r := kmsg.NewIncrementalAlterConfigsRequestResource()
			r.ResourceType, r.ResourceName = kind, strings.ReplaceAll(resource, "OWN", fmt.Sprint(w.node))
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			c.Name, c.Op = key, op
			if value != "" {
				c.Value = str(value)
			}
			r.Configs = append(r.Configs, c)
			req.Resources = append(req.Resources, r)
			return req, nil
		}}
	}
	set, drop := kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete
	seen := func(name, resource string) probe {
		p := describe(name, broker, resource, []string{"log.cleaner.threads", "log.retention.ms", "max.connections"})
		build := p.make
		p.make = func(w *world, v int16) (kmsg.Request, error) {
			if v <= max(1, w.ranges[32][0]) {
				time.Sleep(time.Second) // a broker hears of its own settings' change by a notification, some time after the answer
			}
			return build(w, v)
		}
		return p
	}
	return []probe{
		altered("broker-set", broker, "OWN", "log.cleaner.threads", "2", set),
		seen("after-broker-set", "OWN"),
		altered("broker-default-set", broker, "", "log.retention.ms", "123456789", set),
		seen("after-broker-default-set", ""),
		seen("after-broker-default-set-own", "OWN"),
		altered("broker-drop", broker, "OWN", "log.cleaner.threads", "", drop),
		altered("broker-default-drop", broker, "", "log.retention.ms", "", drop),
		seen("after-broker-drop", "OWN"),
		altered("broker-read-only", broker, "OWN", "broker.id", "5", set),
		altered("broker-unknown-key", broker, "OWN", "no.such.key", "5", set),
		altered("broker-bad-value", broker, "OWN", "log.cleaner.threads", "many", set),
		altered("broker-other", broker, "77", "log.cleaner.threads", "2", set),
		altered("broker-no-number", broker, "x", "log.cleaner.threads", "2", set),
		altered("kind-unknown", kmsg.ConfigResourceType(99), "x", "a", "b", set),
		altered("topic-no-keys", kmsg.ConfigResourceTypeTopic, "alter", "", "", drop),
		altered("op-unknown", kmsg.ConfigResourceTypeTopic, "alter", "retention.ms", "1", kmsg.IncrementalAlterConfigOp(9)),
		describe("topic-no-keys", kmsg.ConfigResourceTypeTopic, "cfg", []string{}),
	}
}

func wideFetches() []probe {
	add := func(topic string, partition int32) func(w *world, _ int16, req *kmsg.FetchRequest) {
		return func(w *world, _ int16, req *kmsg.FetchRequest) {
			p := req.Topics[0].Partitions[0]
			p.Partition = partition
			if topic == "filled" {
				req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
				return
			}
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = topic, w.ids[topic]
			t.Partitions = append(t.Partitions, p)
			req.Topics = append(req.Topics, t)
		}
	}
	return []probe{
		fetched("two-partitions", 0, 0, add("filled", 1)),
		fetched("two-topics", 0, 0, add("made-v3", 0)),
		fetched("good-and-bad", 0, 0, add("nobody", 0)),
		fetched("partition-twice", 0, 0, add("filled", 0)),
		fetched("no-topics", 0, 0, func(_ *world, _ int16, req *kmsg.FetchRequest) { req.Topics = nil }),
		fetched("max-bytes-zero", 0, 0, func(_ *world, _ int16, req *kmsg.FetchRequest) { req.MaxBytes = 0 }),
		fetched("min-bytes-unreachable", 0, 0, func(_ *world, _ int16, req *kmsg.FetchRequest) { req.MinBytes = 1 << 19 }),
		fetched("isolation-unknown", 0, 0, func(_ *world, _ int16, req *kmsg.FetchRequest) { req.IsolationLevel = 9 }),
		fetched("rack", 11, 0, func(_ *world, _ int16, req *kmsg.FetchRequest) { req.Rack = "r1" }),
		fetched("debug-replica", 0, 0, func(_ *world, _ int16, req *kmsg.FetchRequest) { req.ReplicaID = -2 }),
		fetched("offset-in-last-batch", 0, 8, nil),
		fetched("offset-min", 0, -1<<63, nil),
	}
}

func wideCommits() []probe {
	return []probe{
		committed("empty-group", func(req *kmsg.OffsetCommitRequest) { req.Group = "" }),
		committed("negative-offset", func(req *kmsg.OffsetCommitRequest) { req.Topics[0].Partitions[0].Offset = -5 }),
		committed("negative-partition", func(req *kmsg.OffsetCommitRequest) { req.Topics[0].Partitions[0].Partition = -1 }),
		committed("unknown-partition", func(req *kmsg.OffsetCommitRequest) { req.Topics[0].Partitions[0].Partition = 9 }),
		committed("null-metadata", func(req *kmsg.OffsetCommitRequest) { req.Topics[0].Partitions[0].Metadata = nil }),
		committed("no-topics", func(req *kmsg.OffsetCommitRequest) { req.Topics = nil }),
		committed("member-of-nothing", func(req *kmsg.OffsetCommitRequest) { req.Group, req.MemberID = "nobody-2", "ghost" }),
		committed("generation-without-member", func(req *kmsg.OffsetCommitRequest) { req.Group, req.Generation = "nobody-3", 1 }),
		offsetsOf("empty-group", "", nil),
		offsetsOf("no-topics", "own", func(_ *world, req *kmsg.OffsetFetchRequest) { req.Topics = []kmsg.OffsetFetchRequestTopic{} }),
		offsetsOf("twice", "own", func(_ *world, req *kmsg.OffsetFetchRequest) { req.Topics = append(req.Topics, req.Topics[0]) }),
		{name: "several-groups", key: 9, from: 8, to: 9, make: func(w *world, v int16) (kmsg.Request, error) {
			req := kmsg.NewPtrOffsetFetchRequest()
			for _, n := range []string{fmt.Sprintf("simple-v%d", v), "nobody-at-all", ""} {
				g := kmsg.NewOffsetFetchRequestGroup()
				g.Group, g.MemberEpoch = n, -1
				t := kmsg.NewOffsetFetchRequestGroupTopic()
				t.Topic, t.Partitions = "filled", []int32{0}
				g.Topics = append(g.Topics, t)
				req.Groups = append(req.Groups, g)
			}
			return req, filled(w)
		}},
	}
}

func wideGroups() []probe {
	static := func(name string, from int16, build func(v int16) kmsg.Request, key int16) probe {
		return probe{name: name, key: key, from: from, make: func(w *world, v int16) (kmsg.Request, error) { return build(v), ready(w) }}
	}
	join := func(v int16, id, instance string) kmsg.Request {
		req := joinOf(fmt.Sprintf("static-v%d", v), id)
		req.InstanceID = str(instance)
		return req
	}
	return []probe{
		static("static-first", 5, func(v int16) kmsg.Request { return join(v, "", "i1") }, 11),
		static("static-wrong-id", 5, func(v int16) kmsg.Request { return join(v, "ghost", "i1") }, 11),
		static("static-empty-instance", 5, func(v int16) kmsg.Request {
			req := joinOf(fmt.Sprintf("instance-v%d", v), "")
			req.InstanceID = str("")
			return req
		}, 11),
		static("static-rebalance-timeout-negative", 5, func(v int16) kmsg.Request {
			req := joinOf(fmt.Sprintf("negative-v%d", v), "")
			req.RebalanceTimeoutMillis, req.InstanceID = -1, str("i")
			return req
		}, 11),
		static("no-type", 0, func(v int16) kmsg.Request {
			req := joinOf(fmt.Sprintf("untyped-v%d", v), "")
			req.ProtocolType = ""
			return req
		}, 11),
		static("leave-static", 3, func(v int16) kmsg.Request {
			req := kmsg.NewPtrLeaveGroupRequest()
			req.Group = "static-v9"
			for _, n := range []string{"i1", "i9"} {
				m := kmsg.NewLeaveGroupRequestMember()
				m.InstanceID = str(n)
				req.Members = append(req.Members, m)
			}
			return req
		}, 13),
		static("leave-nobody", 3, func(v int16) kmsg.Request {
			req := kmsg.NewPtrLeaveGroupRequest()
			req.Group = "static-v9"
			return req
		}, 13),
		static("beat-instance", 3, func(int16) kmsg.Request {
			req := kmsg.NewPtrHeartbeatRequest()
			req.Group, req.MemberID, req.InstanceID, req.Generation = "static-v8", "ghost", str("i1"), 1
			return req
		}, 12),
		living("sync-wrong-type", 14, 5, func(_ int16, m member0) kmsg.Request {
			req := syncOf(m, "range", nil)
			req.ProtocolType = str("connect")
			return req
		}),
		living("sync-stable", 14, 0, func(_ int16, m member0) kmsg.Request { return syncOf(m, "range", []byte("late")) }),
		living("join-second-protocol", 11, 0, func(_ int16, m member0) kmsg.Request {
			req := joinOf(m.group, "")
			req.Protocols[0].Name = "other"
			req.RebalanceTimeoutMillis = 1000
			return req
		}),
	}
}

// broken is a frame that no library builds; the answer is what the connection does.
func broken(name string, key int16, frame func(w *world) []byte) probe {
	return probe{name: name, key: key, to: 0 + 1, raw: func(w *world) (kmsg.Response, error) {
		_, err := w.roundTrip(frame(w), true)
		return kmsg.NewPtrApiVersionsResponse(), err
	}}
}

func wideRest() []probe {
	metadataAs := func(key, version int16, cut int) func(w *world) []byte {
		return func(w *world) []byte {
			req := kmsg.NewPtrMetadataRequest()
			req.SetVersion(1)
			f := w.frame(req)
			binary.BigEndian.PutUint16(f[4:], uint16(key))
			binary.BigEndian.PutUint16(f[6:], uint16(version))
			f = f[:len(f)-cut]
			binary.BigEndian.PutUint32(f, uint32(len(f)-4))
			return f
		}
	}
	epoch := func(name string, key int16, from int16, id int64, e int16) probe {
		return probe{name: name, key: key, from: from, make: func(w *world, _ int16) (kmsg.Request, error) {
			req := newProducer().(*kmsg.InitProducerIDRequest)
			req.ProducerID, req.ProducerEpoch = id, e
			return req, identified(w)
		}}
	}
	return []probe{
		epoch("id-and-epoch", 22, 3, 5, 0),
		epoch("id-alone", 22, 3, 5, -1),
		{name: "timeout-zero", key: 22, make: func(w *world, _ int16) (kmsg.Request, error) {
			req := newProducer().(*kmsg.InitProducerIDRequest)
			req.TransactionTimeoutMillis = 0
			return req, identified(w)
		}},
		{name: "unknown-topic", key: 35, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			t := kmsg.NewDescribeLogDirsRequestTopic()
			t.Topic, t.Partitions = "nobody", []int32{0}
			req.Topics = append(req.Topics, t)
			return req
		})},
		{name: "none", key: 35, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Topics = []kmsg.DescribeLogDirsRequestTopic{}
			return req
		})},
		create("name-longest", func(v int16) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{created(strings.Repeat("m", 240)+fmt.Sprintf("-v%d", v), 1, 1)}
		}),
		create("config-null", func(int16) []kmsg.CreateTopicsRequestTopic {
			t := created("cfg-null", 1, 1, "retention.ms", "1")
			t.Configs[0].Value = nil
			return []kmsg.CreateTopicsRequestTopic{t}
		}),
		create("config-twice", func(v int16) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{created(fmt.Sprintf("cfg-twice-v%d", v), 1, 1, "retention.ms", "1", "retention.ms", "2")}
		}),
		create("internal-name", func(int16) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{created("__consumer_offsets", 1, 5)}
		}),
		create("none", func(int16) []kmsg.CreateTopicsRequestTopic { return nil }),
		broken("metadata-version-99", 3, metadataAs(3, 99, 0)),
		broken("metadata-version-negative", 3, metadataAs(3, -1, 0)),
		broken("key-unknown", 3, metadataAs(999, 0, 0)),
		broken("key-negative", 3, metadataAs(-4, 0, 0)),
		broken("metadata-cut-off", 3, metadataAs(3, 1, 3)),
		broken("header-cut-off", 3, func(*world) []byte { return []byte{0, 0, 0, 3, 0, 3, 0} }),
		broken("frame-empty", 3, func(*world) []byte { return []byte{0, 0, 0, 0} }),
		broken("frame-negative", 3, func(*world) []byte { return []byte{0xff, 0xff, 0xff, 0xff} }),
		broken("frame-huge", 3, func(*world) []byte { return []byte{0x7f, 0xff, 0xff, 0xff} }),
	}
}
