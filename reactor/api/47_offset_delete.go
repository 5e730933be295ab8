// OffsetDelete, version 0.
//
//   - Partitions that do not exist are answered here, offsets of topics that a member reads are GROUP_SUBSCRIBED_TO_TOPIC,
//     a partition without an offset is no error, one named twice is answered once.
//   - An error of the group stands alone, without topics.
//   - Answered once the tombstones are in the log.

package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) offsetDelete(r *Request) {
	req := r.Msg.(*kmsg.OffsetDeleteRequest)
	r.Detach()
	resp := kmsg.NewPtrOffsetDeleteResponse()
	in := &group.DeleteOffsets{Group: req.Group}
	route := b.route.Load()
	for i := range req.Topics {
		q := &req.Topics[i]
		t := route.topics[q.Topic]
		for j := range q.Partitions {
			tp := group.TopicPartition{Topic: q.Topic, Partition: q.Partitions[j].Partition}
			if t == nil || !t.exists(tp.Partition) {
				deleteResult(resp, tp, wire.UnknownTopicOrPartition)
			} else {
				in.Partitions = append(in.Partitions, tp)
			}
		}
	}
	in.Partitions = dedupe(in.Partitions)
	in.To = answerTo(func(a *group.OffsetsDeleted) {
		if a.Err != nil {
			resp = kmsg.NewPtrOffsetDeleteResponse()
			resp.ErrorCode = int16(codeOf(a.Err))
		}
		for i := range a.Partitions {
			deleteResult(resp, a.Partitions[i].TopicPartition, codeOf(a.Partitions[i].Err))
		}
		r.Reply(resp)
	})
	b.askGroup(req.Group, in)
}

func deleteResult(resp *kmsg.OffsetDeleteResponse, tp group.TopicPartition, code wire.Code) {
	p := kmsg.NewOffsetDeleteResponseTopicPartition()
	p.Partition, p.ErrorCode = tp.Partition, int16(code)
	for i := range resp.Topics {
		if resp.Topics[i].Topic == tp.Topic {
			resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, p)
			return
		}
	}
	t := kmsg.NewOffsetDeleteResponseTopic()
	t.Topic = tp.Topic
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
}
