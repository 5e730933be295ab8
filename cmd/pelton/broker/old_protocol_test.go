package broker_test

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pelton-broker/pelton/internal/tools/expected"
)

// Before 2.8 topics have no ids: partitions of one number are told apart by their topics' names.
func TestTopicsWithoutIDs(t *testing.T) {
	n := own(t, "inter.broker.protocol.version=2.2")
	c := n.dial(t)
	one, two := unique(t)+"-one", unique(t)+"-two"
	makeTopic(t, c, one, 1)
	makeTopic(t, c, two, 1)
	admin := kadm.NewClient((&goldenBroker{node: n}).client(t))
	commits := kadm.Offsets{}
	commits.AddOffset(one, 0, 1, -1)
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	if err := admin.CommitAllOffsets(ctx, unique(t), commits); err != nil { // fails in a version that names topics by id alone
		t.Error(err)
	}
	for round := range 2 {
		g := &goldenBroker{node: n, want: expected.View{Topics: map[string]expected.Topic{one: {}, two: {}}}}
		g.produce(t, 2)
		for _, name := range []string{one, two} {
			if got := g.records(t, name, int64(2*round+2), kgo.FetchMaxBytes(1<<20)); len(got) != 2*round+2 {
				t.Errorf("%s: %d records", name, len(got))
			}
		}
		n.restart(t)
	}
}
