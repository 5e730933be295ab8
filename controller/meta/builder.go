package meta

import (
	"maps"
	"slices"
)

// Builder makes the next image. It copies a map of its base at the first write to it and never writes to a value
// that the base holds, so the base stays as it is.
type Builder struct {
	base    *Image
	next    Image
	brokers bool // next.Brokers is ours
	topics  bool // next.Topics and next.ByID are ours
	configs bool // next.BrokerConfigs is ours
	quotas  bool // next.Quotas is ours
	names   bool // TopicNames must be made anew
	changed bool
}

// NewBuilder starts from base; nil is the empty cluster.
func NewBuilder(base *Image) *Builder {
	if base == nil {
		base = &Image{ControllerID: -1}
	}
	return &Builder{base: base, next: *base}
}

// SetCluster sets the cluster's id.
func (b *Builder) SetCluster(id string) {
	b.changed = b.changed || b.next.ClusterID != id
	b.next.ClusterID = id
}

// SetController names the active controller, -1 for none.
func (b *Builder) SetController(id, epoch int32) {
	b.changed = b.changed || b.next.ControllerID != id || b.next.ControllerEpoch != epoch
	b.next.ControllerID, b.next.ControllerEpoch = id, epoch
}

// SetBrokers replaces the live brokers.
func (b *Builder) SetBrokers(live map[int32]*Broker) {
	if maps.EqualFunc(b.next.Brokers, live, (*Broker).equal) {
		return
	}
	b.next.Brokers, b.brokers, b.changed = maps.Clone(live), true, true
}

// SetTopic adds or replaces a topic; an equal one is no change. t must not be written afterwards.
func (b *Builder) SetTopic(t *Topic) {
	old := b.next.Topics[t.Name]
	if old != nil && old.equal(t) {
		return
	}
	b.ownTopics()
	if old == nil {
		b.names = true
	} else if old.ID != t.ID {
		delete(b.next.ByID, old.ID)
	}
	b.next.Topics[t.Name] = t
	if !t.ID.IsZero() {
		b.next.ByID[t.ID] = t
	}
	b.changed = true
}

// RemoveTopic removes a topic; an unknown one is no change.
func (b *Builder) RemoveTopic(name string) {
	old := b.next.Topics[name]
	if old == nil {
		return
	}
	b.ownTopics()
	delete(b.next.Topics, name)
	delete(b.next.ByID, old.ID)
	b.names, b.changed = true, true
}

// SetBrokerConfig sets the dynamic settings of one broker, or with a nil id those of all; empty removes them.
func (b *Builder) SetBrokerConfig(id *int32, set map[string]string) {
	if id == nil {
		b.changed = b.changed || !maps.Equal(b.next.DefaultBrokerConfig, set)
		b.next.DefaultBrokerConfig = maps.Clone(set)
		return
	}
	if maps.Equal(b.next.BrokerConfigs[*id], set) {
		return
	}
	if !b.configs {
		b.next.BrokerConfigs, b.configs = maps.Clone(b.next.BrokerConfigs), true
	}
	if b.next.BrokerConfigs == nil {
		b.next.BrokerConfigs = map[int32]map[string]string{}
	}
	if b.changed = true; len(set) == 0 {
		delete(b.next.BrokerConfigs, *id)
		return
	}
	b.next.BrokerConfigs[*id] = maps.Clone(set)
}

// Topic returns a topic as it will be in the next image.
func (b *Builder) Topic(name string) *Topic { return b.next.Topics[name] }

// Changed tells whether the next image differs from the base in anything that was set.
func (b *Builder) Changed() bool { return b.changed }

// Build returns the next image. The builder must not be used afterwards.
func (b *Builder) Build() *Image {
	b.next.Version = b.base.Version + 1
	if b.next.Topics == nil || b.names {
		b.ownTopics()
		b.next.TopicNames = slices.Sorted(maps.Keys(b.next.Topics))
	}
	if b.next.Brokers == nil {
		b.next.Brokers, b.brokers = map[int32]*Broker{}, true
	}
	if b.brokers {
		b.next.BrokerIDs = slices.Sorted(maps.Keys(b.next.Brokers))
	}
	img := b.next
	return &img
}

func (b *Builder) ownTopics() {
	if b.topics {
		return
	}
	b.topics = true
	b.next.Topics, b.next.ByID = maps.Clone(b.next.Topics), maps.Clone(b.next.ByID)
	if b.next.Topics == nil {
		b.next.Topics, b.next.ByID = map[string]*Topic{}, map[ID]*Topic{}
	}
}
