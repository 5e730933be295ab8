package plan

import (
	"slices"

	"github.com/pelton-broker/pelton/controller/meta"
)

// Candidate is a broker that may hold replicas.
type Candidate struct {
	ID   int32
	Rack string // "" when it has none
}

// Candidates lists an image's live brokers by id.
func Candidates(img *meta.Image) []Candidate {
	out := make([]Candidate, 0, len(img.BrokerIDs))
	for _, id := range img.BrokerIDs {
		c := Candidate{ID: id}
		if r := img.Brokers[id].Rack; r != nil {
			c.Rack = *r
		}
		out = append(out, c)
	}
	return out
}

// Placement says what is to be placed. Start and Shift are what Kafka rolls dice for: the position of the first
// partition's leader in the list of brokers, and the distance of its followers.
type Placement struct {
	Partitions        int32
	ReplicationFactor int32
	FirstPartition    int32 // index of the first one placed; above 0 when partitions are added
	Start, Shift      int
}

// Place spreads replicas as Kafka does: leaders go round the brokers, followers at a distance that grows by one with
// every round, and when every broker has a rack, replicas of one partition go to different racks while there are any.
func Place(p Placement, brokers []Candidate) ([][]int32, error) {
	switch {
	case p.Partitions <= 0:
		return nil, Refuse(ErrInvalidPartitions, "a topic has at least 1 partition, %d were asked for", p.Partitions)
	case p.ReplicationFactor <= 0:
		return nil, Refuse(ErrInvalidReplicationFactor, "the replication factor is at least 1, %d was asked for", p.ReplicationFactor)
	case int(p.ReplicationFactor) > len(brokers):
		return nil, Refuse(ErrInvalidReplicationFactor, "the replication factor %d is larger than the number of live brokers, %d",
			p.ReplicationFactor, len(brokers))
	}
	sorted := slices.Clone(brokers)
	slices.SortFunc(sorted, func(a, b Candidate) int { return int(a.ID) - int(b.ID) })
	racks := 1
	if !slices.ContainsFunc(sorted, func(c Candidate) bool { return c.Rack == "" }) {
		sorted, racks = alternate(sorted)
	}
	out := make([][]int32, p.Partitions)
	shift := p.Shift
	for i := range out {
		index := int(p.FirstPartition) + i
		if index > 0 && index%len(sorted) == 0 {
			shift++
		}
		first := (index + p.Start) % len(sorted)
		if racks == 1 {
			out[i] = placeRound(sorted, first, shift, int(p.ReplicationFactor))
		} else {
			out[i] = placeAcross(sorted, racks, first, shift*racks, int(p.ReplicationFactor))
		}
	}
	return out, nil
}

func replicaAt(first, shift, nth, brokers int) int {
	return (first + 1 + (shift+nth)%(brokers-1)) % brokers
}

func placeRound(brokers []Candidate, first, shift, factor int) []int32 {
	replicas := []int32{brokers[first].ID}
	for j := range factor - 1 {
		replicas = append(replicas, brokers[replicaAt(first, shift, j, len(brokers))].ID)
	}
	return replicas
}

// placeAcross skips a broker whose rack has a replica while another rack has none.
func placeAcross(brokers []Candidate, racks, first, shift, factor int) []int32 {
	replicas := []int32{brokers[first].ID}
	used := map[string]bool{brokers[first].Rack: true}
	for k := 0; len(replicas) < factor; k++ {
		b := brokers[replicaAt(first, shift, k, len(brokers))]
		if used[b.Rack] && len(used) < racks || slices.Contains(replicas, b.ID) {
			continue
		}
		used[b.Rack] = true
		replicas = append(replicas, b.ID)
	}
	return replicas
}

// alternate orders the brokers so that neighbours are in different racks: racks by name in turn, each giving its
// brokers by id.
func alternate(sorted []Candidate) ([]Candidate, int) {
	byRack := map[string][]Candidate{}
	var racks []string
	for _, b := range sorted {
		if byRack[b.Rack] == nil {
			racks = append(racks, b.Rack)
		}
		byRack[b.Rack] = append(byRack[b.Rack], b)
	}
	slices.Sort(racks)
	out := make([]Candidate, 0, len(sorted))
	for i := 0; len(out) < len(sorted); i = (i + 1) % len(racks) {
		if left := byRack[racks[i]]; len(left) > 0 {
			out, byRack[racks[i]] = append(out, left[0]), left[1:]
		}
	}
	return out, len(racks)
}
