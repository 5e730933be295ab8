package run

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/zk/zktest"
)

func TestSessionLostAndRegisteredAnew(t *testing.T) {
	m, server := fake(t, nil)
	mustCreate(t, m, spec("a", 1))
	epoch, term := m.BrokerEpoch(), m.Image().ControllerEpoch
	server.Expire(server.Sessions()[0])
	img := m.until(t, "the next term", func(img *meta.Image) bool { return img.ControllerEpoch == term+1 && img.Brokers[0] != nil })
	if m.BrokerEpoch() <= epoch || img.Brokers[0].Epoch != m.BrokerEpoch() {
		t.Fatalf("broker epoch %d after %d", m.BrokerEpoch(), epoch)
	}
	if m.lost != 1 {
		t.Fatalf("OnSessionLost was called %d times", m.lost)
	}
	m.mu.Lock()
	fenced := slices.IndexFunc(m.imgs, func(img *meta.Image) bool { return img.Topic("a") != nil && !led(img, "a", 1) })
	back := slices.Index(m.imgs, img)
	m.mu.Unlock()
	if fenced < 0 || fenced >= back || m.imgs[fenced].ControllerEpoch != term {
		t.Fatalf("between two sessions it leads: images %d and %d", fenced, back)
	}
	// As measured on Kafka 3.9.1: a lone broker that comes back leads its partitions as before.
	if p := img.Partition("a", 0); p.Leader != 0 || p.LeaderEpoch != 0 {
		t.Fatalf("%+v", p)
	}
	mustCreate(t, m, spec("b", 1))
}

func TestCommandsSurviveLostConnections(t *testing.T) {
	for _, applied := range []bool{false, true} {
		m, server := fake(t, nil)
		for _, match := range []string{"create /kafka/config/topics/a", "create /kafka/brokers/topics/a", "/partitions", "/0/state"} {
			server.Lose(match, applied)
		}
		mustCreate(t, m, spec("a", 2))
		if !led(m.Image(), "a", 2) {
			t.Fatalf("applied=%v: %+v", applied, m.Image().Topic("a"))
		}
		server.Lose("set /kafka/latest_producer_id_block", applied)
		for _, want := range []int64{0, 1000} {
			if start, _, err := m.AllocateProducerIDs(t.Context()); err != nil || start != want {
				t.Fatalf("applied=%v: block %d, %v", applied, start, err)
			}
		}
		server.Lose("delete /kafka/brokers/topics/a", applied)
		if err := m.DeleteTopic(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStartSurvivesLostConnections(t *testing.T) {
	for _, match := range []string{"create /kafka/cluster/id", "multi create /kafka/brokers/ids/0", "multi create /kafka/controller", "create /kafka/feature"} {
		for _, applied := range []bool{false, true} {
			m, server := fake(t, nil)
			m.stop(t)
			fresh := newMember()
			o := options(fresh, 0, 1)
			o.ZK.Wire, o.ZK.Connect = server.Wire, "fake/other"
			server.Lose(strings.ReplaceAll(match, "/kafka", "/other"), applied)
			if err := fresh.start(t, o); err != nil {
				t.Fatalf("%s applied=%v: %v", match, applied, err)
			}
			if img := fresh.Image(); img.ControllerID != 0 || img.ControllerEpoch != 1 || img.Brokers[0] == nil {
				t.Fatalf("%s applied=%v: %+v", match, applied, img)
			}
		}
	}
}

func TestFencedControllerStepsDown(t *testing.T) {
	m, server := fake(t, nil)
	// Another broker takes office while our session lives: its epoch fences our writes.
	w := tool(t, server)
	if _, err := w.Set("/kafka/controller_epoch", []byte("7"), -1); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete("/kafka/controller", -1); err != nil {
		t.Fatal(err)
	}
	m.until(t, "a later term", func(img *meta.Image) bool { return img.ControllerEpoch == 8 })
	if _, err := w.Set("/kafka/controller_epoch", []byte("20"), -1); err != nil {
		t.Fatal(err)
	}
	if _, err := m.CreateTopic(t.Context(), spec("a", 1)); err == nil {
		t.Fatal("a fenced controller wrote")
	} else if !errors.Is(err, ErrNotController) {
		t.Fatal(err)
	}
}

func TestAnotherControllerIsFollowedUntilItGoes(t *testing.T) {
	m, server := fake(t, nil)
	second := newMember()
	o := options(second, 1, 25093)
	o.ZK.Wire = server.Wire
	if err := second.start(t, o); err != nil {
		t.Fatal(err)
	}
	if img := second.Image(); img.ControllerID != 0 || len(img.Brokers) != 2 {
		t.Fatalf("%+v", img)
	}
	if _, err := second.CreateTopic(t.Context(), spec("x", 1)); !errors.Is(err, ErrNotController) {
		t.Fatal(err)
	}
	m.until(t, "two brokers", func(img *meta.Image) bool { return len(img.Brokers) == 2 })
	mustCreate(t, m, CreateTopicSpec{Name: "a", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {0, 1}, 1: {1, 0}}})
	mustCreate(t, m, CreateTopicSpec{Name: "s", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {0}}})
	m.stop(t)
	img := second.until(t, "office and new leaders", func(img *meta.Image) bool {
		p := img.Partition("a", 0)
		return img.ControllerID == 1 && p != nil && p.Leader == 1
	})
	for i, want := range []meta.Partition{
		{Leader: 1, LeaderEpoch: 1, ISR: []int32{1}}, {Leader: 1, LeaderEpoch: 1, ISR: []int32{1}}, {Leader: -1, LeaderEpoch: 1, ISR: []int32{0}},
	} {
		p := []*meta.Partition{img.Partition("a", 0), img.Partition("a", 1), img.Partition("s", 0)}[i]
		if p.Leader != want.Leader || p.LeaderEpoch != want.LeaderEpoch || len(p.ISR) != 1 || p.ISR[0] != want.ISR[0] || len(p.Offline) != 1 {
			t.Errorf("partition %d: %+v", i, p)
		}
	}
	// A topic with a replica on the broker that is away is marked, not removed.
	if err := second.DeleteTopic(t.Context(), "a"); err != nil || second.Image().Topic("a") == nil || !second.Image().Topic("a").Deleting {
		t.Fatalf("%v %+v", err, second.Image().Topic("a"))
	}
	if _, err := second.CreateTopic(t.Context(), spec("a", 1)); !errors.Is(err, ErrTopicExists) {
		t.Fatal(err)
	}
	back := newMember()
	o = options(back, 0, 25092)
	o.ZK.Wire = server.Wire
	if err := back.start(t, o); err != nil {
		t.Fatal(err)
	}
	second.until(t, "the deletion's end", func(img *meta.Image) bool { return img.Topic("a") == nil })
}

func TestRegistrationOfOurDeadPredecessor(t *testing.T) {
	predecessor := func(t *testing.T) (server *zktest.Server, session int64, again *member, o Options) {
		_, server = fake(t, nil)
		session = server.Sessions()[0]
		server.Crash(session)
		again = newMember()
		o = options(again, 0, 25092)
		o.ZK.Wire = server.Wire
		return server, session, again, o
	}
	t.Run("known-session-is-evicted-at-once", func(t *testing.T) {
		_, session, again, o := predecessor(t)
		o.PreviousSession = session
		if err := again.start(t, o); err != nil || again.Image().ControllerEpoch != 2 {
			t.Fatalf("%v", err)
		}
	})
	t.Run("same-endpoints-are-waited-for", func(t *testing.T) {
		server, session, again, o := predecessor(t)
		buried, refused := make(chan struct{}), server.Await("set /kafka/brokers/ids/0 -> ")
		go func() {
			defer close(buried)
			<-refused
			server.Bury(session)
		}()
		err := again.start(t, o)
		<-buried
		if err != nil || again.Image().ControllerEpoch != 2 {
			t.Fatalf("%v", err)
		}
	})
	t.Run("a-live-broker-elsewhere-is-refused", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		_, server := fake(t, func(o *Options) { o.Endpoints[0].Port = int32(listener.Addr().(*net.TCPAddr).Port) })
		again := newMember()
		o := options(again, 0, 25999)
		o.ZK.Wire = server.Wire
		err = again.start(t, o)
		if !errors.Is(err, ErrBrokerIDTaken) || !strings.Contains(err.Error(), "broker.id=0") {
			t.Fatal(err)
		}
	})
}

func TestGeneratedBrokerIDs(t *testing.T) {
	_, server := fake(t, nil)
	for want := int32(1001); want < 1004; want++ {
		m := newMember()
		o := options(m, -1, want)
		o.GenerateID, o.ZK.Wire = true, server.Wire
		if err := m.start(t, o); err != nil || m.BrokerID() != want {
			t.Fatalf("id %d, %v", m.BrokerID(), err)
		}
	}
	m := newMember()
	o := options(m, -1, 1)
	o.ZK.Wire = server.Wire
	if err := m.start(t, o); err == nil {
		t.Fatal("broker.id=-1 without generation was taken")
	}
	o.BrokerID, o.ClusterID = 5, "AAAAAAAAAAAAAAAAAAAAAA"
	if err := m.start(t, o); !errors.Is(err, ErrClusterIDMismatch) {
		t.Fatal(err)
	}
}

func TestCloseRemovesTheRegistration(t *testing.T) {
	m, server := fake(t, nil)
	m.stop(t)
	for path, n := range server.Dump("/kafka") {
		if n.Ephemeral {
			t.Errorf("left: %s", path)
		}
	}
	if _, err := m.CreateTopic(t.Context(), spec("a", 1)); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

func TestRegistrationRemovedByHandComesBack(t *testing.T) {
	m, server := fake(t, nil)
	epoch := m.BrokerEpoch()
	if err := tool(t, server).Delete("/kafka/brokers/ids/0", -1); err != nil {
		t.Fatal(err)
	}
	m.until(t, "a new registration", func(img *meta.Image) bool { return img.Brokers[0] != nil && img.Brokers[0].Epoch > epoch })
}

func TestCallerThatStopsWaiting(t *testing.T) {
	m, server := fake(t, nil)
	release := server.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := m.CreateTopic(ctx, spec("a", 1)); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	release()
	mustCreate(t, m, spec("b", 1))
}

func TestBadZnodesDoNotStopTheBroker(t *testing.T) {
	m, server := fake(t, nil)
	w := tool(t, server)
	put(t, w, "/config/topics/bad", `{"version":1,"conf`)
	put(t, w, "/brokers/topics/bad", `{"partitions":{"0":[0]}}`)
	put(t, w, "/brokers/topics/worse", `[1`)
	put(t, w, "/brokers/topics/gap", `{"partitions":{"5":[0]}}`)
	put(t, w, "/config/changes/config_change_0000000007", `nonsense`)
	put(t, w, "/brokers/ids/x", `{}`)
	put(t, w, "/brokers/ids/9", `{`)
	m.until(t, "the topic whose config alone is bad", func(img *meta.Image) bool { return led(img, "bad", 1) })
	mustCreate(t, m, spec("good", 1))
	if img := m.Image(); img.Topic("worse") != nil || img.Topic("gap") != nil || len(img.Brokers) != 1 {
		t.Fatalf("%v", img.TopicNames)
	}
}

func TestACLsWhenAskedFor(t *testing.T) {
	_, server := fake(t, func(o *Options) { o.ZK.SetACL, o.ZK.DigestUser, o.ZK.DigestPassword = true, "kafka", "secret" })
	dump := server.Dump("/kafka")
	for path, want := range map[string]int{"/consumers": 1, "/brokers/topics": 2, "/config/users": 1, "/controller": 2} {
		acl := dump[path].ACL
		if len(acl) != want || (path == "/consumers") != (acl[0].Scheme == "world") {
			t.Errorf("%s: %+v", path, acl)
		}
	}
	if acl := dump["/brokers/topics"].ACL; acl[0] != (zk.ACL{Perms: zk.PermAll, Scheme: "auth"}) || acl[1] != (zk.ACL{Perms: zk.PermRead, Scheme: "world", ID: "anyone"}) {
		t.Errorf("%+v", acl)
	}
}
