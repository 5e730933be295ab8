// CreatePartitions, versions 0 to 3: a topic may grow, never shrink.
//
//   - A count at or below the current one is INVALID_PARTITIONS; a topic named twice INVALID_REQUEST.
//   - An assignment must name as many new partitions as are added, each with the topic's replication factor.
//   - A client over its controller_mutation_rate is refused with THROTTLING_QUOTA_EXCEEDED from version 3, and waits afterwards before.
//   - validate_only checks and makes nothing. The answer comes when the new partitions take writes.

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/run"
)

func (b *Broker) createPartitions(r *Request) {
	req := r.Msg.(*kmsg.CreatePartitionsRequest)
	resp := kmsg.NewPtrCreatePartitionsResponse()
	count := map[string]int{}
	for i := range req.Topics {
		count[req.Topics[i].Topic]++
	}
	done := map[string]bool{}
	quota := b.mutationOf(r, 3)
	defer quota.close()
	for i := range req.Topics {
		t := &req.Topics[i]
		if done[t.Topic] {
			continue
		}
		done[t.Topic] = true
		rt := kmsg.NewCreatePartitionsResponseTopic()
		rt.Topic = t.Topic
		err := refusal(run.ErrInvalidRequest, "the request names this topic more than once")
		if count[t.Topic] == 1 {
			var assignment [][]int32
			for _, a := range t.Assignment {
				assignment = append(assignment, a.Replicas)
			}
			err = b.growTopic(t, assignment, req.ValidateOnly, quota)
		}
		if err != nil {
			rt.ErrorCode, rt.ErrorMessage = int16(codeOf(err)), kmsg.StringPtr(messageOf(err))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(resp)
}

// growTopic counts the partitions that are added against the client's quota, once it is sure that they can be, and adds them.
func (b *Broker) growTopic(t *kmsg.CreatePartitionsRequestTopic, assignment [][]int32, validate bool, quota *mutation) error {
	ctx := context.Background()
	if quota != nil && !validate {
		if err := b.cluster.CreatePartitions(ctx, t.Topic, t.Count, assignment, true); err != nil {
			return err
		}
		if now := b.Image().Topic(t.Topic); now != nil {
			if err := quota.record(int(t.Count) - len(now.Partitions)); err != nil {
				return err
			}
		}
	}
	return b.cluster.CreatePartitions(ctx, t.Topic, t.Count, assignment, validate)
}
