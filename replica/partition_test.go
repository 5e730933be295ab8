package replica

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestPartitionBecome(t *testing.T) {
	p := NewPartition(1, 5, 9)
	if err := p.Fence(NoEpoch); !errors.Is(err, ErrNotLeader) {
		t.Fatalf("before any state: %v", err)
	}
	if c := p.Become(State{Leader: 1, LeaderEpoch: 3, ISR: []int32{1}}); !c.Elected || c.Deposed {
		t.Fatalf("first election: %+v", c)
	}
	if p.HighWatermark() != 9 {
		t.Fatalf("the only replica in sync commits its whole log, high watermark %d", p.HighWatermark())
	}
	if c := p.Become(State{Leader: 1, LeaderEpoch: 3, ISR: []int32{1}}); c.Elected || c.Deposed {
		t.Fatalf("the same state again: %+v", c)
	}
	if c := p.Become(State{Leader: 1, LeaderEpoch: 4, ISR: []int32{1}}); !c.Elected || !c.Deposed {
		t.Fatalf("a new epoch of the same leader: %+v", c)
	}
	if c := p.Become(State{Leader: 2, LeaderEpoch: 2}); c.Elected || c.Deposed || !p.Leads() {
		t.Fatalf("an old epoch must change nothing: %+v", c)
	}
	if c := p.Become(State{Leader: 2, LeaderEpoch: 5, ISR: []int32{2, 1}}); c.Elected || !c.Deposed {
		t.Fatalf("another leader: %+v", c)
	}
}

func TestPartitionFence(t *testing.T) {
	p := NewPartition(1, 0, 0)
	p.Become(State{Leader: 1, LeaderEpoch: 7, ISR: []int32{1}})
	for _, c := range []struct {
		epoch int32
		want  error
	}{{NoEpoch, nil}, {7, nil}, {6, ErrFencedEpoch}, {0, ErrFencedEpoch}, {8, ErrUnknownEpoch}} {
		if err := p.Fence(c.epoch); !errors.Is(err, c.want) {
			t.Errorf("epoch %d: %v, want %v", c.epoch, err, c.want)
		}
	}
}

func TestPartitionAdmits(t *testing.T) {
	p := NewPartition(1, 0, 0)
	if err := p.Admits(false, 1); !errors.Is(err, ErrNotLeader) {
		t.Fatalf("follower: %v", err)
	}
	p.Become(State{Leader: 1, LeaderEpoch: 0, ISR: []int32{1}})
	if err := p.Admits(true, 2); !errors.Is(err, ErrNotEnoughReplicas) {
		t.Fatalf("one of two in sync, acks=all: %v", err)
	}
	if err := p.Admits(false, 2); err != nil {
		t.Fatalf("acks=1 does not ask for the others: %v", err)
	}
	if err := p.Admits(true, 1); err != nil {
		t.Fatal(err)
	}
}

// The high watermark is the smallest log end in sync, and never falls (I6).
func TestPartitionHighWatermark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPartition(0, 0, 0)
		p.Become(State{Leader: 0, LeaderEpoch: 0, ISR: []int32{0, 1, 2}})
		ends := map[int32]int64{0: 0, 1: 0, 2: 0}
		last := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				ends[0] += rapid.Int64Range(0, 5).Draw(t, "records")
				p.Appended(ends[0])
			},
			"fetch": func(t *rapid.T) {
				id := rapid.Int32Range(1, 2).Draw(t, "follower")
				ends[id] = rapid.Int64Range(ends[id], ends[0]).Draw(t, "offset")
				p.Fetched(id, ends[id])
			},
			"": func(t *rapid.T) {
				want := max(last, min(ends[0], ends[1], ends[2]))
				if p.HighWatermark() != want {
					t.Fatalf("high watermark %d, want %d of %v", p.HighWatermark(), want, ends)
				}
				last = want
			},
		})
	})
}
