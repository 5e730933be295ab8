// OffsetFetch, versions 0 to 10.
//
//   - Version 0 reads below /consumers in coordination; a partition without an offset there is UNKNOWN_TOPIC_OR_PARTITION with -1.
//   - A group or a partition without an offset: -1 without an error, also for topics that do not exist.
//   - From version 2 null topics mean all that the group has committed; before, errors stand at each partition.
//   - From 8 on several groups, each with an error of its own.
//   - From 10 on topics are named by id; an unknown one is UNKNOWN_TOPIC_ID, and offsets of topics that are gone are left out.
//   - A partition asked twice is answered once, from 10 on twice.
//   - Requiring stable offsets (7) changes nothing while there are no transactions.

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) offsetFetch(r *Request) {
	r.Detach()
	if r.Version >= 8 {
		b.offsetFetchGroups(r)
		return
	}
	req := r.Msg.(*kmsg.OffsetFetchRequest)
	in := &group.Fetch{Group: req.Group, All: req.Topics == nil}
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			in.Partitions = append(in.Partitions, group.TopicPartition{Topic: req.Topics[i].Topic, Partition: p})
		}
	}
	in.Partitions = dedupe(in.Partitions)
	if r.Version == 0 {
		b.ToPool(r, func() { r.Reply(b.consumerOffsets(req.Group, in.Partitions)) })
		return
	}
	in.To = answerTo(func(a *group.Fetched) {
		resp := kmsg.NewPtrOffsetFetchResponse()
		code := int16(codeOf(a.Err))
		if r.Version >= 2 {
			resp.ErrorCode = code
		} else if a.Err != nil {
			for _, tp := range in.Partitions {
				a.Offsets = append(a.Offsets, group.FetchedOffset{TopicPartition: tp, Offset: -1, LeaderEpoch: -1})
			}
		}
		for i := range a.Offsets {
			o := &a.Offsets[i]
			p := kmsg.NewOffsetFetchResponseTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, o.Offset, o.LeaderEpoch, &o.Metadata
			if a.Err != nil {
				p.ErrorCode = code
			}
			fetchTopic(resp, o.Topic, p)
		}
		r.Reply(resp)
	})
	b.askGroup(req.Group, in)
}

// consumerOffsets reads what a consumer of 0.8 has kept.
func (b *Broker) consumerOffsets(name string, partitions []group.TopicPartition) *kmsg.OffsetFetchResponse {
	resp, route := kmsg.NewPtrOffsetFetchResponse(), b.route.Load()
	for _, tp := range partitions {
		p, none := kmsg.NewOffsetFetchResponseTopicPartition(), ""
		p.Partition, p.Offset, p.Metadata, p.ErrorCode = tp.Partition, -1, &none, int16(wire.UnknownTopicOrPartition)
		if t := route.topics[tp.Topic]; t != nil && t.exists(tp.Partition) {
			offset, found, err := b.cluster.ConsumerOffset(context.Background(), name, tp.Topic, tp.Partition)
			switch {
			case err != nil:
				p.ErrorCode = int16(codeOf(err))
			case found:
				p.Offset, p.ErrorCode = offset, 0
			}
		}
		fetchTopic(resp, tp.Topic, p)
	}
	return resp
}

func fetchTopic(resp *kmsg.OffsetFetchResponse, topic string, p kmsg.OffsetFetchResponseTopicPartition) {
	for i := range resp.Topics {
		if resp.Topics[i].Topic == topic {
			resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, p)
			return
		}
	}
	t := kmsg.NewOffsetFetchResponseTopic()
	t.Topic = topic
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
}

func dedupe(in []group.TopicPartition) []group.TopicPartition {
	seen := make(map[group.TopicPartition]bool, len(in))
	out := in[:0]
	for _, tp := range in {
		if !seen[tp] {
			seen[tp] = true
			out = append(out, tp)
		}
	}
	return out
}

func (b *Broker) offsetFetchGroups(r *Request) {
	req := r.Msg.(*kmsg.OffsetFetchRequest)
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(req.Groups))
	all := newGather(len(req.Groups), func() { r.Reply(resp) })
	for i := range req.Groups {
		q := &req.Groups[i]
		f := &groupFetch{out: &resp.Groups[i], route: b.route.Load(), byID: r.Version >= 10}
		f.out.Group = q.Group
		in := &group.Fetch{Group: q.Group, All: q.Topics == nil}
		for j := range q.Topics {
			in.Partitions = f.ask(in.Partitions, &q.Topics[j])
		}
		if !f.byID {
			in.Partitions = dedupe(in.Partitions)
		}
		in.To = answerTo(func(a *group.Fetched) {
			f.answer(a)
			all.one()
		})
		b.askGroup(q.Group, in)
	}
}

// groupFetch builds the answer for one of several groups.
type groupFetch struct {
	out   *kmsg.OffsetFetchResponseGroup
	route *Route
	byID  bool
}

// ask adds the partitions of one topic; those of an unknown id are answered at once.
func (f *groupFetch) ask(to []group.TopicPartition, q *kmsg.OffsetFetchRequestGroupTopic) []group.TopicPartition {
	name := q.Topic
	if f.byID {
		t, code := f.route.namedTopic(true, "", q.TopicID)
		if t == nil {
			f.unknown(q, code)
			return to
		}
		name = t.topic.Name
	}
	for _, p := range q.Partitions {
		to = append(to, group.TopicPartition{Topic: name, Partition: p})
	}
	return to
}

func (f *groupFetch) unknown(q *kmsg.OffsetFetchRequestGroupTopic, code wire.Code) {
	for _, n := range q.Partitions {
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		none := ""
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode = n, -1, -1, &none, int16(code)
		f.put("", q.TopicID, p)
	}
}

func (f *groupFetch) answer(a *group.Fetched) {
	if a.Err != nil {
		f.out.ErrorCode, f.out.Topics = int16(codeOf(a.Err)), nil
		return
	}
	for i := range a.Offsets {
		o := &a.Offsets[i]
		var id [16]byte
		if f.byID {
			t := f.route.topics[o.Topic]
			if t == nil {
				continue
			}
			id = t.topic.ID
		}
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, o.Offset, o.LeaderEpoch, &o.Metadata
		f.put(o.Topic, id, p)
	}
}

func (f *groupFetch) put(topic string, id [16]byte, p kmsg.OffsetFetchResponseGroupTopicPartition) {
	for i := range f.out.Topics {
		if t := &f.out.Topics[i]; t.Topic == topic && t.TopicID == id {
			t.Partitions = append(t.Partitions, p)
			return
		}
	}
	t := kmsg.NewOffsetFetchResponseGroupTopic()
	t.Topic, t.TopicID = topic, id
	t.Partitions = append(t.Partitions, p)
	f.out.Topics = append(f.out.Topics, t)
}
