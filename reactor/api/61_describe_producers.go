// DescribeProducers, version 0: the producers that a partition remembers, with their last sequence and open transaction.

package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/producer"
)

func (b *Broker) describeProducers(r *Request) {
	req := r.Msg.(*kmsg.DescribeProducersRequest)
	resp := kmsg.NewPtrDescribeProducersResponse()
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewDescribeProducersResponseTopic()
		rt.Topic = t.Topic
		for _, index := range t.Partitions {
			p := kmsg.NewDescribeProducersResponseTopicPartition()
			p.Partition = index
			err := b.Wait(t.Topic, index, func(h *Hosted) {
				if p.ErrorCode = int16(h.fence(-1)); p.ErrorCode == 0 {
					h.Log.Producers(func(s producer.State) { p.ActiveProducers = append(p.ActiveProducers, activeProducer(s)) })
				}
			})
			if err != nil {
				p.ErrorCode = int16(b.missing(t.Topic, index))
				if b.route.Load().topics[t.Topic] == nil {
					p.ErrorMessage = kmsg.StringPtr("no topic is named " + t.Topic)
				}
			}
			rt.Partitions = append(rt.Partitions, p)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(resp)
}

func activeProducer(s producer.State) kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
	a.ProducerID, a.ProducerEpoch, a.LastSequence = s.ProducerID, int32(s.Epoch), s.LastSequence
	a.LastTimestamp, a.CoordinatorEpoch, a.CurrentTxnStartOffset = s.LastTimestamp, s.CoordinatorEpoch, s.TxnStart
	return a
}
