package run

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/zk/client"
	"github.com/pelton-broker/pelton/zk/zktest"
)

// tool is another client of the same ZooKeeper, as the tools of old are.
func tool(t *testing.T, server *zktest.Server) client.Wire {
	t.Helper()
	w, err := server.Wire(nil, 0, func(zk.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func put(t *testing.T, w client.Wire, path, data string) {
	t.Helper()
	if _, err := w.Create("/kafka"+path, []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestCreateTopicReturnsAfterItsImageWasPublished(t *testing.T) {
	m, _ := fake(t, nil)
	made := mustCreate(t, m, CreateTopicSpec{Name: "a", Partitions: 3, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "5"}})
	m.mu.Lock()
	img := m.imgs[len(m.imgs)-1]
	m.mu.Unlock()
	if !led(img, "a", 3) || img.Topic("a").ID != made.ID || made.ID.IsZero() || img.Topic("a").Config["retention.ms"] != "5" {
		t.Fatalf("published %+v", img.Topic("a"))
	}
	if img != m.Image() || img.ByID[made.ID] != img.Topic("a") {
		t.Fatal("Image() is not what was published")
	}
	for i, got := range m.imgs {
		if got.Version != uint64(i+1) {
			t.Fatalf("image %d has version %d", i, got.Version)
		}
	}
}

func TestCreateTopicRefusals(t *testing.T) {
	m, server := fake(t, func(o *Options) {
		o.DefaultPartitions, o.DefaultReplicationFactor = 4, 1
		o.CheckTopicConfig = func(set map[string]string) error {
			if set["retention.ms"] == "soon" {
				return errors.New("retention.ms must be a number")
			}
			return nil
		}
	})
	mustCreate(t, m, spec("a_b", 1))
	before := len(server.Dump("/kafka"))
	for _, c := range []struct {
		name string
		spec CreateTopicSpec
		want error
	}{
		{"exists", spec("a_b", 1), ErrTopicExists},
		{"collides", spec("a.b", 1), ErrInvalidTopicName},
		{"250-letters", spec(strings.Repeat("x", 250), 1), ErrInvalidTopicName},
		{"no-partitions", spec("x", 0), ErrInvalidPartitions},
		{"factor-0", CreateTopicSpec{Name: "x", Partitions: 1}, ErrInvalidReplicationFactor},
		{"factor-above-brokers", CreateTopicSpec{Name: "x", Partitions: 1, ReplicationFactor: 2}, ErrInvalidReplicationFactor},
		{"counts-and-assignment", CreateTopicSpec{Name: "x", Partitions: 1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {0}}}, ErrInvalidRequest},
		{"unknown-broker", CreateTopicSpec{Name: "x", Partitions: -1, ReplicationFactor: -1, Assignment: map[int32][]int32{0: {7}}}, ErrInvalidReplicaAssignment},
		{"bad-config", CreateTopicSpec{Name: "x", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "soon"}}, ErrInvalidConfig},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := m.CreateTopic(t.Context(), c.spec); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			c.spec.ValidateOnly = true
			if _, err := m.CreateTopic(t.Context(), c.spec); !errors.Is(err, c.want) {
				t.Fatalf("validate only: got %v, want %v", err, c.want)
			}
		})
	}
	made, err := m.CreateTopic(t.Context(), CreateTopicSpec{Name: "x", Partitions: -1, ReplicationFactor: -1, ValidateOnly: true})
	if err != nil || made.Partitions != 4 || made.ReplicationFactor != 1 {
		t.Fatalf("defaults: %+v, %v", made, err)
	}
	if n := len(server.Dump("/kafka")); n != before {
		t.Fatalf("refused and validated topics left %d znodes", n-before)
	}
}

// C-38: many clients make the same topics at once; one creation each, the others are told that it exists.
func TestCreateTopicRace(t *testing.T) {
	m, _ := fake(t, nil)
	const names, clients = 20, 5
	var wg sync.WaitGroup
	errs := make([]error, names*clients)
	for i := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, errs[i] = m.CreateTopic(t.Context(), spec(fmt.Sprint("t", i%names), 1))
		}()
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !errors.Is(err, ErrTopicExists) {
			t.Fatal(err)
		}
	}
	if made != names || len(m.Image().TopicNames) != names {
		t.Fatalf("%d creations succeeded, the image has %d topics", made, len(m.Image().TopicNames))
	}
}

func TestTopicByZnodeWriteAppears(t *testing.T) {
	m, server := fake(t, nil)
	w := tool(t, server)
	put(t, w, "/config/topics/old", `{"version":1,"config":{"retention.ms":"7"}}`)
	put(t, w, "/brokers/topics/old", `{"version":1,"partitions":{"1":[0],"0":[0]}}`)
	img := m.until(t, "the topic with leaders", func(img *meta.Image) bool { return led(img, "old", 2) })
	if img.Topic("old").ID.IsZero() || img.Topic("old").Config["retention.ms"] != "7" {
		t.Fatalf("%+v", img.Topic("old"))
	}
	node := string(server.Dump("/kafka")["/brokers/topics/old"].Data)
	if want := `"topic_id":"` + img.Topic("old").ID.String() + `"`; !strings.Contains(node, want) || !strings.Contains(node, `"version":3`) {
		t.Fatalf("the id was not written back: %s", node)
	}
}

// C-73: a tool that knows no ids rewrites the topic's znode.
func TestTopicIDSurvivesToolsThatDropIt(t *testing.T) {
	m, server := fake(t, nil)
	id := mustCreate(t, m, spec("a", 1)).ID
	w := tool(t, server)
	if _, err := w.Set("/kafka/brokers/topics/a", []byte(`{"version":1,"partitions":{"0":[0],"1":[0],"2":[0]}}`), -1); err != nil {
		t.Fatal(err)
	}
	img := m.until(t, "three partitions", func(img *meta.Image) bool { return led(img, "a", 3) })
	if img.Topic("a").ID != id {
		t.Fatalf("the id changed from %v to %v", id, img.Topic("a").ID)
	}
	if node := string(server.Dump("/kafka")["/brokers/topics/a"].Data); !strings.Contains(node, id.String()) {
		t.Fatalf("not written back: %s", node)
	}
}

func TestTopicIDComesFromTheLogsAfterARestart(t *testing.T) {
	m, server := fake(t, nil)
	id := mustCreate(t, m, spec("a", 1)).ID
	m.stop(t)
	w := tool(t, server)
	if _, err := w.Set("/kafka/brokers/topics/a", []byte(`{"version":1,"partitions":{"0":[0]}}`), -1); err != nil {
		t.Fatal(err)
	}
	again := newMember()
	o := options(again, 0, 25092)
	o.ZK.Wire = server.Wire
	o.KnownTopicID = func(topic string) (meta.ID, bool) { return id, topic == "a" }
	if err := again.start(t, o); err != nil {
		t.Fatal(err)
	}
	if got := again.Image().Topic("a").ID; got != id {
		t.Fatalf("id %v, the logs say %v", got, id)
	}
}

func TestDeleteTopic(t *testing.T) {
	m, server := fake(t, nil)
	before := server.Dump("/kafka")
	mustCreate(t, m, spec("a", 3))
	if err := m.DeleteTopic(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if m.Image().Topic("a") != nil {
		t.Fatal("the image still holds it")
	}
	for path := range server.Dump("/kafka") {
		if _, was := before[path]; !was {
			t.Errorf("left: %s", path)
		}
	}
	var order []string
	for _, entry := range server.Log() {
		if _, op, is := strings.Cut(entry, ", delete /kafka"); is && !strings.Contains(entry, "->") {
			order = append(order, op)
		}
	}
	if n := len(order); order[n-1] != "/admin/delete_topics/a" || order[n-2] != "/config/topics/a" || order[n-3] != "/brokers/topics/a" {
		t.Fatalf("order %v", order)
	}
	if err := m.DeleteTopic(t.Context(), "a"); !errors.Is(err, ErrUnknownTopic) {
		t.Fatalf("second deletion: %v", err)
	}
	mustCreate(t, m, spec("a", 1))
}

func TestDeletionAskedForByZnode(t *testing.T) {
	m, server := fake(t, nil)
	mustCreate(t, m, spec("a", 1))
	put(t, tool(t, server), "/admin/delete_topics/a", "")
	m.until(t, "no topic", func(img *meta.Image) bool { return img.Topic("a") == nil })
}

func TestDeletionDisabled(t *testing.T) {
	m, server := fake(t, func(o *Options) { o.DeleteTopicsDisabled = true })
	mustCreate(t, m, spec("a", 1))
	if err := m.DeleteTopic(t.Context(), "a"); !errors.Is(err, ErrTopicDeletionDisabled) {
		t.Fatal(err)
	}
	put(t, tool(t, server), "/admin/delete_topics/a", "")
	mustCreate(t, m, spec("b", 1)) // a turn after the event
	if m.Image().Topic("a") == nil {
		t.Fatal("deleted all the same")
	}
}

// A broker that died in the middle of a deletion goes on with it, and shows the topic once, marked, so that its logs go too.
func TestDeletionResumedAfterACrash(t *testing.T) {
	m, server := fake(t, nil)
	mustCreate(t, m, spec("a", 2))
	m.stop(t)
	put(t, tool(t, server), "/admin/delete_topics/a", "")
	again := newMember()
	o := options(again, 0, 25092)
	o.ZK.Wire = server.Wire
	if err := again.start(t, o); err != nil {
		t.Fatal(err)
	}
	if first := again.imgs[0].Topic("a"); first == nil || !first.Deleting {
		t.Fatalf("first image: %+v", first)
	}
	if again.Image().Topic("a") != nil {
		t.Fatal("the last image holds it still")
	}
	if _, is := server.Dump("/kafka")["/brokers/topics/a"]; is {
		t.Fatal("its znode is there still")
	}
}

func TestCreatePartitions(t *testing.T) {
	m, server := fake(t, nil)
	id := mustCreate(t, m, spec("a", 1)).ID
	if err := m.CreatePartitions(t.Context(), "a", 3, nil, true); err != nil || len(m.Image().Topic("a").Partitions) != 1 {
		t.Fatalf("validate only: %v", err)
	}
	if err := m.CreatePartitions(t.Context(), "a", 3, nil, false); err != nil {
		t.Fatal(err)
	}
	if img := m.Image(); !led(img, "a", 3) || img.Topic("a").ID != id {
		t.Fatalf("%+v", img.Topic("a"))
	}
	want := `{"partitions":{"0":[0],"1":[0],"2":[0]},"topic_id":"` + id.String() + `","adding_replicas":{},"removing_replicas":{},"version":3}`
	if got := string(server.Dump("/kafka")["/brokers/topics/a"].Data); got != want {
		t.Fatalf("znode %s", got)
	}
	for _, count := range []int32{3, 2, 0, -1} {
		if err := m.CreatePartitions(t.Context(), "a", count, nil, false); !errors.Is(err, ErrInvalidPartitions) {
			t.Errorf("to %d: %v", count, err)
		}
	}
	if err := m.CreatePartitions(t.Context(), "a", 5, [][]int32{{0}}, false); !errors.Is(err, ErrInvalidReplicaAssignment) {
		t.Errorf("short assignment: %v", err)
	}
	if err := m.CreatePartitions(t.Context(), "b", 5, nil, false); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("unknown topic: %v", err)
	}
}

func TestConfigChanges(t *testing.T) {
	m, server := fake(t, nil)
	mustCreate(t, m, CreateTopicSpec{Name: "a", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "5"}})
	if err := m.AlterTopicConfig(t.Context(), "a", map[string]string{"cleanup.policy": "compact"}); err != nil {
		t.Fatal(err)
	}
	if got := m.Image().Topic("a").Config; len(got) != 1 || got["cleanup.policy"] != "compact" {
		t.Fatalf("the set was not replaced: %v", got)
	}
	dump := server.Dump("/kafka")
	if got := string(dump["/config/changes/config_change_0000000000"].Data); got != `{"version":2,"entity_path":"topics/a"}` {
		t.Fatalf("notification %q", got)
	}
	if got := string(dump["/config/topics/a"].Data); got != `{"version":1,"config":{"cleanup.policy":"compact"}}` {
		t.Fatalf("config %q", got)
	}
	id := int32(0)
	if err := m.AlterBrokerConfig(t.Context(), &id, map[string]string{"log.cleaner.threads": "2"}); err != nil {
		t.Fatal(err)
	}
	if err := m.AlterBrokerConfig(t.Context(), nil, map[string]string{"log.retention.ms": "9"}); err != nil {
		t.Fatal(err)
	}
	img := m.Image()
	if img.BrokerConfigs[0]["log.cleaner.threads"] != "2" || img.DefaultBrokerConfig["log.retention.ms"] != "9" {
		t.Fatalf("%v %v", img.BrokerConfigs, img.DefaultBrokerConfig)
	}
	if _, is := server.Dump("/kafka")["/config/brokers/<default>"]; !is {
		t.Fatal("no cluster-wide znode")
	}
	if err := m.AlterTopicConfig(t.Context(), "b", nil); !errors.Is(err, ErrUnknownTopic) {
		t.Fatal(err)
	}
}

func TestConfigChangedByATool(t *testing.T) {
	for _, note := range []string{`{"version":2,"entity_path":"topics/a"}`, `{"version":1,"entity_type":"topics","entity_name":"a"}`} {
		m, server := fake(t, nil)
		mustCreate(t, m, spec("a", 1))
		w := tool(t, server)
		if _, err := w.Set("/kafka/config/topics/a", []byte(`{"version":1,"config":{"segment.bytes":"1000","x":5}}`), -1); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Create("/kafka/config/changes/config_change_", []byte(note), zk.FlagSequence, nil); err != nil {
			t.Fatal(err)
		}
		m.until(t, "the new setting", func(img *meta.Image) bool {
			c := img.Topic("a").Config
			return c["segment.bytes"] == "1000" && c["x"] == "5"
		})
	}
}

func TestProducerIDBlocksFollowEachOther(t *testing.T) {
	m, server := fake(t, nil)
	for i := range int64(3) {
		start, n, err := m.AllocateProducerIDs(t.Context())
		if err != nil || start != i*1000 || n != 1000 {
			t.Fatalf("block %d: %d+%d, %v", i, start, n, err)
		}
	}
	want := `{"version":1,"broker":0,"block_start":"2000","block_end":"2999"}`
	if got := string(server.Dump("/kafka")["/latest_producer_id_block"].Data); got != want {
		t.Fatal(got)
	}
	if _, err := tool(t, server).Set("/kafka/latest_producer_id_block", []byte(`{"version":1,"broker":9,"block_start":"0","block_end":"9223372036854775807"}`), -1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.AllocateProducerIDs(t.Context()); !errors.Is(err, ErrNoProducerIDs) {
		t.Fatal(err)
	}
}
