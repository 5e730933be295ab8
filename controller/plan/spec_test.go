package plan

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/controller/meta"
)

func cluster(brokers int32, topics ...*meta.Topic) *meta.Image {
	b := meta.NewBuilder(nil)
	live := map[int32]*meta.Broker{}
	for id := range brokers {
		live[id+1] = &meta.Broker{ID: id + 1}
	}
	b.SetBrokers(live)
	for _, t := range topics {
		b.SetTopic(t)
	}
	return b.Build()
}

func TestCreateChecks(t *testing.T) {
	img := cluster(3, &meta.Topic{Name: "a_b"}, &meta.Topic{Name: "plain"})
	ok := func(name string) Spec { return Spec{Name: name, Partitions: 1, ReplicationFactor: 1} }
	by := func(a map[int32][]int32) Spec {
		return Spec{Name: "m", Partitions: -1, ReplicationFactor: -1, Assignment: a}
	}
	for _, c := range []struct {
		name string
		spec Spec
		want error
	}{
		{"fine", ok("x"), nil},
		{"249-letters", ok(strings.Repeat("x", 249)), nil},
		{"250-letters", ok(strings.Repeat("x", 250)), ErrInvalidTopicName},
		{"empty", ok(""), ErrInvalidTopicName},
		{"dot", ok("."), ErrInvalidTopicName},
		{"dots", ok(".."), ErrInvalidTopicName},
		{"three-dots", ok("..."), nil},
		{"space", ok("a b"), ErrInvalidTopicName},
		{"slash", ok("a/b"), ErrInvalidTopicName},
		{"umlaut", ok("ä"), ErrInvalidTopicName},
		{"nul", ok("a\x00"), ErrInvalidTopicName},
		{"collides", ok("a.b"), ErrInvalidTopicName},
		{"same-letters-no-dots", ok("plaid"), nil},
		{"exists", ok("plain"), ErrTopicExists},
		{"leaving", ok("leaving"), ErrTopicExists},
		{"exists-comes-first", Spec{Name: "plain"}, ErrTopicExists},
		{"counts-come-before-names", Spec{Name: ".", Partitions: 0, ReplicationFactor: 1}, ErrInvalidPartitions},
		{"partitions-0", Spec{Name: "x", Partitions: 0, ReplicationFactor: 1}, ErrInvalidPartitions},
		{"partitions-minus-2", Spec{Name: "x", Partitions: -2, ReplicationFactor: 1}, ErrInvalidPartitions},
		{"factor-0", Spec{Name: "x", Partitions: 1}, ErrInvalidReplicationFactor},
		{"factor-3", Spec{Name: "x", Partitions: 1, ReplicationFactor: 3}, nil},
		{"factor-2-even", Spec{Name: "x", Partitions: 1, ReplicationFactor: 2}, nil},
		{"factor-5", Spec{Name: "x", Partitions: 1, ReplicationFactor: 5}, ErrInvalidReplicationFactor},
		{"defaults", Spec{Name: "x", Partitions: -1, ReplicationFactor: -1}, nil},
		{"manual", by(map[int32][]int32{0: {1, 2}, 1: {3, 1}}), nil},
		{"manual-with-count", Spec{Name: "x", Partitions: 1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {1}}}, ErrInvalidRequest},
		{"manual-gap", by(map[int32][]int32{0: {1}, 2: {1}}), ErrInvalidReplicaAssignment},
		{"manual-from-1", by(map[int32][]int32{1: {1}}), ErrInvalidReplicaAssignment},
		{"manual-negative", by(map[int32][]int32{-1: {1}, 0: {1}}), ErrInvalidReplicaAssignment},
		{"manual-twice", by(map[int32][]int32{0: {1, 1}}), ErrInvalidReplicaAssignment},
		{"manual-unequal", by(map[int32][]int32{0: {1, 2}, 1: {1}}), ErrInvalidReplicaAssignment},
		{"manual-empty", by(map[int32][]int32{0: {}}), ErrInvalidReplicaAssignment},
		{"manual-unknown", by(map[int32][]int32{0: {1, 9}}), ErrInvalidReplicaAssignment},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Create(c.spec, Settings{Partitions: 4, ReplicationFactor: 2}, img, func(n string) bool { return n == "leaving" })
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err != nil {
				var refusal *Error
				if !errors.As(err, &refusal) || refusal.Msg == "" {
					t.Fatalf("%v has no sentence for the user", err)
				}
				return
			}
			if c.name == "defaults" && (len(got) != 4 || len(got[0]) != 2) {
				t.Fatalf("defaults gave %v", got)
			}
			if c.name == "manual" && (!slices.Equal(got[0], []int32{1, 2}) || !slices.Equal(got[1], []int32{3, 1})) {
				t.Fatalf("manual gave %v", got)
			}
		})
	}
}

func TestGrowContinuesThePlacement(t *testing.T) {
	placed, err := Place(Placement{Partitions: 7, ReplicationFactor: 2, Start: 1, Shift: 1}, Candidates(cluster(3)))
	if err != nil {
		t.Fatal(err)
	}
	topic := &meta.Topic{Name: "a"}
	for i, r := range placed[:4] {
		topic.Partitions = append(topic.Partitions, &meta.Partition{Index: int32(i), Replicas: r})
	}
	added, err := Grow("a", 7, nil, Settings{}, cluster(3, topic))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range added {
		if r[0] != placed[4+i][0] {
			t.Errorf("partition %d leads on %d, going on would be %d", 4+i, r[0], placed[4+i][0])
		}
	}
	for _, c := range []struct {
		name   string
		topic  string
		count  int32
		manual [][]int32
		want   error
	}{
		{"unknown", "b", 9, nil, ErrUnknownTopic},
		{"fewer", "a", 3, nil, ErrInvalidPartitions},
		{"equal", "a", 4, nil, ErrInvalidPartitions},
		{"manual", "a", 5, [][]int32{{3, 1}}, nil},
		{"manual-short", "a", 6, [][]int32{{3, 1}}, ErrInvalidReplicaAssignment},
		{"manual-other-factor", "a", 5, [][]int32{{3}}, ErrInvalidReplicaAssignment},
		{"manual-unknown-broker", "a", 5, [][]int32{{3, 8}}, ErrInvalidReplicaAssignment},
	} {
		if _, err := Grow(c.topic, c.count, c.manual, Settings{}, cluster(3, topic)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	moving := *topic
	moving.Partitions = append(slices.Clone(topic.Partitions), &meta.Partition{Index: 4, Replicas: []int32{1, 2}, Adding: []int32{2}})
	if _, err := Grow("a", 9, nil, Settings{}, cluster(3, &moving)); !errors.Is(err, ErrReassignmentInProgress) {
		t.Errorf("while reassigning: %v", err)
	}
	moving.Deleting = true
	if _, err := Grow("a", 9, nil, Settings{}, cluster(3, &moving)); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("while deleting: %v", err)
	}
}

// C-41: what the request does not name stays; append and subtract start from the default.
func TestMergeConfig(t *testing.T) {
	set := map[string]string{"cleanup.policy": "compact", "retention.ms": "5"}
	list := func(name string) bool { return name == "cleanup.policy" }
	fallback := func(string) string { return "delete" }
	for _, c := range []struct {
		name string
		set  map[string]string
		ops  []ConfigOp
		want map[string]string
		err  error
	}{
		{"set", set, []ConfigOp{{"retention.ms", ConfigSet, "6"}}, map[string]string{"cleanup.policy": "compact", "retention.ms": "6"}, nil},
		{"set-to-the-default", set, []ConfigOp{{"cleanup.policy", ConfigSet, "delete"}}, map[string]string{"cleanup.policy": "delete", "retention.ms": "5"}, nil},
		{"delete", set, []ConfigOp{{"cleanup.policy", ConfigDelete, ""}}, map[string]string{"retention.ms": "5"}, nil},
		{"delete-what-is-not-set", set, []ConfigOp{{"x", ConfigDelete, ""}}, set, nil},
		{"append", set, []ConfigOp{{"cleanup.policy", ConfigAppend, "delete"}}, map[string]string{"cleanup.policy": "compact,delete", "retention.ms": "5"}, nil},
		{"append-what-is-there", set, []ConfigOp{{"cleanup.policy", ConfigAppend, "compact"}}, set, nil},
		{"append-to-the-default", nil, []ConfigOp{{"cleanup.policy", ConfigAppend, "compact"}}, map[string]string{"cleanup.policy": "delete,compact"}, nil},
		{"subtract", nil, []ConfigOp{{"cleanup.policy", ConfigSubtract, "delete"}}, map[string]string{"cleanup.policy": ""}, nil},
		{"append-to-no-list", set, []ConfigOp{{"retention.ms", ConfigAppend, "1"}}, nil, ErrInvalidConfig},
		{"twice", set, []ConfigOp{{"x", ConfigSet, "1"}, {"x", ConfigDelete, ""}}, nil, ErrInvalidRequest},
		{"unknown-kind", set, []ConfigOp{{"x", 7, "1"}}, nil, ErrInvalidRequest},
	} {
		got, err := MergeConfig(c.set, c.ops, list, fallback)
		if !errors.Is(err, c.err) || c.err == nil && !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
	if set["cleanup.policy"] != "compact" || set["retention.ms"] != "5" {
		t.Fatal("the given set was written to")
	}
}
