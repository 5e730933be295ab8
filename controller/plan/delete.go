package plan

import "github.com/pelton-broker/pelton/controller/meta"

// Removal is one step of a deletion.
type Removal struct {
	What      What
	Partition int32 // for RemoveState and RemovePartition
}

// What is removed by a step.
type What uint8

// The steps, in the order in which a topic goes: whoever stops half-way leaves the request for the deletion standing, so
// that the next controller goes on.
const (
	RemoveState What = iota
	RemovePartition
	RemovePartitions
	RemoveTopic
	RemoveConfig
	RemoveRequest
)

// Deletable tells whether every replica of a topic can be told to drop its log now; online tells of a partition which brokers can serve it.
func Deletable(t *meta.Topic, online func(partition int32) func(id int32) bool) bool {
	for _, p := range t.Partitions {
		if len(Offline(p.Replicas, online(p.Index))) > 0 {
			return false
		}
	}
	return true
}

// Deletion lists the steps that remove a topic of so many partitions from the tree.
func Deletion(partitions int) []Removal {
	steps := make([]Removal, 0, 2*partitions+4)
	for i := range int32(partitions) {
		steps = append(steps, Removal{RemoveState, i}, Removal{RemovePartition, i})
	}
	return append(steps, Removal{What: RemovePartitions}, Removal{What: RemoveTopic}, Removal{What: RemoveConfig},
		Removal{What: RemoveRequest})
}
