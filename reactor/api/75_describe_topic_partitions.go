// DescribeTopicPartitions, version 0: a paged description, as Kafka 4.2 serves it.
//
//   - Topics are answered in the order of their names; no topics in the request means all.
//   - response_partition_limit is at most 2000; what does not fit is named by the next cursor, which
//     the next request brings back. A cursor's topic comes first, also when it was deleted meanwhile. The limit is at least 1.
//   - A cursor with a negative partition, or with a topic that the request's own list lacks, is INVALID_REQUEST for every topic.
//   - Eligible leader replicas do not exist in ZooKeeper mode: both lists are empty.

package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// maxDescribedPartitions is max.request.partition.size.limit of Kafka 4.2.
const maxDescribedPartitions = 2000

func (b *Broker) describeTopicPartitions(r *Request) {
	req := r.Msg.(*kmsg.DescribeTopicPartitionsRequest)
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	route := b.route.Load()
	if lostCursor(req) {
		for i := range req.Topics {
			rt := kmsg.NewDescribeTopicPartitionsResponseTopic()
			rt.Topic, rt.ErrorCode = &req.Topics[i].Topic, int16(wire.InvalidRequest)
			rt.AuthorizedOperations = authorizedOperationsUnknown
			resp.Topics = append(resp.Topics, rt)
		}
		r.Reply(resp)
		return
	}
	room := max(1, int(min(req.ResponsePartitionLimit, maxDescribedPartitions)))
	for _, name := range describedNames(req, route) {
		if room <= 0 {
			c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
			c.Topic = name
			resp.NextCursor = &c
			break
		}
		first := int32(0)
		if req.Cursor != nil && req.Cursor.Topic == name {
			first = max(0, req.Cursor.Partition)
		}
		rt, left := describeTopic(name, route, b.Options().BrokerID, first, room)
		resp.Topics = append(resp.Topics, rt)
		room -= len(rt.Partitions)
		if left >= 0 {
			c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
			c.Topic, c.Partition = name, left
			resp.NextCursor = &c
			break
		}
	}
	r.Reply(resp)
}

// lostCursor tells whether the cursor points at nothing that the request could mean.
func lostCursor(req *kmsg.DescribeTopicPartitionsRequest) bool {
	if req.Cursor == nil {
		return false
	}
	asked := func(t kmsg.DescribeTopicPartitionsRequestTopic) bool { return t.Topic == req.Cursor.Topic }
	return req.Cursor.Partition < 0 || len(req.Topics) > 0 && !slices.ContainsFunc(req.Topics, asked)
}

// describedNames lists the topics to answer, from the cursor on.
func describedNames(req *kmsg.DescribeTopicPartitionsRequest, route *Route) []string {
	var names []string
	if len(req.Topics) == 0 {
		names = slices.Clone(route.Image.TopicNames)
		if req.Cursor != nil && route.topics[req.Cursor.Topic] == nil {
			names = append(names, req.Cursor.Topic)
		}
	}
	for i := range req.Topics {
		names = append(names, req.Topics[i].Topic)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if req.Cursor != nil {
		names = slices.DeleteFunc(names, func(n string) bool { return n < req.Cursor.Topic })
	}
	return names
}

// describeTopic describes at most room partitions; left is the first one that did not fit, -1 when all did.
func describeTopic(name string, route *Route, broker, first int32, room int) (rt kmsg.DescribeTopicPartitionsResponseTopic, left int32) {
	rt = kmsg.NewDescribeTopicPartitionsResponseTopic()
	rt.Topic = &name
	rt.AuthorizedOperations = authorizedOperationsUnknown
	t := route.topics[name]
	if t == nil {
		rt.ErrorCode = int16(wire.UnknownTopicOrPartition)
		if plan.CheckName(name) != nil {
			rt.ErrorCode = int16(wire.InvalidTopicException)
		}
		return rt, -1
	}
	rt.TopicID, rt.IsInternal, rt.AuthorizedOperations = t.topic.ID, t.topic.Internal, topicOperations
	for _, p := range t.topic.Partitions[min(int(first), len(t.topic.Partitions)):] {
		if len(rt.Partitions) == room {
			return rt, p.Index
		}
		q := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		q.Partition, q.LeaderID, q.LeaderEpoch = p.Index, p.Leader, p.LeaderEpoch
		q.Replicas, q.ISR, q.OfflineReplicas = p.Replicas, p.ISR, p.Offline
		q.EligibleLeaderReplicas, q.LastKnownELR = []int32{}, []int32{}
		if t.leaderless(route.Image, p, broker) {
			q.ErrorCode, q.LeaderID = int16(wire.LeaderNotAvailable), -1
		}
		rt.Partitions = append(rt.Partitions, q)
	}
	return rt, -1
}
