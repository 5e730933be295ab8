package meta

import (
	"maps"
	"slices"
)

// NoLeader is the leader of a partition that has none.
const NoLeader int32 = -1

// Topic is one topic. Partitions[i].Index == i.
type Topic struct {
	Name       string
	ID         ID
	Partitions []*Partition
	Config     map[string]string // overrides only
	Internal   bool
	// Deleting: its removal has begun and waits for a replica that is away. It takes no new partitions and its
	// logs must not be opened; to clients it is unknown.
	Deleting bool
}

// Partition is what the controller decided about one partition.
type Partition struct {
	Index           int32
	Leader          int32 // NoLeader when none
	LeaderEpoch     int32
	ControllerEpoch int32 // of the controller that wrote this state
	Replicas        []int32
	ISR             []int32
	ZkVersion       int32   // version of the state znode
	Offline         []int32 // replicas whose broker is not alive
	Adding          []int32 // replicas that a running reassignment adds
	Removing        []int32 // and removes
	Recovering      bool    // the leader was elected outside the ISR and has not finished its recovery
}

// IsInternal tells the topics that belong to the brokers themselves.
func IsInternal(name string) bool {
	return name == "__consumer_offsets" || name == "__transaction_state"
}

// Partition returns one partition or nil.
func (t *Topic) Partition(i int32) *Partition {
	if i < 0 || int(i) >= len(t.Partitions) {
		return nil
	}
	return t.Partitions[i]
}

// Hosts tells whether broker id holds a replica.
func (p *Partition) Hosts(id int32) bool { return slices.Contains(p.Replicas, id) }

func (p *Partition) equal(o *Partition) bool {
	return p.Index == o.Index && p.Leader == o.Leader && p.LeaderEpoch == o.LeaderEpoch &&
		p.ControllerEpoch == o.ControllerEpoch && p.ZkVersion == o.ZkVersion && p.Recovering == o.Recovering &&
		slices.Equal(p.Replicas, o.Replicas) && slices.Equal(p.ISR, o.ISR) && slices.Equal(p.Offline, o.Offline) &&
		slices.Equal(p.Adding, o.Adding) && slices.Equal(p.Removing, o.Removing)
}

func (t *Topic) sameConfig(o *Topic) bool { return maps.Equal(t.Config, o.Config) }

func (t *Topic) equal(o *Topic) bool {
	_, differs := compare(t, o)
	return !differs && len(t.Partitions) == len(o.Partitions) && t.Internal == o.Internal
}
