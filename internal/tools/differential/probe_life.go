package main

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// member0 is what one member keeps of its group.
type member0 struct {
	group, id  string
	generation int32
}

// stable makes a group of one member that has its assignment, in versions that every broker serves.
func stable(w *world, group string) (member0, error) {
	m, err := joinedGroup(w, group)
	if err != nil {
		return m, err
	}
	if _, done := w.vars["synced-"+group]; done {
		return m, nil
	}
	w.vars["synced-"+group] = "yes"
	_, err = w.ask(syncOf(m, "range", []byte("work")), 3)
	return m, err
}

// joinedGroup makes a group of one member that waits for its assignment.
func joinedGroup(w *world, group string) (member0, error) {
	m := member0{group: group, id: w.vars["life-"+group], generation: 1}
	if m.id != "" {
		return m, nil
	}
	if err := ready(w); err != nil {
		return m, err
	}
	resp, err := w.ask(joinOf(group, ""), 3)
	if err != nil {
		return m, err
	}
	j := resp.(*kmsg.JoinGroupResponse)
	if j.ErrorCode != 0 {
		return m, fmt.Errorf("joining %s: error %d", group, j.ErrorCode)
	}
	m.id, m.generation = j.MemberID, j.Generation
	w.vars["life-"+group] = m.id
	return m, nil
}

func joinOf(group, id string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = group, id, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 120_000, 120_000
	q := kmsg.NewJoinGroupRequestProtocol()
	q.Name, q.Metadata = "range", subscription("filled")
	req.Protocols = append(req.Protocols, q)
	return req
}

// subscription is what a consumer of a topic says when it joins.
func subscription(topic string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0, 1}, 1)
	b = binary.BigEndian.AppendUint16(b, uint16(len(topic)))
	b = append(b, topic...)
	b = binary.BigEndian.AppendUint32(b, 0)
	return binary.BigEndian.AppendUint32(b, 0)
}

func syncOf(m member0, protocol string, work []byte) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = m.group, m.id, m.generation
	req.ProtocolType, req.Protocol = str("consumer"), str(protocol)
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = m.id, work
	req.GroupAssignment = append(req.GroupAssignment, a)
	return req
}

// living asks something about a stable group that each version has for itself.
func living(name string, key, from int16, build func(v int16, m member0) kmsg.Request) probe {
	return probe{name: name, key: key, from: from, make: func(w *world, v int16) (kmsg.Request, error) {
		m, err := stable(w, fmt.Sprintf("life-%d-v%d", key, v))
		return build(v, m), err
	}}
}

func lifeProbes() []probe {
	all := []probe{
		{name: "life-rejoin", key: 11, make: func(w *world, v int16) (kmsg.Request, error) {
			m, err := stable(w, fmt.Sprintf("life-11-v%d", v))
			return joinOf(m.group, m.id), err
		}},
		{name: "life-assign", key: 14, make: func(w *world, v int16) (kmsg.Request, error) {
			m, err := joinedGroup(w, fmt.Sprintf("assign-v%d", v))
			return syncOf(m, "range", []byte("first")), err
		}},
		{name: "life-assign-again", key: 14, make: func(w *world, v int16) (kmsg.Request, error) {
			m, err := joinedGroup(w, fmt.Sprintf("assign-v%d", v))
			return syncOf(m, "range", []byte("second")), err
		}},
		{name: "life-other-protocol", key: 14, from: 5, make: func(w *world, v int16) (kmsg.Request, error) {
			m, err := joinedGroup(w, fmt.Sprintf("assign-v%d", v))
			return syncOf(m, "sticky", nil), err
		}},
		living("life-beat", 12, 0, func(_ int16, m member0) kmsg.Request { return beatOf(m) }),
		living("life-beat-wrong-generation", 12, 0, func(_ int16, m member0) kmsg.Request { m.generation = 7; return beatOf(m) }),
		living("life-describe", 15, 0, func(_ int16, m member0) kmsg.Request {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Groups, req.IncludeAuthorizedOperations = []string{m.group}, true
			return req
		}),
		living("life-commit", 8, 1, func(_ int16, m member0) kmsg.Request { return commitOf(m, "filled") }),
		living("life-commit-wrong-generation", 8, 1, func(_ int16, m member0) kmsg.Request { m.generation = 7; return commitOf(m, "filled") }),
		living("life-commit-no-member", 8, 1, func(_ int16, m member0) kmsg.Request { m.id, m.generation = "", -1; return commitOf(m, "filled") }),
		living("life-delete-group", 42, 0, func(_ int16, m member0) kmsg.Request {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Groups = []string{m.group}
			return req
		}),
		living("life-delete-offset", 47, 0, func(_ int16, m member0) kmsg.Request {
			req := kmsg.NewPtrOffsetDeleteRequest()
			req.Group = m.group
			for _, name := range []string{"filled", "made-v3", "nobody"} {
				t := kmsg.NewOffsetDeleteRequestTopic()
				t.Topic = name
				t.Partitions = append(t.Partitions, kmsg.NewOffsetDeleteRequestTopicPartition())
				req.Topics = append(req.Topics, t)
			}
			return req
		}),
		living("life-leave", 13, 0, func(v int16, m member0) kmsg.Request { return leaveOf(v, m) }),
		living("life-leave-again", 13, 0, func(v int16, m member0) kmsg.Request { return leaveOf(v, m) }),
	}
	return append(all, groupListProbes()...)
}

func beatOf(m member0) kmsg.Request {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = m.group, m.id, m.generation
	return req
}

func leaveOf(v int16, m member0) kmsg.Request {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = m.group, m.id
	if v >= 3 {
		x := kmsg.NewLeaveGroupRequestMember()
		x.MemberID = m.id
		req.Members = append(req.Members, x)
	}
	return req
}

// commitOf commits for a topic, whose id stands beside its name.
func commitOf(m member0, topic string) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation, req.RetentionTimeMillis = m.group, m.id, m.generation, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.LeaderEpoch, p.Metadata, p.Timestamp = 6, -1, str(""), -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func groupListProbes() []probe {
	filtered := func(name string, from int16, states, types []string) probe {
		return probe{name: name, key: 16, from: from, make: plainMake(func(int16) kmsg.Request {
			req := kmsg.NewPtrListGroupsRequest()
			req.StatesFilter, req.TypesFilter = states, types
			return req
		})}
	}
	simple := func(name string, key int16, build func(group string) kmsg.Request) probe {
		return probe{name: name, key: key, make: func(w *world, v int16) (kmsg.Request, error) {
			group := fmt.Sprintf("simple-%d-v%d", key, v)
			_, err := w.ask(commitOf(member0{group: group, generation: -1}, "filled"), 5)
			return build(group), err
		}}
	}
	return []probe{
		filtered("all", 0, nil, nil),
		filtered("stable", 4, []string{"Stable"}, nil),
		filtered("empty-lower-case", 4, []string{"empty"}, nil),
		filtered("no-such-state", 4, []string{"Sleeping"}, nil),
		filtered("classic", 5, nil, []string{"classic"}),
		filtered("consumer", 5, nil, []string{"consumer"}),
		filtered("no-such-type", 5, nil, []string{"odd"}),
		simple("describe-simple", 15, func(group string) kmsg.Request {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Groups = []string{group}
			return req
		}),
		simple("delete-simple", 42, func(group string) kmsg.Request {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Groups = []string{group, group}
			return req
		}),
		simple("delete-offset-simple", 47, func(group string) kmsg.Request {
			req := kmsg.NewPtrOffsetDeleteRequest()
			req.Group = group
			t := kmsg.NewOffsetDeleteRequestTopic()
			t.Topic = "filled"
			for _, i := range []int32{0, 1, 9} {
				p := kmsg.NewOffsetDeleteRequestTopicPartition()
				p.Partition = i
				t.Partitions = append(t.Partitions, p)
			}
			req.Topics = append(req.Topics, t)
			return req
		}),
		{name: "find-txn-empty", key: 10, from: 1, make: plainMake(func(v int16) kmsg.Request { return found("", 1, v) })},
		{name: "find-share-bad-key", key: 10, from: 1, make: plainMake(func(v int16) kmsg.Request { return found("x", 2, v) })},
		{name: "find-several", key: 10, from: 4, make: func(w *world, _ int16) (kmsg.Request, error) {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorKeys = []string{"g", "h", ""}
			return req, ready(w)
		}},
	}
}
