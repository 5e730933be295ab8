package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pelton-broker/pelton/controller/meta"
)

func alive(ids ...int32) func(int32) bool {
	return func(id int32) bool { return slices.Contains(ids, id) }
}

func TestInitial(t *testing.T) {
	s, ok := Initial([]int32{2, 3, 1}, alive(1, 3))
	if !ok || s.Leader != 3 || !slices.Equal(s.ISR, []int32{3, 1}) || s.LeaderEpoch != 0 {
		t.Fatalf("%+v %v", s, ok)
	}
	if _, ok := Initial([]int32{2}, alive(1)); ok {
		t.Fatal("a leader without a live replica")
	}
}

func TestSettle(t *testing.T) {
	part := func(leader int32, replicas, isr []int32) *meta.Partition {
		return &meta.Partition{Leader: leader, LeaderEpoch: 5, Replicas: replicas, ISR: isr}
	}
	for _, c := range []struct {
		name    string
		p       *meta.Partition
		live    []int32
		unclean bool
		want    State
		changed bool
	}{
		{"all-alive", part(1, []int32{1, 2}, []int32{1, 2}), []int32{1, 2}, false, State{1, 5, []int32{1, 2}, false}, false},
		{"lone-leader-back", part(1, []int32{1}, []int32{1}), []int32{1}, false, State{1, 5, []int32{1}, false}, false},
		{"leader-dead", part(1, []int32{1, 2, 3}, []int32{3, 1, 2}), []int32{2, 3}, false, State{2, 6, []int32{3, 2}, false}, true},
		{"follower-dead", part(1, []int32{1, 2, 3}, []int32{1, 2, 3}), []int32{1, 3}, false, State{1, 6, []int32{1, 3}, false}, true},
		{"dead-outside-the-isr", part(1, []int32{1, 2, 3}, []int32{1, 2}), []int32{1, 2}, false, State{1, 5, []int32{1, 2}, false}, false},
		{"last-member-dead", part(2, []int32{1, 2}, []int32{2}), []int32{1}, false, State{-1, 6, []int32{2}, false}, true},
		{"all-dead-leader-stays-in-isr", part(2, []int32{1, 2}, []int32{1, 2}), nil, false, State{-1, 6, []int32{2}, false}, true},
		{"still-leaderless", part(-1, []int32{1, 2}, []int32{2}), []int32{1}, false, State{-1, 5, []int32{2}, false}, false},
		{"last-member-back", part(-1, []int32{1, 2}, []int32{2}), []int32{1, 2}, false, State{2, 6, []int32{2}, false}, true},
		{"unclean", part(-1, []int32{1, 2}, []int32{2}), []int32{1}, true, State{1, 6, []int32{1}, true}, true},
		{"unclean-allowed-but-not-needed", part(1, []int32{1, 2}, []int32{1, 2}), []int32{2}, true, State{2, 6, []int32{2}, false}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, changed := Settle(c.p, alive(c.live...), c.unclean)
			if changed != c.changed || got.Leader != c.want.Leader || got.LeaderEpoch != c.want.LeaderEpoch ||
				!slices.Equal(got.ISR, c.want.ISR) || got.Recovering != c.want.Recovering {
				t.Fatalf("got %+v %v", got, changed)
			}
		})
	}
}

// Whatever dies: without unclean election the ISR only shrinks and never to nothing, a leader is alive and in it, and
// what has settled stays.
func TestSettleNeverLosesTheISR(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &meta.Partition{LeaderEpoch: 3}
		for id := range int32(5) {
			p.Replicas = append(p.Replicas, id)
			if rapid.Bool().Draw(t, "in sync") {
				p.ISR = append(p.ISR, id)
			}
		}
		if len(p.ISR) == 0 {
			p.ISR = []int32{rapid.Int32Range(0, 4).Draw(t, "last")}
		}
		p.Leader = rapid.SampledFrom(append([]int32{-1}, p.ISR...)).Draw(t, "leader")
		lives := rapid.SliceOfNDistinct(rapid.Int32Range(0, 4), 0, 5, rapid.ID).Draw(t, "live")
		live := alive(lives...)
		s, changed := Settle(p, live, false)
		if len(s.ISR) == 0 || slices.ContainsFunc(s.ISR, func(id int32) bool { return !slices.Contains(p.ISR, id) }) {
			t.Fatalf("ISR %v of %v", s.ISR, p.ISR)
		}
		if s.Leader != meta.NoLeader && (!live(s.Leader) || !slices.Contains(s.ISR, s.Leader)) {
			t.Fatalf("leader %d, ISR %v, live %v", s.Leader, s.ISR, lives)
		}
		if s.Leader == meta.NoLeader && slices.ContainsFunc(p.ISR, live) {
			t.Fatalf("no leader though %v of %v live", lives, p.ISR)
		}
		if changed != (s.LeaderEpoch == 4) {
			t.Fatalf("changed %v with epoch %d", changed, s.LeaderEpoch)
		}
		next := &meta.Partition{Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, ISR: s.ISR, Replicas: p.Replicas}
		if again, changed := Settle(next, live, false); changed {
			t.Fatalf("not settled: %+v after %+v", again, s)
		}
	})
}

func TestDeletion(t *testing.T) {
	topic := &meta.Topic{Partitions: []*meta.Partition{{Replicas: []int32{1, 2}}, {Replicas: []int32{2}}}}
	all := func(live func(int32) bool) func(int32) func(int32) bool {
		return func(int32) func(int32) bool { return live }
	}
	second := func(partition int32) func(int32) bool { return alive([]int32{2, 1}[:1+1-partition]...) } // broker 1 cannot serve partition 1
	if !Deletable(topic, all(alive(1, 2))) || Deletable(topic, all(alive(2))) || !Deletable(topic, second) {
		t.Fatal("a deletion needs every replica alive")
	}
	want := []Removal{
		{RemoveState, 0}, {RemovePartition, 0}, {RemoveState, 1}, {RemovePartition, 1},
		{RemovePartitions, 0}, {RemoveTopic, 0}, {RemoveConfig, 0}, {RemoveRequest, 0},
	}
	if got := Deletion(2); !slices.Equal(got, want) {
		t.Fatalf("%v", got)
	}
}

func TestPreferredLeadsOnlyWhenItMay(t *testing.T) {
	for name, c := range map[string]struct {
		leader  int32
		isr     []int32
		alive   []int32
		changed bool
	}{
		"it may":         {2, []int32{1, 2}, []int32{1, 2}, true},
		"it leads":       {1, []int32{1, 2}, []int32{1, 2}, false},
		"it is dead":     {2, []int32{1, 2}, []int32{2}, false},
		"it lags behind": {2, []int32{2}, []int32{1, 2}, false},
	} {
		p := &meta.Partition{Replicas: []int32{1, 2}, Leader: c.leader, LeaderEpoch: 3, ISR: c.isr}
		s, changed := Preferred(p, func(id int32) bool { return slices.Contains(c.alive, id) })
		if changed != c.changed || changed && (s.Leader != 1 || s.LeaderEpoch != 4 || !slices.Equal(s.ISR, c.isr)) {
			t.Errorf("%s: %+v %v", name, s, changed)
		}
	}
}
