package broker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/cmd/pelton/broker"
	controller "github.com/pelton-broker/pelton/controller/run"
	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/logstore"
)

// Nobody asked for an adoption: the directories stay as they are, and no new topic gets one of them.
func TestUnclaimedDirectoriesAreLeftAlone(t *testing.T) {
	if kindOfCoordination() != "embedded" {
		t.Skip("an outside coordination that holds no cluster refuses the directory of one until somebody asks for its adoption, as Kafka does")
	}
	g := openGolden(t, "3.9.1", "clean", "pelton.log.adopt=false", "auto.create.topics.enable=false")
	if n := len(g.broker.Unclaimed()); n != 14 {
		t.Errorf("%d partitions are unclaimed, want 14", n)
	}
	before := fileOf(t, g.dir, "rolled-0/00000000000000000110.log")
	c := g.dial(t)
	resp := ask[*kmsg.CreateTopicsResponse](c, 5, creation("rolled", 1))
	if resp.Topics[0].ErrorCode != 36 || resp.Topics[0].ErrorMessage == nil || !strings.Contains(*resp.Topics[0].ErrorMessage, filepath.Join(g.dir, "data", "rolled-0")) {
		t.Errorf("making a topic over an unclaimed directory: %d %v", resp.Topics[0].ErrorCode, resp.Topics[0].ErrorMessage)
	}
	makeTopic(t, c, "another", 1)
	if err := g.end(); err != nil {
		t.Fatal(err)
	}
	if fileOf(t, g.dir, "rolled-0/00000000000000000110.log") != before {
		t.Error("the unclaimed log was changed")
	}
	g.keys["pelton.log.adopt"] = "true" // and then somebody does
	if err := g.begin(); err != nil {
		t.Fatal(err)
	}
	g.check(t, 0)
}

func fileOf(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "data", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// How topics are registered: ids and counts from the files, nothing deleted, a leader epoch above those of the log.
func TestAdoptedTopicsAreRegistered(t *testing.T) {
	g := openGolden(t, "4.2.0", "clean", "offsets.topic.num.partitions=7")
	untouched := fileOf(t, g.dir, "bootstrap.checkpoint") + fileOf(t, g.dir, "meta.properties")
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	admin := kadm.NewClient(g.client(t))
	m, err := admin.Metadata(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if m.Cluster != "AAAAAAAAAAAAAAAAAAAAAQ" || m.Controller != 1 {
		t.Errorf("cluster %s, broker %d", m.Cluster, m.Controller)
	}
	if n := len(m.Topics["__consumer_offsets"].Partitions); n != 7 {
		t.Errorf("%d partitions of offsets, want those that were found and the configured ones", n)
	}
	if m.Topics["__cluster_metadata"].Partitions != nil {
		t.Error("the metadata log became a topic")
	}
	rolled := m.Topics["rolled"]
	if text := fileOf(t, g.dir, "rolled-0/partition.metadata"); !strings.Contains(text, rolled.ID.String()) && rolled.ID == (kadm.TopicID{}) {
		t.Errorf("topic id %v, the file says %q", rolled.ID, text)
	}
	if p := rolled.Partitions[0]; p.LeaderEpoch < 1 || len(p.Replicas) != 1 || p.Replicas[0] != 1 {
		t.Errorf("partition: %+v", p)
	}
	configs, err := admin.DescribeTopicConfigs(ctx, "rolled")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs[0].Configs {
		if (c.Key == "retention.ms" || c.Key == "retention.bytes") && *c.Value != "-1" || c.Key == "cleanup.policy" && *c.Value != "delete" {
			t.Errorf("%s=%s", c.Key, *c.Value)
		}
	}
	if err := g.end(); err != nil {
		t.Fatal(err)
	}
	if fileOf(t, g.dir, "bootstrap.checkpoint")+fileOf(t, g.dir, "meta.properties") != untouched {
		t.Error("files of KRaft were changed")
	}
}

// What contradicts itself is refused with both sides named.
func TestAdoptionRefusesContradictions(t *testing.T) {
	g := openGolden(t, "3.9.1", "clean")
	if err := g.end(); err != nil {
		t.Fatal(err)
	}
	begin := func(change map[string]string) error {
		keys := map[string]string{}
		for k, v := range g.keys {
			keys[k] = v
		}
		for k, v := range change {
			keys[k] = v
		}
		n := &node{keys: keys}
		err := n.begin()
		if err == nil {
			_ = n.end()
		}
		return err
	}
	data := filepath.Join(g.dir, "data")
	says := func(err, want error, texts ...string) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
			return
		}
		for _, text := range texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%v does not name %s", err, text)
			}
		}
	}
	// Another partition of a known topic.
	if err := os.Mkdir(filepath.Join(data, "rolled-5"), 0o755); err != nil {
		t.Fatal(err)
	}
	says(begin(nil), broker.ErrAdopt, filepath.Join(data, "rolled-5"), "1 partitions")
	if err := os.Remove(filepath.Join(data, "rolled-5")); err != nil {
		t.Fatal(err)
	}
	// A coordination that holds another cluster.
	other := own(t)
	if err := other.end(); err != nil {
		t.Fatal(err)
	}
	where := "pelton.zookeeper.data.dir"
	if kindOfCoordination() != "embedded" {
		where = "zookeeper.connect"
	}
	says(begin(map[string]string{where: other.keys[where]}), controller.ErrClusterIDMismatch, data, other.keys[where], "EHhR2rfgSD6uRcQtFvfANQ")
	// Another broker's directory.
	says(begin(map[string]string{"broker.id": "7"}), logstore.ErrMeta, "broker.id 0", "7")
}

// A dry run says what it would do and leaves every file as it was; the real one registers without touching a log.
func TestAdoptDryRun(t *testing.T) {
	g := openGolden(t, "2.2.2", "clean", "pelton.log.adopt=false")
	if err := g.end(); err != nil {
		t.Fatal(err)
	}
	g.keys["pelton.log.adopt"] = "true"
	adopt := func(dry bool) int {
		t.Helper()
		c, _, err := config.Load(nil, g.keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
		defer cancel()
		list, err := broker.Adopt(ctx, c, testLog(), dry)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for _, dry := range []bool{true, true, false} {
		if n := adopt(dry); n != 12 {
			t.Errorf("dry %v: %d topics, want 12", dry, n)
		}
		if _, err := os.Stat(filepath.Join(g.dir, "data", ".kafka_cleanshutdown")); err != nil {
			t.Error("the marker of the clean stop is gone:", err)
		}
	}
	if n := adopt(false); n != 0 {
		t.Errorf("%d topics were adopted twice", n)
	}
	if err := g.begin(); err != nil {
		t.Fatal(err)
	}
	g.check(t, 0)
}
