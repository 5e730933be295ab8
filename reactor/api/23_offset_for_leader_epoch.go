// OffsetForLeaderEpoch, versions 0 to 4: where a leader epoch ends in this log.
//
//   - The largest epoch known that is not above the asked one, and the start of the next; for the
//     current one the log end. An epoch above all known ones answers -1 and -1 without an error (C-11).
//   - current_leader_epoch (from 2) fences: FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH; -1 is not checked.
//   - Below version 1 the answer has no epoch.

package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (b *Broker) offsetForLeaderEpoch(r *Request) {
	req := r.Msg.(*kmsg.OffsetForLeaderEpochRequest)
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for _, q := range t.Partitions {
			p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			p.Partition, p.LeaderEpoch, p.EndOffset = q.Partition, -1, -1
			current := int32(-1)
			if r.Version >= 2 {
				current = q.CurrentLeaderEpoch
			}
			err := b.Wait(t.Topic, q.Partition, func(h *Hosted) {
				if p.ErrorCode = int16(h.fence(current)); p.ErrorCode == 0 {
					p.LeaderEpoch, p.EndOffset = h.Log.EndOffsetForEpoch(q.LeaderEpoch)
				}
			})
			if err != nil {
				p.ErrorCode = int16(b.missing(t.Topic, q.Partition))
			}
			rt.Partitions = append(rt.Partitions, p)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(resp)
}
