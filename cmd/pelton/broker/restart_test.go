package broker_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// A clean restart keeps topics, ids, settings, records, offsets and log starts.
func TestRestartKeepsEverything(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	a, b := "kept-a", "kept-b"
	makeTopic(t, c, a, 3, "retention.ms=77777777", "segment.bytes=5000")
	makeTopic(t, c, b, 1, "cleanup.policy=compact")
	for i := range 30 {
		mustProduce(c, a, values(fmt.Sprint(i), strings.Repeat("x", 500)))
	}
	want(t, "produce", produceTo(c, a, 2, timed(batch.Zstd, baseTime+5, baseTime+9, baseTime+7)).ErrorCode, 0)
	mustProduce(c, b, builder(batch.None, record{key: "k", value: "v"}).Bytes())
	want(t, "low watermark", deleteRecords(c, a, 6).LowWatermark, 6)
	id := topicID(c, a)
	for round := range 3 {
		n.restart(t)
		c = n.dial(t)
		want(t, "id", topicID(c, a), id)
		wantSetting(t, c, a, "retention.ms", "77777777", fromTopic)
		wantSetting(t, c, b, "cleanup.policy", "compact", fromTopic)
		wantOffset(t, "earliest", listOffset(c, listVersion, a, 0, -2), 6, -1)
		got := readAll(c, a, 0, 6)
		want(t, "records", len(got), 54+round)
		want(t, "first value", got[0].value, "3")
		wantOffset(t, "newest timestamp", listOffset(c, listVersion, a, 2, -3), 1, baseTime+9)
		wantOffset(t, "lookup", listOffset(c, listVersion, a, 2, baseTime+6), 1, baseTime+9)
		want(t, "records of the other topic", len(readAll(c, b, 0, 0)), 1)
		want(t, "the next offset", mustProduce(c, a, values("more")), int64(60+round))
		makeTopic(t, c, fmt.Sprint("new-", round), 1)
	}
	deleteTopic(t, c, a)
	n.restart(t)
	c = n.dial(t)
	want(t, "a deleted topic", describe(c, a).Topics[0].ErrorCode, 3)
	want(t, "the other topic", len(readAll(c, b, 0, 0)), 1)
}

// bump gives partition 0 of a topic another leader epoch, as an election would, and restarts the broker.
func (n *node) bump(t *testing.T, name string, epoch int) {
	t.Helper()
	z, root := n.coordinator(t)
	path := root + "/brokers/topics/" + name + "/partitions/0/state"
	b, stat, err := z.Get(path)
	if err != nil {
		t.Fatal(path, err)
	}
	var state map[string]any
	if err := json.Unmarshal(b, &state); err != nil {
		t.Fatal(err)
	}
	state["leader_epoch"] = epoch
	if b, err = json.Marshal(state); err != nil {
		t.Fatal(err)
	}
	if _, err := z.Set(path, b, stat.Version); err != nil {
		t.Fatal(err)
	}
	n.restart(t)
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// leaderEpoch is what Metadata tells of partition 0.
func leaderEpoch(c *conn, name string) int32 {
	c.t.Helper()
	return describe(c, name).Topics[0].Partitions[0].LeaderEpoch
}

// C-11: the largest epoch up to the asked one, and where the next begins.
func TestOffsetForLeaderEpoch(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	first := leaderEpoch(c, name)
	for range 10 {
		mustProduce(c, name, values("v"))
	}
	n.bump(t, name, int(first)+2)
	c = n.dial(t)
	eventually(t, "the partition has its leader", func() bool { return led(c, name) })
	second := leaderEpoch(c, name)
	if second < first+2 {
		t.Fatalf("leader epoch %d after %d", second, first)
	}
	for range 5 {
		mustProduce(c, name, values("v"))
	}
	for _, due := range []struct {
		ask, epoch int32
		end        int64
	}{{first, first, 10}, {first + 1, first, 10}, {second, second, 15}, {second + 1, -1, -1}} {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID = -1
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.LeaderEpoch, p.CurrentLeaderEpoch = due.ask, -1
		req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: name, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
		got := ask[*kmsg.OffsetForLeaderEpochResponse](c, 3, req).Topics[0].Partitions[0]
		if got.ErrorCode != 0 || got.LeaderEpoch != due.epoch || got.EndOffset != due.end {
			t.Errorf("epoch %d: error %d epoch %d end %d, want epoch %d end %d", due.ask, got.ErrorCode, got.LeaderEpoch, got.EndOffset, due.epoch, due.end)
		}
	}
	want(t, "records", len(readAll(c, name, 0, 0)), 15)
}

// C-10: a client with an older or newer epoch than the leader's is told so; -1 is not checked.
func TestFetchFencesEpochs(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	mustProduce(c, name, values("v"))
	n.bump(t, name, int(leaderEpoch(c, name))+3)
	c = n.dial(t)
	eventually(t, "the partition has its leader", func() bool { return led(c, name) })
	now := leaderEpoch(c, name)
	for _, due := range []struct {
		epoch int32
		code  int16
	}{{now - 1, 74}, {now + 1, 75}, {now, 0}, {-1, 0}} {
		req := fetchRequest(name, 0, 0)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = due.epoch
		want(t, fmt.Sprint("fetch with epoch ", due.epoch), ask[*kmsg.FetchResponse](c, fetchVersion, req).Topics[0].Partitions[0].ErrorCode, due.code)
		list := listRequest(name, 0, -1)
		list.Topics[0].Partitions[0].CurrentLeaderEpoch = due.epoch
		want(t, fmt.Sprint("list with epoch ", due.epoch), ask[*kmsg.ListOffsetsResponse](c, listVersion, list).Topics[0].Partitions[0].ErrorCode, due.code)
	}
}

// Partitions go to the directory with the fewest, and are found again wherever they are.
func TestSeveralLogDirs(t *testing.T) {
	dir := t.TempDir()
	dirs := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")}
	n := own(t, "log.dirs="+strings.Join(dirs, ","))
	c := n.dial(t)
	makeTopic(t, c, "spread", 9)
	for p := range int32(9) {
		want(t, "produce", produceTo(c, "spread", p, values(fmt.Sprint(p))).ErrorCode, 0)
	}
	count := func() (out []int) {
		for _, d := range dirs {
			found, err := filepath.Glob(filepath.Join(d, "spread-*"))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, len(found))
		}
		return out
	}
	want(t, "partitions per directory", fmt.Sprint(count()), "[3 3 3]")
	n.restart(t)
	c = n.dial(t)
	want(t, "partitions per directory", fmt.Sprint(count()), "[3 3 3]")
	for p := range int32(9) {
		got := readAll(c, "spread", p, 0)
		if len(got) != 1 || got[0].value != fmt.Sprint(p) {
			t.Errorf("partition %d: %v", p, got)
		}
	}
	req := kmsg.NewPtrDescribeLogDirsRequest()
	parts := 0
	for _, d := range ask[*kmsg.DescribeLogDirsResponse](c, 1, req).Dirs {
		want(t, "error", d.ErrorCode, 0)
		for _, topic := range d.Topics {
			if topic.Topic == "spread" {
				parts += len(topic.Partitions)
			}
		}
	}
	want(t, "partitions described", parts, 9)
	deleteTopic(t, c, "spread")
	eventually(t, "the files go", func() bool { c.works(); return fmt.Sprint(count()) == "[0 0 0]" })
}

// A directory that another broker has locked, or that belongs to another cluster, is refused with its name.
func TestStartRefusals(t *testing.T) {
	n := own(t)
	second := &node{keys: map[string]string{}}
	for k, v := range n.keys {
		second.keys[k] = v
	}
	second.keys["pelton.zookeeper.data.dir"] = t.TempDir()
	if err := second.begin(); err == nil {
		t.Error("two brokers started on one directory")
		if err := second.end(); err != nil {
			t.Error(err)
		}
	} else if !strings.Contains(err.Error(), n.keys["log.dirs"]) {
		t.Errorf("the refusal does not name the directory: %v", err)
	}
	n.dial(t).works()
}

// What is flushed on the way down: a second start after a clean stop recovers nothing, so a file that changed behind its back is not looked at.
func TestCleanStopLeavesItsMarker(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	mustProduce(c, name, values("v"))
	if err := n.end(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(n.keys["log.dirs"], ".kafka_cleanshutdown")); err != nil {
		t.Error(err)
	}
	if err := n.begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(n.keys["log.dirs"], ".kafka_cleanshutdown")); err == nil {
		t.Error("the marker is still there while the broker runs")
	}
}
