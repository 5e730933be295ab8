package plan

import (
	"slices"

	"github.com/pelton-broker/pelton/controller/meta"
)

// Grow returns the replicas of the partitions that bring a topic to count. assignment, when not nil, has an entry for
// each new partition; otherwise they are placed where the existing ones leave off.
func Grow(name string, count int32, assignment [][]int32, s Settings, img *meta.Image) ([][]int32, error) {
	t := img.Topic(name)
	if t == nil || t.Deleting {
		return nil, Refuse(ErrUnknownTopic, "there is no topic %q", name)
	}
	if slices.ContainsFunc(t.Partitions, func(p *meta.Partition) bool { return len(p.Adding)+len(p.Removing) > 0 }) {
		return nil, Refuse(ErrReassignmentInProgress, "the topic %q is being reassigned; add partitions when that has ended", name)
	}
	have := int32(len(t.Partitions))
	switch {
	case count < have:
		return nil, Refuse(ErrInvalidPartitions, "the topic %q has %d partitions already, more than the %d asked for", name, have, count)
	case count == have:
		return nil, Refuse(ErrInvalidPartitions, "the topic %q has %d partitions already", name, have)
	}
	factor := 1
	if have > 0 {
		factor = len(t.Partitions[0].Replicas)
	}
	added := count - have
	if assignment != nil {
		if int32(len(assignment)) != added {
			return nil, Refuse(ErrInvalidReplicaAssignment, "%d partitions are to be added but %d assignments are given", added, len(assignment))
		}
		return assignment, CheckReplicas(assignment, int(have), factor, img)
	}
	start := s.Start
	if brokers := Candidates(img); have > 0 && len(t.Partitions[0].Replicas) > 0 {
		leader := t.Partitions[0].Replicas[0]
		start = max(0, slices.IndexFunc(brokers, func(c Candidate) bool { return c.ID == leader }))
	}
	return Place(Placement{Partitions: added, ReplicationFactor: int32(factor), FirstPartition: have, Start: start, Shift: start},
		Candidates(img))
}
