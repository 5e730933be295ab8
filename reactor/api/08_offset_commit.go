// OffsetCommit, versions 0 to 10.
//
//   - Version 0 keeps offsets below /consumers in coordination, where consumers of 0.8 look for them, and knows no members.
//   - Partitions that do not exist are answered here; only the rest reaches the group, and nothing does when none is left.
//   - Version 1 brings a time for each offset, 2 to 4 a retention for all, from 6 on a leader epoch is kept.
//   - The same partition several times: the last entry wins and each entry has an answer (C-34). Kafka 3.9.1 answers once.
//   - The topic id names the topic from version 10 on; an unknown one is UNKNOWN_TOPIC_ID, and a generation of a group that is
//     not there is GROUP_ID_NOT_FOUND instead of ILLEGAL_GENERATION.
//   - Answered once the records are in the log.

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) offsetCommit(r *Request) {
	req := r.Msg.(*kmsg.OffsetCommitRequest)
	r.Detach()
	resp := kmsg.NewPtrOffsetCommitResponse()
	in := &group.Commit{
		Group: req.Group, MemberID: req.MemberID, Instance: req.InstanceID, Generation: req.Generation,
		RetentionMs: req.RetentionTimeMillis, NotFound: r.Version >= 10,
	}
	route := b.route.Load()
	// at[i] is where the answer of the group's i-th entry goes.
	var at []commitPlace
	for i := range req.Topics {
		q := &req.Topics[i]
		t, code := route.namedTopic(r.Version >= 10, q.Topic, q.TopicID)
		place := commitTopic(resp, q)
		for j := range q.Partitions {
			p := &q.Partitions[j]
			a := kmsg.NewOffsetCommitResponseTopicPartition()
			a.Partition = p.Partition
			switch {
			case t == nil:
				a.ErrorCode = int16(code)
			case !t.exists(p.Partition):
				a.ErrorCode = int16(wire.UnknownTopicOrPartition)
			default:
				in.Offsets = append(in.Offsets, commitEntry(t.topic.Name, p))
				at = append(at, commitPlace{place, len(resp.Topics[place].Partitions)})
			}
			resp.Topics[place].Partitions = append(resp.Topics[place].Partitions, a)
		}
	}
	if len(in.Offsets) == 0 {
		r.Reply(resp)
		return
	}
	if r.Version == 0 {
		b.ToPool(r, func() {
			for i := range in.Offsets {
				resp.Topics[at[i].topic].Partitions[at[i].partition].ErrorCode = int16(b.keepConsumerOffset(req.Group, &in.Offsets[i]))
			}
			r.Reply(resp)
		})
		return
	}
	in.To = answerTo(func(a *group.Committed) {
		for i := range a.Offsets {
			resp.Topics[at[i].topic].Partitions[at[i].partition].ErrorCode = int16(codeOf(a.Offsets[i].Err))
		}
		r.Reply(resp)
	})
	b.askGroup(req.Group, in)
}

// keepConsumerOffset writes one offset below /consumers.
func (b *Broker) keepConsumerOffset(name string, o *group.CommitOffset) wire.Code {
	if len(o.Metadata) > b.Options().Coord.Groups.MetadataMax {
		return wire.OffsetMetadataTooLarge
	}
	return codeOf(b.cluster.SetConsumerOffset(context.Background(), name, o.Topic, o.Partition, o.Offset))
}

type commitPlace struct{ topic, partition int }

// commitTopic is the place of a topic in the answer; one that is named twice has one.
func commitTopic(resp *kmsg.OffsetCommitResponse, q *kmsg.OffsetCommitRequestTopic) int {
	for i := range resp.Topics {
		if resp.Topics[i].Topic == q.Topic && resp.Topics[i].TopicID == q.TopicID {
			return i
		}
	}
	t := kmsg.NewOffsetCommitResponseTopic()
	t.Topic, t.TopicID = q.Topic, q.TopicID
	resp.Topics = append(resp.Topics, t)
	return len(resp.Topics) - 1
}

func commitEntry(topic string, p *kmsg.OffsetCommitRequestTopicPartition) group.CommitOffset {
	o := group.CommitOffset{
		TopicPartition: group.TopicPartition{Topic: topic, Partition: p.Partition},
		Offset:         p.Offset, LeaderEpoch: p.LeaderEpoch, TimestampMs: p.Timestamp,
	}
	if p.Metadata != nil {
		o.Metadata = *p.Metadata
	}
	return o
}
