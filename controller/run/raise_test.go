package run

import (
	"strings"
	"testing"
)

// Only the partitions that were named get the next epoch, in the znode and in the image, and a change that follows starts from there.
func TestRaiseLeaderEpochs(t *testing.T) {
	m, server := fake(t, nil)
	mustCreate(t, m, spec("a", 3))
	mustCreate(t, m, spec("b", 1))
	for range 2 {
		if err := m.RaiseLeaderEpochs(t.Context(), map[string][]int32{"a": {1, 7}, "gone": {0}}); err != nil {
			t.Fatal(err)
		}
	}
	img := m.Image()
	for i, epoch := range []int32{0, 2, 0} {
		if got := img.Topic("a").Partitions[i].LeaderEpoch; got != epoch {
			t.Errorf("a-%d has epoch %d, want %d", i, got, epoch)
		}
	}
	if got := img.Topic("b").Partitions[0].LeaderEpoch; got != 0 {
		t.Errorf("b-0 has epoch %d", got)
	}
	found := false
	for path, node := range server.Dump("/kafka") {
		if strings.HasSuffix(path, "/brokers/topics/a/partitions/1/state") {
			found = strings.Contains(string(node.Data), `"leader_epoch":2`)
		}
	}
	if !found {
		t.Error("the znode does not carry the epoch")
	}
}
