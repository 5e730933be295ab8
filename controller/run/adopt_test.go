package run

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/controller/meta"
)

// An adoption of more partitions than fit into one step may fail or be killed before any of its steps. Nobody sees the topic then, no partition
// of it is begun at an epoch that its log has passed, and the next adoption registers all of it.
func TestAdoptionOfManyPartitionsIsInterrupted(t *testing.T) {
	const partitions = 2*statesAtOnce + 300
	adopted := AdoptTopicSpec{Name: "big", ID: meta.ID{1, 2, 3}, Epochs: make([]int32, partitions), Config: map[string]string{"retention.ms": "-1"}}
	for i := range adopted.Epochs {
		adopted.Epochs[i] = int32(7 + i%5)
	}
	for _, failing := range []int{0, statesAtOnce, 2*statesAtOnce + 1} {
		t.Run(fmt.Sprint("at ", failing), func(t *testing.T) {
			m, server := fake(t, nil)
			server.Refuse(fmt.Sprintf("/big/partitions/%d/state", failing), zk.ErrAPIError)
			if err := m.AdoptTopics(t.Context(), []AdoptTopicSpec{adopted}); err == nil {
				t.Fatal("it did not fail")
			}
			if m.Image().Topic("big") != nil {
				t.Error("the topic is shown")
			}
			m.stop(t)
			again := newMember()
			o := options(again, 0, 25092)
			o.ZK.Wire = server.Wire
			if err := again.start(t, o); err != nil {
				t.Fatal(err)
			}
			if again.Image().Topic("big") != nil {
				t.Error("the topic is shown after a start")
			}
			for path, e := range server.Dump("/kafka") {
				var p int
				if n, _ := fmt.Sscanf(path, "/brokers/topics/big/partitions/%d/state", &p); n == 1 && strings.HasSuffix(path, "/state") {
					var state meta.Partition
					if err := decodeState(path, []byte(e.Data), &state); err != nil || state.LeaderEpoch != adopted.Epochs[p] {
						t.Fatalf("%s: epoch %d, %v", path, state.LeaderEpoch, err)
					}
				}
			}
			if err := again.AdoptTopics(t.Context(), []AdoptTopicSpec{adopted}); err != nil {
				t.Fatal(err)
			}
			topic := again.Image().Topic("big")
			if topic == nil || len(topic.Partitions) != partitions || topic.ID != adopted.ID || topic.Config["retention.ms"] != "-1" {
				t.Fatalf("%+v", topic)
			}
			for i, p := range topic.Partitions {
				if p.LeaderEpoch != adopted.Epochs[i] || p.Leader != 0 {
					t.Fatalf("partition %d: leader %d, epoch %d, want %d", i, p.Leader, p.LeaderEpoch, adopted.Epochs[i])
				}
			}
		})
	}
}
