// CreatePartitions, versions 0 to 3: a topic may grow, never shrink.
//
//   - A count at or below the current one is INVALID_PARTITIONS; a topic named twice INVALID_REQUEST.
//   - An assignment must name as many new partitions as are added, each with the topic's replication factor.
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
			err = b.cluster.CreatePartitions(context.Background(), t.Topic, t.Count, assignment, req.ValidateOnly)
		}
		if err != nil {
			rt.ErrorCode, rt.ErrorMessage = int16(codeOf(err)), kmsg.StringPtr(messageOf(err))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(resp)
}
