// ListPartitionReassignments, version 0: the partitions that are on their way to other brokers.
//
//   - null means every partition; a list filters.

package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) listPartitionReassignments(r *Request) {
	req := r.Msg.(*kmsg.ListPartitionReassignmentsRequest)
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	if !b.cluster.Active() {
		resp.ErrorCode, resp.ErrorMessage = int16(wire.NotController), kmsg.StringPtr("this broker is not the controller")
		r.Reply(resp)
		return
	}
	resp.ErrorMessage = kmsg.StringPtr("NONE") // Kafka's word beside no error
	img := b.Image()
	for _, name := range img.TopicNames {
		t := kmsg.NewListPartitionReassignmentsResponseTopic()
		t.Topic = name
		for _, p := range img.Topics[name].Partitions {
			if len(p.Adding)+len(p.Removing) > 0 && listed(req, name, p) {
				q := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
				q.Partition, q.Replicas, q.AddingReplicas, q.RemovingReplicas = p.Index, p.Replicas, p.Adding, p.Removing
				t.Partitions = append(t.Partitions, q)
			}
		}
		if len(t.Partitions) > 0 {
			resp.Topics = append(resp.Topics, t)
		}
	}
	r.Reply(resp)
}

func listed(req *kmsg.ListPartitionReassignmentsRequest, topic string, p *meta.Partition) bool {
	if req.Topics == nil {
		return true
	}
	return slices.ContainsFunc(req.Topics, func(t kmsg.ListPartitionReassignmentsRequestTopic) bool {
		return t.Topic == topic && slices.Contains(t.Partitions, p.Index)
	})
}
