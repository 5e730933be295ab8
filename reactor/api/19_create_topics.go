// CreateTopics, versions 0 to 7.
//
//   - A name that stands more than once in a request is INVALID_REQUEST each time; the others are made (C-40).
//   - -1 for partitions and replication factor means the broker's defaults, in every version as in Kafka.
//   - From version 5 the answer tells the partitions, the factor and the effective configuration, from 7 the topic id.
//   - validate_only (from 1) checks everything and makes nothing.
//   - A client over its controller_mutation_rate is refused with THROTTLING_QUOTA_EXCEEDED from version 6, and waits afterwards before.
//   - The answer comes when the new partitions take writes.

package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func (b *Broker) createTopics(r *Request) {
	req := r.Msg.(*kmsg.CreateTopicsRequest)
	resp := kmsg.NewPtrCreateTopicsResponse()
	count := map[string]int{}
	for i := range req.Topics {
		count[req.Topics[i].Topic]++
	}
	quota := b.mutationOf(r, 6)
	defer quota.close()
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewCreateTopicsResponseTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.Topic, -1, -1
		if count[t.Topic] > 1 {
			rt.ErrorCode = int16(wire.InvalidRequest)
			rt.ErrorMessage = kmsg.StringPtr("the request names this topic more than once")
		} else {
			b.createTopic(r.Version, req.ValidateOnly, t, &rt, quota)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(resp)
}

func (b *Broker) createTopic(version int16, validate bool, t *kmsg.CreateTopicsRequestTopic, rt *kmsg.CreateTopicsResponseTopic, quota *mutation) {
	spec, err := createSpec(validate, t)
	if err == nil && !validate {
		err = b.admitTopic(spec, quota)
	}
	if err == nil {
		var made run.CreatedTopic
		if made, err = b.cluster.CreateTopic(context.Background(), spec); err == nil {
			rt.TopicID, rt.NumPartitions, rt.ReplicationFactor = made.ID, made.Partitions, int16(made.ReplicationFactor)
			if version >= 5 {
				rt.Configs = b.createdConfigs(made.Config)
			}
			return
		}
	}
	rt.ErrorCode = int16(codeOf(err))
	rt.ErrorMessage = kmsg.StringPtr(messageOf(err))
}

// admitTopic counts the partitions of a topic that would be made; what cannot be made is not counted.
func (b *Broker) admitTopic(spec run.CreateTopicSpec, quota *mutation) error {
	if quota == nil {
		return nil
	}
	spec.ValidateOnly = true
	would, err := b.cluster.CreateTopic(context.Background(), spec)
	if err != nil {
		return err
	}
	return quota.record(int(would.Partitions))
}

func createSpec(validate bool, t *kmsg.CreateTopicsRequestTopic) (run.CreateTopicSpec, error) {
	spec := run.CreateTopicSpec{Name: t.Topic, Partitions: t.NumPartitions, ReplicationFactor: int32(t.ReplicationFactor), ValidateOnly: validate}
	if len(t.ReplicaAssignment) > 0 {
		spec.Assignment = map[int32][]int32{}
		for _, a := range t.ReplicaAssignment {
			if _, twice := spec.Assignment[a.Partition]; twice {
				return spec, refusal(run.ErrInvalidReplicaAssignment, "partition %d is assigned twice", a.Partition)
			}
			spec.Assignment[a.Partition] = a.Replicas
		}
	}
	if len(t.Configs) > 0 {
		spec.Config = map[string]string{}
	}
	for _, c := range t.Configs {
		if c.Value == nil {
			return spec, refusal(run.ErrInvalidConfig, "the value of %s is null", c.Name)
		}
		spec.Config[c.Name] = *c.Value
	}
	return spec, nil
}
