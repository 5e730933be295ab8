package api

import (
	"testing"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/reactor"
)

// publishing is a broker whose shards do not run, and a route of two topics.
func publishing(t *testing.T) (*Broker, *Route) {
	t.Helper()
	server := reactor.New(reactor.Options{Shards: 1}, nil)
	b := &Broker{hosts: map[hostKey]*Hosted{}, stopped: make(chan struct{}), server: server, recoveries: newRecoveries(nil, nil, 1, nil)}
	b.opts.Store(&Options{})
	b.derived = b.opts.Load()
	route := &Route{Image: &meta.Image{}, topics: map[string]*topicRoute{}, byID: map[meta.ID]*topicRoute{}}
	for i, name := range []string{"a", "b"} {
		id := meta.ID{15: byte(i + 1)}
		topic := &meta.Topic{Name: name, ID: id, Partitions: []*meta.Partition{{Replicas: []int32{0}}}}
		h := &Hosted{Topic: name, TopicID: id, shard: server.Shards()[0]}
		tr := &topicRoute{topic: topic, hosts: []*Hosted{h}}
		route.topics[name], route.byID[id], b.hosts[hostKey{topic: id, name: name}] = tr, tr, h
	}
	b.route.Store(route)
	return b, route
}

func imageOf(topics ...*meta.Topic) *meta.Image {
	b := meta.NewBuilder(nil)
	for _, t := range topics {
		b.SetTopic(t)
	}
	return b.Build()
}

func TestUnchangedTopicsAreTakenOver(t *testing.T) {
	b, route := publishing(t)
	one, two := route.topics["a"].topic, route.topics["b"].topic
	next, same := b.takeOver(route, imageOf(one, two))
	if !same || next.topics["a"] != route.topics["a"] || len(next.topics) != 2 {
		t.Fatal("an image without a change is not taken over whole")
	}
	grown := *two
	grown.Partitions = append(grown.Partitions, &meta.Partition{Index: 1})
	next, same = b.takeOver(route, imageOf(one, &grown))
	if same || next.topics["a"] != route.topics["a"] || next.topics["b"] != nil {
		t.Fatalf("one topic has changed: same=%v, %v", same, next.topics)
	}
	if next, same = b.takeOver(route, imageOf(one)); same || len(next.topics) != 1 {
		t.Fatal("a topic that is gone is kept")
	}
	leaving := *two
	leaving.Deleting = true
	if _, same = b.takeOver(route, imageOf(one, &leaving)); same {
		t.Fatal("a topic whose deletion has begun is kept")
	}
	route.topics["a"].hosts[0] = nil // could not be opened
	if next, same = b.takeOver(route, imageOf(one, two)); same || next.topics["a"] != nil {
		t.Fatal("opening is not tried again")
	}
	b.opts.Store(&Options{})
	if next, _ = b.takeOver(route, imageOf(one, two)); len(next.topics) != 0 {
		t.Fatal("other settings of the broker, and topics are taken over")
	}
}

func TestOwnersHearOfWhatChangedAlone(t *testing.T) {
	b, route := publishing(t)
	old := route.topics["a"]
	same := *old.topic
	for what, c := range map[string]struct {
		part    meta.Partition
		config  map[string]string
		settled bool
	}{
		"nothing":     {meta.Partition{Replicas: []int32{0}}, nil, true},
		"zk version":  {meta.Partition{Replicas: []int32{0}, ZkVersion: 9}, nil, true},
		"leader":      {meta.Partition{Replicas: []int32{0}, Leader: 1}, nil, false},
		"epoch":       {meta.Partition{Replicas: []int32{0}, LeaderEpoch: 1}, nil, false},
		"in sync":     {meta.Partition{Replicas: []int32{0}, ISR: []int32{0}}, nil, false},
		"its setting": {meta.Partition{Replicas: []int32{0}}, map[string]string{"retention.ms": "1"}, false},
	} {
		next := same
		next.Partitions, next.Config = []*meta.Partition{&c.part}, c.config
		if got := b.settled(old, &topicRoute{topic: &next, hosts: old.hosts}, 0); got != c.settled {
			t.Errorf("%s: settled %v", what, got)
		}
	}
	if b.settled(nil, old, 0) {
		t.Error("a new topic is settled")
	}
}

// A shard that has failed answers nothing: publishing ends all the same, or the broker could not stop.
func TestPublishEndsWhenTheShardsHaveStopped(t *testing.T) {
	b, route := publishing(t)
	b.ShardsStopped()
	changed := *route.topics["a"].topic
	changed.Config = map[string]string{"retention.ms": "1"}
	if b.settleHosts([]*topicRoute{{topic: &changed, hosts: route.topics["a"].hosts}}, route) {
		t.Fatal("partitions were settled by nobody")
	}
	b.dropGone(&Route{topics: map[string]*topicRoute{}})
}
