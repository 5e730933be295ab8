package api

import (
	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// Route is an image together with the partitions that are open here. It never changes after
// publication; a shard that holds one sees one state of the cluster.
type Route struct {
	Image  *meta.Image
	topics map[string]*topicRoute
	byID   map[meta.ID]*topicRoute
}

// topicRoute is one topic of a Route.
type topicRoute struct {
	topic *meta.Topic
	// hosts[i] is partition i when it is open here, else nil.
	hosts []*Hosted
	// recovering[i] is set while partition i waits for the recovery of its log; nil when none does.
	recovering []*recovery
	// limits are the bounds of a record set for this topic; the time of arrival is filled in by the user of a copy.
	limits  batch.Limits
	options TopicOptions
}

func (t *topicRoute) host(partition int32) *Hosted {
	if partition < 0 || int(partition) >= len(t.hosts) {
		return nil
	}
	return t.hosts[partition]
}

func (t *topicRoute) exists(partition int32) bool {
	return partition >= 0 && int(partition) < len(t.topic.Partitions)
}

// byName finds a topic by the bytes of its name, without allocating.
func (r *Route) byName(name []byte) *topicRoute { return r.topics[string(name)] }

// missing is the code for a partition that is not open on this broker.
func (t *topicRoute) missing(partition, broker int32) wire.Code {
	switch {
	case !t.exists(partition):
		return wire.UnknownTopicOrPartition
	case t.recovers(partition):
		return wire.NotLeaderOrFollower // not yet: clients ask who is, and wait
	case t.topic.Partitions[partition].Hosts(broker):
		return wire.KafkaStorageError // it is ours and could not be opened
	}
	return wire.NotLeaderOrFollower
}
