// Metadata, versions 0 to 13.
//
//   - Version 0: an empty list means every topic. From 1: null is every topic, empty is none.
//   - Versions 0 to 3 have no flag for auto-creation and mean true.
//   - From 10 topics may be named by id; an unknown id is UNKNOWN_TOPIC_ID, a null name with a zero id is INVALID_REQUEST.
//   - A topic that is being created is LEADER_NOT_AVAILABLE; the answer to a creation waits until its leaders take writes.
//   - A partition of this broker whose log is still read after an unclean stop has no leader: LEADER_NOT_AVAILABLE.
//   - A missing topic in a list does not touch the others (C-37).

package api

import (
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/controller/plan"
	"github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// authorizedOperationsUnknown is what a version that was not asked for the operations carries.
const authorizedOperationsUnknown = -2147483648

func (b *Broker) metadata(r *Request) {
	req := r.Msg.(*kmsg.MetadataRequest)
	req.Topics = distinctTopics(req.Topics)
	route := b.route.Load()
	if missing := b.metadataMissing(req, r.Version, route); len(missing) > 0 {
		b.ToPool(r, func() {
			failed := b.metadataCreate(missing)
			r.Reply(b.metadataAnswer(req, r.Version, b.route.Load(), failed))
		})
		return
	}
	r.Reply(b.metadataAnswer(req, r.Version, route, nil))
}

// distinctTopics drops what a request asks for again: each topic has one answer.
func distinctTopics(topics []kmsg.MetadataRequestTopic) []kmsg.MetadataRequestTopic {
	if len(topics) < 2 {
		return topics
	}
	type asked struct {
		id    meta.ID
		named bool
		name  string
	}
	seen := make(map[asked]bool, len(topics))
	return slices.DeleteFunc(topics, func(t kmsg.MetadataRequestTopic) bool {
		a := asked{id: t.TopicID}
		if t.Topic != nil && a.id.IsZero() {
			a.named, a.name = true, *t.Topic
		}
		again := seen[a]
		seen[a] = true
		return again
	})
}

// metadataMissing lists the topics of a request that do not exist and should be made.
func (b *Broker) metadataMissing(req *kmsg.MetadataRequest, version int16, route *Route) (names []string) {
	if !b.Options().AutoCreateTopics || (version >= 4 && !req.AllowAutoTopicCreation) {
		return nil
	}
	for i := range req.Topics {
		if name := req.Topics[i].Topic; name != nil && route.topics[*name] == nil && plan.CheckName(*name) == nil {
			names = append(names, *name)
		}
	}
	return names
}

// metadataCreate makes topics and returns the codes of those that could not be made.
func (b *Broker) metadataCreate(names []string) map[string]wire.Code {
	failed := map[string]wire.Code{}
	for _, name := range names {
		_, err := b.cluster.CreateTopic(context.Background(), b.autoTopic(name))
		switch {
		case err == nil:
		case errors.Is(err, run.ErrTopicExists):
			failed[name] = wire.LeaderNotAvailable // somebody else makes it at this moment
		default:
			b.log.Warn("topic could not be created on demand", "tp", name, "err", err.Error())
			failed[name] = codeOf(err)
		}
	}
	return failed
}

// autoTopic is what a topic looks like that is made because a client asked about it.
func (b *Broker) autoTopic(name string) run.CreateTopicSpec {
	o := b.Options()
	spec := run.CreateTopicSpec{Name: name, Partitions: o.DefaultPartitions, ReplicationFactor: o.DefaultReplicationFactor}
	if name == offsetsTopic {
		spec.Partitions, spec.ReplicationFactor, spec.Config = o.OffsetsPartitions, o.OffsetsReplication, o.OffsetsConfig
	}
	return spec
}

// offsetsTopic is the internal topic of committed offsets.
const offsetsTopic = "__consumer_offsets"

func (b *Broker) metadataAnswer(req *kmsg.MetadataRequest, version int16, route *Route, failed map[string]wire.Code) *kmsg.MetadataResponse {
	img := route.Image
	resp := kmsg.NewPtrMetadataResponse()
	resp.ControllerID = img.ControllerID
	if img.ClusterID != "" {
		resp.ClusterID = &img.ClusterID
	}
	for _, id := range sortedBrokers(img) {
		if e := b.endpoint(img.Brokers[id]); e != nil {
			m := kmsg.NewMetadataResponseBroker()
			m.NodeID, m.Host, m.Port, m.Rack = id, e.Host, e.Port, img.Brokers[id].Rack
			resp.Brokers = append(resp.Brokers, m)
		}
	}
	resp.AuthorizedOperations = authorizedOperationsUnknown
	if version <= 10 && req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = clusterOperations
	}
	resp.Topics = []kmsg.MetadataResponseTopic{}
	if req.Topics == nil || (version == 0 && len(req.Topics) == 0) {
		for _, name := range img.TopicNames {
			if t := route.topics[name]; t != nil {
				resp.Topics = append(resp.Topics, b.metadataTopic(t, img, req))
			}
		}
		return resp
	}
	for i := range req.Topics {
		resp.Topics = append(resp.Topics, b.metadataNamed(&req.Topics[i], route, req, failed))
	}
	return resp
}

func sortedBrokers(img *meta.Image) []int32 {
	ids := make([]int32, 0, len(img.Brokers))
	for id := range img.Brokers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// endpoint is where clients reach a broker; nil when it has no listener of this name.
func (b *Broker) endpoint(br *meta.Broker) *meta.Endpoint { return br.Endpoint(b.Options().Listener) }

func (b *Broker) metadataNamed(q *kmsg.MetadataRequestTopic, route *Route, req *kmsg.MetadataRequest, failed map[string]wire.Code) kmsg.MetadataResponseTopic {
	byID := !meta.ID(q.TopicID).IsZero()
	var t *topicRoute
	switch {
	case byID:
		t = route.byID[q.TopicID]
	case q.Topic != nil:
		t = route.topics[*q.Topic]
	}
	if t != nil {
		return b.metadataTopic(t, route.Image, req)
	}
	m := kmsg.NewMetadataResponseTopic()
	m.Topic, m.TopicID = q.Topic, q.TopicID
	m.AuthorizedOperations = authorizedOperationsUnknown
	switch {
	case byID:
		m.Topic, m.ErrorCode = nil, int16(wire.UnknownTopicID)
	case q.Topic == nil:
		m.ErrorCode = int16(wire.InvalidRequest)
	case plan.CheckName(*q.Topic) != nil:
		m.ErrorCode = int16(wire.InvalidTopicException)
	default:
		m.ErrorCode = int16(wire.UnknownTopicOrPartition)
		if code, ok := failed[*q.Topic]; ok {
			m.ErrorCode = int16(code)
		}
	}
	return m
}

func (b *Broker) metadataTopic(t *topicRoute, img *meta.Image, req *kmsg.MetadataRequest) kmsg.MetadataResponseTopic {
	m := kmsg.NewMetadataResponseTopic()
	m.Topic, m.TopicID, m.IsInternal = &t.topic.Name, t.topic.ID, t.topic.Internal
	m.AuthorizedOperations = authorizedOperationsUnknown
	if req.IncludeTopicAuthorizedOperations {
		m.AuthorizedOperations = topicOperations
	}
	for _, p := range t.topic.Partitions {
		q := kmsg.NewMetadataResponseTopicPartition()
		q.Partition, q.Leader, q.LeaderEpoch = p.Index, p.Leader, p.LeaderEpoch
		q.Replicas, q.ISR, q.OfflineReplicas = p.Replicas, p.ISR, p.Offline
		if t.leaderless(img, p, b.Options().BrokerID) {
			q.ErrorCode, q.Leader = int16(wire.LeaderNotAvailable), -1
		}
		m.Partitions = append(m.Partitions, q)
	}
	return m
}

// The operations that a principal without restrictions may do, as Kafka's bit fields.
const (
	topicOperations   = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	clusterOperations = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
	groupOperations   = 1<<3 | 1<<6 | 1<<8
)
