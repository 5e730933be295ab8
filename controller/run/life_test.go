package run

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/zk/server"
)

// TestOnARealZooKeeper needs PELTON_TEST_ZOOKEEPER=host:port. Everything happens below a chroot of its own, so the
// server may be any.
func TestOnARealZooKeeper(t *testing.T) {
	address := os.Getenv("PELTON_TEST_ZOOKEEPER")
	if address == "" {
		t.Skip("PELTON_TEST_ZOOKEEPER is not set to the host:port of a ZooKeeper")
	}
	chroot := fmt.Sprintf("%s/pelton-test/run-%d", address, time.Now().UnixNano())
	live(t, chroot)
}

func TestOnOurOwnZooKeeper(t *testing.T) {
	s, err := server.Start(server.Options{DataDir: t.TempDir(), ClientAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	live(t, s.Addr().String()+"/kafka")
}

// live is a broker's life on whatever speaks ZooKeeper at connect.
func live(t *testing.T, connect string) {
	t.Helper()
	m := newMember()
	o := options(m, 0, 25192)
	o.ZK.Wire, o.ZK.Connect, o.ZK.SessionTimeout = nil, connect, 10*time.Second
	if err := m.start(t, o); err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, m, CreateTopicSpec{Name: "a", Partitions: 20, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "5"}}).ID
	mustCreate(t, m, spec("gone", 3))
	if err := m.CreatePartitions(t.Context(), "a", 22, nil, false); err != nil {
		t.Fatal(err)
	}
	if err := m.AlterTopicConfig(t.Context(), "a", map[string]string{"retention.ms": "6"}); err != nil {
		t.Fatal(err)
	}
	if err := m.DeleteTopic(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	if start, _, err := m.AllocateProducerIDs(t.Context()); err != nil || start != 0 {
		t.Fatal(start, err)
	}
	epoch := m.BrokerEpoch()
	m.stop(t)

	again := newMember()
	o.Publish = options(again, 0, 0).Publish
	if err := again.start(t, o); err != nil {
		t.Fatal(err)
	}
	img := again.Image()
	if !led(img, "a", 22) || img.Topic("a").ID != id || img.Topic("a").Config["retention.ms"] != "6" || len(img.TopicNames) != 1 {
		t.Fatalf("after a restart: %v %+v", img.TopicNames, img.Topic("a"))
	}
	if img.ControllerEpoch != 2 || again.BrokerEpoch() <= epoch {
		t.Fatalf("controller epoch %d, broker epoch %d after %d", img.ControllerEpoch, again.BrokerEpoch(), epoch)
	}
	if start, _, err := again.AllocateProducerIDs(t.Context()); err != nil || start != 1000 {
		t.Fatal(start, err)
	}
	w := tap(t, o.ZK.Connect)
	if err := w.Ensure(t.Context(), "/brokers/topics/by-hand", []byte(`{"version":1,"partitions":{"0":[0]}}`)); err != nil {
		t.Fatal(err)
	}
	again.until(t, "the topic made by hand", func(img *meta.Image) bool { return led(img, "by-hand", 1) })
}
