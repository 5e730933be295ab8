package plan

import (
	"maps"
	"slices"

	"github.com/pelton-broker/pelton/controller/meta"
)

// Default asks for the broker's own number of partitions or replicas.
const Default int32 = -1

// Spec is a topic as somebody wants it.
type Spec struct {
	Name              string
	Partitions        int32 // Default allowed
	ReplicationFactor int32 // Default allowed
	Assignment        map[int32][]int32
}

// Settings are what fills the gaps of a Spec.
type Settings struct {
	Partitions        int32
	ReplicationFactor int32
	Start, Shift      int // see Placement; used modulo the number of brokers
}

// Create turns a Spec into the replicas of each partition, or says what is wrong with it. taken are names that are in
// use beside those of the image. The order of the checks is Kafka's, since it decides which error a client sees.
func Create(spec Spec, s Settings, img *meta.Image, taken func(string) bool) ([][]int32, error) {
	if img.Topic(spec.Name) != nil || taken != nil && taken(spec.Name) {
		return nil, Refuse(ErrTopicExists, "a topic %q exists already", spec.Name)
	}
	if len(spec.Assignment) > 0 && (spec.Partitions != Default || spec.ReplicationFactor != Default) {
		return nil, Refuse(ErrInvalidRequest,
			"with a manual assignment the number of partitions and the replication factor are left at -1")
	}
	replicas, err := spread(spec, s, img)
	if err != nil {
		return nil, err
	}
	if err := CheckName(spec.Name); err != nil {
		return nil, err
	}
	if other := Collision(spec.Name, img); other != "" {
		return nil, Refuse(ErrInvalidTopicName, "the topic name %q collides with the existing %q: dots and underscores count as the same",
			spec.Name, other)
	}
	if len(spec.Assignment) == 0 {
		return replicas, nil
	}
	return manual(spec.Assignment, img)
}

// spread places a topic that has no manual assignment.
func spread(spec Spec, s Settings, img *meta.Image) ([][]int32, error) {
	if len(spec.Assignment) > 0 {
		return nil, nil
	}
	p := Placement{Partitions: spec.Partitions, ReplicationFactor: spec.ReplicationFactor, Start: s.Start, Shift: s.Shift}
	if p.Partitions == Default {
		p.Partitions = s.Partitions
	}
	if p.ReplicationFactor == Default {
		p.ReplicationFactor = s.ReplicationFactor
	}
	return Place(p, Candidates(img))
}

func manual(assignment map[int32][]int32, img *meta.Image) ([][]int32, error) {
	out := make([][]int32, len(assignment))
	for i, partition := range slices.Sorted(maps.Keys(assignment)) {
		if int(partition) != i {
			return nil, Refuse(ErrInvalidReplicaAssignment, "partitions are numbered from 0 without gaps; partition %d is missing", i)
		}
		out[i] = slices.Clone(assignment[partition])
	}
	return out, CheckReplicas(out, 0, len(out[0]), img)
}

// CheckReplicas refuses a manual assignment: every partition has factor replicas on different, live brokers. first is
// the index of the first partition, for the message.
func CheckReplicas(replicas [][]int32, first, factor int, img *meta.Image) error {
	for i, r := range replicas {
		sorted := slices.Sorted(slices.Values(r))
		switch {
		case len(r) == 0:
			return Refuse(ErrInvalidReplicaAssignment, "partition %d is given no replica", first+i)
		case len(slices.Compact(sorted)) != len(r):
			return Refuse(ErrInvalidReplicaAssignment, "partition %d names a broker twice: %v", first+i, r)
		case len(r) != factor:
			return Refuse(ErrInvalidReplicaAssignment, "partition %d has %d replicas where the others have %d", first+i, len(r), factor)
		}
		for _, id := range r {
			if img.Broker(id) == nil {
				return Refuse(ErrInvalidReplicaAssignment, "partition %d names broker %d, which is not alive", first+i, id)
			}
		}
	}
	return nil
}
