package replica

import (
	"slices"

	"github.com/pelton-broker/pelton/internal/invariant"
)

// NoEpoch is the leader epoch of a request that does not want it checked.
const NoEpoch int32 = -1

// State is what the controller decided about a partition.
type State struct {
	Leader      int32
	LeaderEpoch int32
	ISR         []int32
}

// Change is what a new state means for this broker.
type Change struct {
	// Elected: this broker leads from here on in a new epoch, which begins at the log's end.
	Elected bool
	// Deposed: it led before, and whoever waits for that epoch must be told.
	Deposed bool
}

// Partition is this broker's part in one partition.
type Partition struct {
	broker int32
	state  State
	// hw is moved only by recompute and by Become. It never falls while this broker leads, and
	// never passes the end of this broker's log: consumers read below it, acks=all waits for it.
	hw int64
	// end is this broker's own log end.
	end int64
	// followers are the log ends of the other members of the in-sync set, as their fetches told them.
	followers map[int32]int64
}

// NewPartition returns the part of a broker that follows nobody and leads nothing; its log ends
// at end and is committed to hw.
func NewPartition(broker int32, hw, end int64) *Partition {
	if hw > end {
		invariant.Broken("replica: committed beyond the log end", hw, end)
	}
	return &Partition{broker: broker, state: State{Leader: -1, LeaderEpoch: -1}, hw: hw, end: end}
}

// Become takes the controller's decision. An older epoch than the known one changes nothing.
func (p *Partition) Become(s State) Change {
	if s.LeaderEpoch < p.state.LeaderEpoch {
		return Change{}
	}
	led, epoch := p.Leads(), p.state.LeaderEpoch
	p.state = State{Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, ISR: slices.Clone(s.ISR)}
	same := led && p.Leads() && epoch == s.LeaderEpoch
	c := Change{Elected: p.Leads() && !same, Deposed: led && !same}
	if !p.Leads() {
		p.followers = nil
		return c
	}
	p.keepFollowers()
	p.recompute()
	return c
}

// keepFollowers drops what is known of replicas that left the in-sync set.
func (p *Partition) keepFollowers() {
	kept := map[int32]int64{}
	for _, id := range p.state.ISR {
		if id != p.broker {
			kept[id] = p.followers[id]
		}
	}
	p.followers = kept
}

// Leads tells whether this broker leads the partition.
func (p *Partition) Leads() bool { return p.state.Leader == p.broker }

// Epoch is the leader epoch.
func (p *Partition) Epoch() int32 { return p.state.LeaderEpoch }

// HighWatermark is the offset below which records are committed.
func (p *Partition) HighWatermark() int64 { return p.hw }

// Fence checks the leader epoch that a request carries. Errors: ErrNotLeader, ErrFencedEpoch, ErrUnknownEpoch.
func (p *Partition) Fence(epoch int32) error {
	switch {
	case !p.Leads():
		return ErrNotLeader
	case epoch != NoEpoch && epoch < p.state.LeaderEpoch:
		return ErrFencedEpoch
	case epoch > p.state.LeaderEpoch:
		return ErrUnknownEpoch
	}
	return nil
}

// Admits tells whether an append may begin. Errors: ErrNotLeader; ErrNotEnoughReplicas when the
// producer waits for all of fewer than minISR replicas.
func (p *Partition) Admits(allReplicas bool, minISR int32) error {
	switch {
	case !p.Leads():
		return ErrNotLeader
	case allReplicas && int32(len(p.state.ISR)) < minISR:
		return ErrNotEnoughReplicas
	}
	return nil
}

// Appended notes this broker's new log end and returns the high watermark.
func (p *Partition) Appended(end int64) int64 {
	if end < p.end {
		invariant.Broken("replica: the log end fell without a truncation", p.end, end)
	}
	p.end = end
	if p.Leads() {
		p.recompute()
	}
	return p.hw
}

// Fetched notes that a follower has everything below offset and returns the high watermark.
func (p *Partition) Fetched(follower int32, offset int64) int64 {
	if _, in := p.followers[follower]; in && p.Leads() && offset > p.followers[follower] {
		p.followers[follower] = offset
		p.recompute()
	}
	return p.hw
}

// recompute moves the high watermark to the smallest log end of the in-sync set; it never falls (I6).
func (p *Partition) recompute() {
	low := p.end
	for _, end := range p.followers {
		low = min(low, end)
	}
	p.hw = max(p.hw, low)
}
