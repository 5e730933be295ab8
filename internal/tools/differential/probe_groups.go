package main

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func groupName(v int16) string { return fmt.Sprintf("group-v%d", v) }

func joined(name string, from int16, change func(w *world, v int16, req *kmsg.JoinGroupRequest), keep bool) probe {
	p := probe{name: name, key: 11, from: from, make: func(w *world, v int16) (kmsg.Request, error) {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Group, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = groupName(v), 30_000, 30_000, "consumer"
		for _, s := range []string{"range", "roundrobin"} {
			q := kmsg.NewJoinGroupRequestProtocol()
			q.Name, q.Metadata = s, []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
			req.Protocols = append(req.Protocols, q)
		}
		if change != nil {
			change(w, v, req)
		}
		return req, nil
	}}
	if keep {
		p.then = func(w *world, v int16, resp kmsg.Response) {
			w.vars["member-"+groupName(v)] = resp.(*kmsg.JoinGroupResponse).MemberID
		}
	}
	return p
}

func member(w *world, v int16) string { return w.vars["member-"+groupName(v)] }

func groupProbes() []probe {
	all := []probe{
		{name: "find-group", key: 10, make: func(w *world, v int16) (kmsg.Request, error) {
			return found("g", 0, v), ready(w)
		}},
		{name: "find-kind-unknown", key: 10, from: 1, make: plainMake(func(v int16) kmsg.Request { return found("g", 9, v) })},
		joined("first", 0, nil, true),
		joined("second-with-id", 4, func(w *world, v int16, req *kmsg.JoinGroupRequest) { req.MemberID = member(w, v) }, false),
		joined("empty-group", 0, func(_ *world, _ int16, req *kmsg.JoinGroupRequest) { req.Group = "" }, false),
		joined("session-too-short", 0, func(_ *world, _ int16, req *kmsg.JoinGroupRequest) { req.SessionTimeoutMillis = 10 }, false),
		joined("session-too-long", 0, func(_ *world, _ int16, req *kmsg.JoinGroupRequest) { req.SessionTimeoutMillis = 1 << 30 }, false),
		joined("unknown-member", 0, func(_ *world, v int16, req *kmsg.JoinGroupRequest) {
			req.Group, req.MemberID = fmt.Sprintf("nobody-v%d", v), "ghost"
		}, false),
		joined("other-type", 0, func(w *world, v int16, req *kmsg.JoinGroupRequest) {
			req.MemberID, req.ProtocolType = member(w, v), "connect"
		}, false),
		joined("no-protocol", 0, func(_ *world, v int16, req *kmsg.JoinGroupRequest) {
			req.Group, req.Protocols = fmt.Sprintf("bare-v%d", v), nil
		}, false),
	}
	return append(append(all, memberProbes()...), commitProbes()...)
}

// ready waits until the coordinator of the probes' groups answers.
func ready(w *world) error {
	for range 200 {
		resp, err := w.ask(found("g", 0, 0), 0)
		if err != nil {
			return err
		}
		if resp.(*kmsg.FindCoordinatorResponse).ErrorCode == 0 {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s: no coordinator after 10 s", w.addr)
}

func found(key string, kind int8, v int16) kmsg.Request {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType = kind
	if v >= 4 {
		req.CoordinatorKeys = []string{key}
	} else {
		req.CoordinatorKey = key
	}
	return req
}

func memberProbes() []probe {
	sync := func(name string, generation int32, id func(w *world, v int16) string) probe {
		return probe{name: name, key: 14, make: func(w *world, v int16) (kmsg.Request, error) {
			req := kmsg.NewPtrSyncGroupRequest()
			req.Group, req.Generation, req.MemberID = groupName(v), generation, id(w, v)
			req.ProtocolType, req.Protocol = str("consumer"), str("range")
			return req, nil
		}}
	}
	beat := func(name, group string, generation int32, id func(w *world, v int16) string) probe {
		return probe{name: name, key: 12, make: func(w *world, v int16) (kmsg.Request, error) {
			req := kmsg.NewPtrHeartbeatRequest()
			req.Group, req.Generation, req.MemberID = group, generation, id(w, v)
			if group == "own" {
				req.Group = groupName(v)
			}
			return req, nil
		}}
	}
	ghost := func(*world, int16) string { return "ghost" }
	leave := func(name, group string) probe {
		return probe{name: name, key: 13, make: plainMake(func(v int16) kmsg.Request {
			req := kmsg.NewPtrLeaveGroupRequest()
			req.Group, req.MemberID = group, "ghost"
			if v >= 3 {
				m := kmsg.NewLeaveGroupRequestMember()
				m.MemberID = "ghost"
				req.Members = append(req.Members, m)
			}
			return req
		})}
	}
	return []probe{
		sync("old-generation", 99, member),
		sync("unknown-member", 1, ghost),
		beat("unknown-group", "nobody", 1, ghost),
		beat("unknown-member", "own", 1, ghost),
		beat("old-generation", "own", 99, member),
		beat("empty-group", "", 1, ghost),
		leave("unknown-group", "nobody"),
		leave("empty-group", ""),
		{name: "unknown", key: 15, mask: []string{"AuthorizedOperations"}, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Groups = []string{"nobody-at-all", ""}
			return req
		})},
		{name: "unknown", key: 42, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Groups = []string{"nobody-at-all", ""}
			return req
		})},
		{name: "unknown", key: 47, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrOffsetDeleteRequest()
			req.Group = "nobody-at-all"
			t := kmsg.NewOffsetDeleteRequestTopic()
			t.Topic = "filled"
			t.Partitions = append(t.Partitions, kmsg.NewOffsetDeleteRequestTopicPartition())
			req.Topics = append(req.Topics, t)
			return req
		})},
	}
}

func committed(name string, change func(req *kmsg.OffsetCommitRequest)) probe {
	return probe{name: name, key: 8, make: func(w *world, v int16) (kmsg.Request, error) {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Generation, req.RetentionTimeMillis = fmt.Sprintf("simple-v%d", v), -1, -1
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID = "filled", w.ids["filled"]
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Offset, p.LeaderEpoch, p.Metadata, p.Timestamp = 5, 3, str("note"), -1
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		if change != nil {
			change(req)
		}
		return req, filled(w)
	}}
}

func offsetsOf(name, group string, change func(w *world, req *kmsg.OffsetFetchRequest)) probe {
	return probe{name: name, key: 9, make: func(w *world, v int16) (kmsg.Request, error) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group = group
		if group == "own" {
			req.Group = fmt.Sprintf("simple-v%d", v)
		}
		t := kmsg.NewOffsetFetchRequestTopic()
		t.Topic, t.Partitions = "filled", []int32{0, 1, 9}
		req.Topics = append(req.Topics, t)
		if change != nil {
			change(w, req)
		}
		if v >= 8 {
			g := kmsg.NewOffsetFetchRequestGroup()
			g.Group = req.Group
			for _, t := range req.Topics {
				gt := kmsg.NewOffsetFetchRequestGroupTopic()
				gt.Topic, gt.TopicID, gt.Partitions = t.Topic, w.ids[t.Topic], t.Partitions
				g.Topics = append(g.Topics, gt)
			}
			g.MemberEpoch = -1
			req.Groups = append(req.Groups, g)
		}
		return req, nil
	}}
}

func commitProbes() []probe {
	return []probe{
		committed("simple", nil),
		committed("metadata-too-large", func(req *kmsg.OffsetCommitRequest) {
			req.Topics[0].Partitions[0].Metadata = str(string(make([]byte, 5000)))
		}),
		committed("unknown-topic", func(req *kmsg.OffsetCommitRequest) {
			req.Topics[0].Topic, req.Topics[0].TopicID = "nobody", [16]byte{8}
		}),
		committed("unknown-member", func(req *kmsg.OffsetCommitRequest) { req.Group, req.Generation, req.MemberID = "nobody", 4, "ghost" }),
		committed("partition-thrice", func(req *kmsg.OffsetCommitRequest) {
			p := req.Topics[0].Partitions[0]
			q := p
			q.Offset = 7
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, p, q)
		}),
		offsetsOf("own", "own", nil),
		offsetsOf("all", "own", func(_ *world, req *kmsg.OffsetFetchRequest) { req.Topics = nil }),
		offsetsOf("unknown-group", "nobody-at-all", nil),
		offsetsOf("unknown-topic", "own", func(_ *world, req *kmsg.OffsetFetchRequest) { req.Topics[0].Topic = "nobody" }),
	}
}
