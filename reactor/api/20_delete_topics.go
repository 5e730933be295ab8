// DeleteTopics, versions 0 to 6; from 6 by name or id.
//
//   - delete.topic.enable=false: TOPIC_DELETION_DISABLED (INVALID_REQUEST below version 3).
//   - An unknown name is UNKNOWN_TOPIC_OR_PARTITION, an unknown id UNKNOWN_TOPIC_ID; a name together with an id, or
//     neither, is INVALID_REQUEST. A topic that is named twice is deleted once and answered alike each time.
//   - A client over its controller_mutation_rate is refused with THROTTLING_QUOTA_EXCEEDED from version 5, and waits afterwards before.
//   - The answer comes when the topic is out of the metadata; its directories are renamed at once and removed later.

package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) deleteTopics(r *Request) {
	req := r.Msg.(*kmsg.DeleteTopicsRequest)
	if r.Version <= 5 {
		for _, name := range req.TopicNames {
			t := kmsg.NewDeleteTopicsRequestTopic()
			t.Topic = kmsg.StringPtr(name)
			req.Topics = append(req.Topics, t)
		}
	}
	resp := kmsg.NewPtrDeleteTopicsResponse()
	done := map[string]error{}
	route := b.route.Load()
	quota := b.mutationOf(r, 5)
	defer quota.close()
	for i := range req.Topics {
		rt := kmsg.NewDeleteTopicsResponseTopic()
		rt.Topic, rt.TopicID = req.Topics[i].Topic, req.Topics[i].TopicID
		if err := b.deleteTopic(route, &rt, done, quota); err != nil {
			rt.ErrorCode, rt.ErrorMessage = int16(codeOf(err)), kmsg.StringPtr(messageOf(err))
			if errors.Is(err, run.ErrTopicDeletionDisabled) && r.Version < 3 {
				rt.ErrorCode = int16(wire.InvalidRequest)
			}
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(resp)
}

// errUnknownTopicID is returned when no topic has an id.
var errUnknownTopicID = errors.New("no topic has this id")

// deleteTopic deletes what one entry of the request names, as the topics were when the request came. done is what has been tried.
func (b *Broker) deleteTopic(route *Route, rt *kmsg.DeleteTopicsResponseTopic, done map[string]error, quota *mutation) error {
	id := meta.ID(rt.TopicID)
	switch {
	case rt.Topic != nil && !id.IsZero():
		return refusal(run.ErrInvalidRequest, "a topic is named either by its name or by its id")
	case rt.Topic == nil && id.IsZero():
		return refusal(run.ErrInvalidRequest, "neither a name nor an id says which topic")
	case rt.Topic == nil:
		t := route.byID[id]
		if t == nil {
			return errUnknownTopicID
		}
		rt.Topic = &t.topic.Name
	default:
		if t := route.topics[*rt.Topic]; t != nil {
			rt.TopicID = t.topic.ID
		}
	}
	err, tried := done[*rt.Topic]
	if !tried {
		if t := route.topics[*rt.Topic]; t != nil {
			err = quota.record(len(t.topic.Partitions))
		}
		if err == nil {
			err = b.cluster.DeleteTopic(context.Background(), *rt.Topic)
		}
		done[*rt.Topic] = err
	}
	return err
}
