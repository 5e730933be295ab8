package plan

import (
	"slices"

	"github.com/pelton-broker/pelton/controller/meta"
)

// State is the part of a partition that elections change.
type State struct {
	Leader      int32
	LeaderEpoch int32
	ISR         []int32
	Recovering  bool // the leader came from outside the ISR
}

// Initial is the first state of a new partition: the first live replica leads, all live ones are in sync. ok is false
// while no replica is alive; then there is no state to write yet.
func Initial(replicas []int32, live func(int32) bool) (s State, ok bool) {
	for _, id := range replicas {
		if live(id) {
			s.ISR = append(s.ISR, id)
		}
	}
	if len(s.ISR) == 0 {
		return State{Leader: meta.NoLeader}, false
	}
	s.Leader = s.ISR[0]
	return s, true
}

// Settle adapts a partition to the brokers that are alive: dead ones leave the ISR, except its last member, and a dead
// leader is replaced by the first live replica in the ISR, or with unclean by the first live replica at all, whose log
// may lack what the others acknowledged. changed is false when the partition may stay as it is.
func Settle(p *meta.Partition, live func(int32) bool, unclean bool) (s State, changed bool) {
	s = State{Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Recovering: p.Recovering}
	for _, id := range p.ISR {
		if live(id) {
			s.ISR = append(s.ISR, id)
		}
	}
	if len(s.ISR) == 0 && len(p.ISR) > 0 {
		last := p.ISR[0]
		if slices.Contains(p.ISR, p.Leader) {
			last = p.Leader
		}
		s.ISR = []int32{last}
	}
	if s.Leader == meta.NoLeader || !live(s.Leader) {
		s.Leader = meta.NoLeader
		if next, clean := successor(p, s.ISR, live); clean {
			s.Leader = next
		} else if unclean && next != meta.NoLeader {
			s.Leader, s.ISR, s.Recovering = next, []int32{next}, true
		}
	}
	if s.Leader == p.Leader && slices.Equal(s.ISR, p.ISR) {
		return s, false
	}
	s.LeaderEpoch++
	return s, true
}

// Preferred makes the first replica of a partition its leader, if it is alive and in sync. changed is false when it leads already, or cannot.
func Preferred(p *meta.Partition, live func(int32) bool) (s State, changed bool) {
	s = State{Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, ISR: p.ISR, Recovering: p.Recovering}
	if len(p.Replicas) == 0 {
		return s, false
	}
	first := p.Replicas[0]
	if first == p.Leader || !live(first) || !slices.Contains(p.ISR, first) {
		return s, false
	}
	s.Leader = first
	s.LeaderEpoch++
	return s, true
}

// successor is the first live replica in isr (clean), or the first live one.
func successor(p *meta.Partition, isr []int32, live func(int32) bool) (id int32, clean bool) {
	id = meta.NoLeader
	for _, r := range p.Replicas {
		if !live(r) {
			continue
		}
		if slices.Contains(isr, r) {
			return r, true
		}
		if id == meta.NoLeader {
			id = r
		}
	}
	return id, false
}

// Offline lists the replicas that are not alive, in the order of the assignment; nil when all are.
func Offline(replicas []int32, live func(int32) bool) []int32 {
	var out []int32
	for _, id := range replicas {
		if !live(id) {
			out = append(out, id)
		}
	}
	return out
}
