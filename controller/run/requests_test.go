package run

import (
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/zk/zktest"
)

// join starts one more broker on a server.
func join(t *testing.T, server *zktest.Server, id int32) *member {
	t.Helper()
	m := newMember()
	o := options(m, id, 25092+id)
	o.ZK.Wire = server.Wire
	if err := m.start(t, o); err != nil {
		t.Fatal(err)
	}
	return m
}

// asked writes a tool's request and waits until it was looked at.
func asked(t *testing.T, server *zktest.Server, path, request string) {
	t.Helper()
	gone := server.Await("delete /kafka" + path)
	w, err := server.Wire(nil, time.Second, func(zk.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Create("/kafka"+path, []byte(request), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody looked at " + path)
	}
}

func TestPreferredLeadersAskedForByATool(t *testing.T) {
	first, server := fake(t, nil)
	join(t, server, 1)
	first.until(t, "both brokers", func(img *meta.Image) bool { return len(img.Brokers) == 2 })
	mustCreate(t, first, CreateTopicSpec{Name: "a", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {0, 1}, 1: {0, 1}}})
	w := tool(t, server)
	for _, path := range []string{"/0/state", "/1/state"} {
		set(t, w, "/kafka/brokers/topics/a/partitions"+path, `{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":4,"isr":[0,1]}`)
	}
	data, _, err := w.Get("/kafka/brokers/topics/a")
	if err != nil {
		t.Fatal(err)
	}
	set(t, w, "/kafka/brokers/topics/a", string(data)) // so that the controller reads what is there
	first.until(t, "the other leader", func(img *meta.Image) bool { p := img.Partition("a", 0); return p.Leader == 1 && p.LeaderEpoch == 4 })
	asked(t, server, "/admin/preferred_replica_election", `{"version":1,"partitions":[{"topic":"a","partition":0},{"topic":"gone","partition":7},{"topic":"a","partition":9}]}`)
	img := first.until(t, "the preferred leader", func(img *meta.Image) bool { return img.Partition("a", 0).Leader == 0 })
	if p := img.Partition("a", 0); p.LeaderEpoch != 5 || !slices.Equal(p.ISR, []int32{0, 1}) {
		t.Errorf("%+v", p)
	}
	if p := img.Partition("a", 1); p.Leader != 1 {
		t.Errorf("a partition that nobody named: %+v", p)
	}
	asked(t, server, "/admin/preferred_replica_election", `nonsense`)
}

func TestReassignmentsAskedForByATool(t *testing.T) {
	m, server := fake(t, nil)
	join(t, server, 1)
	m.until(t, "both brokers", func(img *meta.Image) bool { return len(img.Brokers) == 2 })
	mustCreate(t, m, CreateTopicSpec{Name: "a", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {0}}})
	mustCreate(t, m, CreateTopicSpec{Name: "b", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {0, 1}}})
	asked(t, server, "/admin/reassign_partitions", `{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[0]},{"topic":"b","partition":0,"replicas":[1,0]},{"topic":"gone","partition":0,"replicas":[0]}]}`)
	img := m.until(t, "the new order", func(img *meta.Image) bool { return slices.Equal(img.Partition("b", 0).Replicas, []int32{1, 0}) })
	if p := img.Partition("a", 0); !slices.Equal(p.Replicas, []int32{0}) || p.Leader != 0 || p.LeaderEpoch != 0 {
		t.Errorf("what was so already: %+v", p)
	}
	for _, replicas := range []string{"[7]", "[]", "[0,0]", "[1]", "[-1]"} {
		asked(t, server, "/admin/reassign_partitions", `{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":`+replicas+`}]}`)
	}
	mustCreate(t, m, spec("c", 1)) // all requests before are carried out by now
	if p := m.Image().Partition("a", 0); !slices.Equal(p.Replicas, []int32{0}) || p.Leader != 0 {
		t.Errorf("refused requests changed %+v", p)
	}
}

func TestUncleanElectionAllowedWhileRunning(t *testing.T) {
	for _, cluster := range []bool{true, false} {
		first, server := fake(t, nil)
		second := join(t, server, 1)
		first.until(t, "both brokers", func(img *meta.Image) bool { return len(img.Brokers) == 2 })
		mustCreate(t, first, CreateTopicSpec{Name: "a", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {1, 0}}})
		first.stop(t)
		second.until(t, "one in sync", func(img *meta.Image) bool { p := img.Partition("a", 0); return p != nil && len(p.ISR) == 1 })
		second.stop(t)
		third := join(t, server, 0)
		if p := third.Image().Partition("a", 0); p.Leader != meta.NoLeader {
			t.Fatalf("a broker that was not in sync leads: %+v", p)
		}
		var id *int32
		if !cluster {
			id = new(int32)
		}
		if err := third.AlterBrokerConfig(t.Context(), id, map[string]string{"unclean.leader.election.enable": "true"}); err != nil {
			t.Fatal(err)
		}
		if p := third.Image().Partition("a", 0); p.Leader != 0 || !slices.Equal(p.ISR, []int32{0}) || !p.Recovering {
			t.Fatalf("unclean election is allowed: %+v", p)
		}
		third.stop(t)
	}
}
