// AlterPartitionReassignments, versions 0 and 1: which brokers hold a partition.
//
//   - The brokers that hold it already, in another order too: done at once. Data cannot be moved to other brokers yet: INVALID_REPLICA_ASSIGNMENT.
//   - No replica, the same one twice, or one that is not alive: INVALID_REPLICA_ASSIGNMENT. A partition that is not there: UNKNOWN_TOPIC_OR_PARTITION.
//   - null cancels a reassignment: NO_REASSIGNMENT_IN_PROGRESS, since none is ever under way.

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) alterPartitionReassignments(r *Request) {
	req := r.Msg.(*kmsg.AlterPartitionAssignmentsRequest)
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	if !b.cluster.Active() {
		resp.ErrorCode, resp.ErrorMessage = int16(wire.NotController), kmsg.StringPtr("this broker is not the controller")
		r.Reply(resp)
		return
	}
	resp.ErrorMessage = kmsg.StringPtr("NONE") // Kafka's word beside no error
	for i := range req.Topics {
		t := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		t.Topic = req.Topics[i].Topic
		for _, q := range req.Topics[i].Partitions {
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition = q.Partition
			if code, err := b.reassign(t.Topic, q.Partition, q.Replicas); code != wire.None {
				p.ErrorCode, p.ErrorMessage = int16(code), kmsg.StringPtr(messageOf(err))
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	r.Reply(resp)
}

// reassign has one partition be held by these brokers; nil for those that hold it.
func (b *Broker) reassign(topic string, partition int32, replicas []int32) (wire.Code, error) {
	img := b.Image()
	if img.Partition(topic, partition) == nil {
		return wire.UnknownTopicOrPartition, refusal(run.ErrUnknownTopic, "The partition does not exist.")
	}
	if replicas == nil {
		return wire.NoReassignmentInProgress, refusal(run.ErrInvalidRequest, "No partition reassignment is in progress.")
	}
	err := b.cluster.Reassign(context.Background(), topic, partition, replicas)
	return codeOf(err), err
}
