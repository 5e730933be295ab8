// DeleteRecords, versions 0 to 2: moves a partition's log start offset up.
//
//   - -1 means the high watermark. An offset outside [log start, high watermark] is OFFSET_OUT_OF_RANGE.
//   - An internal topic is INVALID_TOPIC_EXCEPTION, a topic without cleanup.policy delete POLICY_VIOLATION, as in Kafka 3.9.
//   - The low watermark of the answer is the new log start; -1 beside an error.

package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) deleteRecords(r *Request) {
	req := r.Msg.(*kmsg.DeleteRecordsRequest)
	resp := kmsg.NewPtrDeleteRecordsResponse()
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = t.Topic
		for _, q := range t.Partitions {
			p := kmsg.NewDeleteRecordsResponseTopicPartition()
			p.Partition, p.LowWatermark = q.Partition, -1
			if code := b.deleteRecordsOf(t.Topic, q, &p); code != wire.None {
				p.ErrorCode = int16(code)
			}
			rt.Partitions = append(rt.Partitions, p)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(resp)
}

func (b *Broker) deleteRecordsOf(topic string, q kmsg.DeleteRecordsRequestTopicPartition, p *kmsg.DeleteRecordsResponseTopicPartition) wire.Code {
	t := b.route.Load().topics[topic]
	switch {
	case t == nil:
		return wire.UnknownTopicOrPartition
	case t.topic.Internal:
		return wire.InvalidTopicException
	case !t.options.Log.Delete:
		return wire.PolicyViolation
	}
	code := wire.None
	err := b.Wait(topic, q.Partition, func(h *Hosted) {
		if code = h.fence(-1); code != wire.None {
			return
		}
		start, err := h.Log.DeleteRecordsTo(q.Offset)
		if code = codeOf(err); code == wire.None {
			p.LowWatermark = start
		}
	})
	if err != nil {
		return b.missing(topic, q.Partition)
	}
	return code
}
