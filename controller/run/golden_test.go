package run

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pelton-broker/pelton/zk/zktest"
)

type goldenNode struct {
	Data      *string
	Ephemeral bool
	Version   int32
	Cversion  int32
}

// masked replaces what differs from run to run: ids, ports, times.
func masked(t *testing.T, data string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	if m, ok := v.(map[string]any); ok {
		for _, key := range []string{"topic_id", "timestamp"} {
			if s, is := m[key].(string); is {
				m[key] = reflect.TypeOf(s).String()
			}
		}
		if id, is := m["id"].(string); is && len(id) == 22 {
			m["id"] = "22 letters"
		}
	}
	return v
}

func golden(t *testing.T, version string) map[string]goldenNode {
	t.Helper()
	b, err := os.ReadFile("testdata/kafka-" + version + "-znodes.json")
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]goldenNode{}
	if err := json.Unmarshal(b, &nodes); err != nil {
		t.Fatal(err)
	}
	return nodes
}

// TestTreeEqualsKafkas makes the topics of the golden set and compares the whole tree with what Kafka 3.9.1 left,
// versions included.
func TestTreeEqualsKafkas(t *testing.T) {
	want := golden(t, "3.9.1")
	m, server := fake(t, nil)
	for path, node := range want {
		name, is := strings.CutPrefix(path, "/config/topics/")
		if !is {
			continue
		}
		var config configNode
		if err := json.Unmarshal([]byte(*node.Data), &config); err != nil {
			t.Fatal(err)
		}
		partitions := int32(1)
		if strings.HasPrefix(name, "__") {
			partitions = 5
		}
		s := spec(name, partitions)
		s.Config = config.Config
		mustCreate(t, m, s)
	}
	if _, _, err := m.AllocateProducerIDs(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := server.Dump("/kafka")
	delete(got, "/")
	type view struct {
		Data      any
		Ephemeral bool
		Version   int32
		Cversion  int32
	}
	wantView, gotView := map[string]view{}, map[string]view{}
	for path, n := range want {
		v := view{nil, n.Ephemeral, n.Version, n.Cversion}
		if n.Data != nil {
			v.Data = masked(t, *n.Data)
		}
		wantView[path] = v
	}
	for path, n := range got {
		v := view{nil, n.Ephemeral, n.Version, n.Cversion}
		if n.Data != nil {
			v.Data = masked(t, string(n.Data))
		}
		gotView[path] = v
	}
	if diff := cmp.Diff(wantView, gotView); diff != "" {
		t.Errorf("the tree differs from Kafka's (-kafka +ours):\n%s", diff)
	}
}

// TestTreesOfEveryEraAreTakenOver starts on the trees that Kafka 0.8 to 3.9 left: every topic is led again with its own
// settings, keeps its epochs and its id or gets one.
func TestTreesOfEveryEraAreTakenOver(t *testing.T) {
	for _, version := range []string{"0.8.2.2", "0.9.0.1", "0.10.2.2", "2.2.2", "3.9.1"} {
		t.Run(version, func(t *testing.T) {
			server := zktest.NewServer(0)
			w := tool(t, server)
			nodes := golden(t, version)
			if _, err := w.Create("/kafka", nil, 0, nil); err != nil {
				t.Fatal(err)
			}
			topics := 0
			for _, path := range slices.Sorted(maps.Keys(nodes)) {
				if nodes[path].Ephemeral {
					continue
				}
				var data []byte
				if nodes[path].Data != nil {
					data = []byte(*nodes[path].Data)
				}
				if _, err := w.Create("/kafka"+path, data, 0, nil); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				if strings.HasPrefix(path, "/brokers/topics/") && strings.Count(path, "/") == 3 {
					topics++
				}
			}
			m := newMember()
			o := options(m, 0, 25092)
			o.ZK.Wire = server.Wire
			if err := m.start(t, o); err != nil {
				t.Fatal(err)
			}
			img := m.Image()
			if len(img.TopicNames) != topics || topics < 5 || len(img.ByID) != topics {
				t.Fatalf("%d topics, %d ids of %d", len(img.TopicNames), len(img.ByID), topics)
			}
			for _, name := range img.TopicNames {
				topic := img.Topic(name)
				if !led(img, name, len(topic.Partitions)) || topic.Partitions[0].LeaderEpoch != 0 {
					t.Errorf("%s: %+v", name, topic.Partitions[0])
				}
				var config configNode
				if err := json.Unmarshal([]byte(*nodes["/config/topics/"+name].Data), &config); err != nil {
					t.Fatal(err)
				}
				if !maps.Equal(config.Config, topic.Config) {
					t.Errorf("%s: %v, the znode says %v", name, topic.Config, config.Config)
				}
			}
		})
	}
}

// TestFirstStartWritesInKafkasOrder holds the order of interbroker.md section 2 and 3.
func TestFirstStartWritesInKafkasOrder(t *testing.T) {
	_, server := fake(t, nil)
	var got []string
	for _, entry := range server.Log() {
		if entry = strings.ReplaceAll(entry, "/kafka/", "/"); !strings.Contains(entry, " -> ") {
			got = append(got, entry)
		}
	}
	want := []string{
		"create /kafka", "create /consumers", "create /brokers", "create /brokers/ids", "create /brokers/topics",
		"create /config", "create /config/changes", "create /admin", "create /admin/delete_topics", "create /brokers/seqid",
		"create /isr_change_notification", "create /latest_producer_id_block", "create /log_dir_event_notification",
		"create /config/topics", "create /config/clients", "create /config/users", "create /config/brokers", "create /config/ips",
		"create /cluster", "create /cluster/id",
		"multi create /brokers/ids/0, set /brokers/ids/0",
		"create /controller_epoch",
		"multi create /controller, set /controller_epoch",
		"create /feature",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
