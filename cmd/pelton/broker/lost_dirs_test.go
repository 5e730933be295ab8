package broker_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// leadOf is what Metadata says of partition 0 of a topic.
func leadOf(c *conn, name string) kmsg.MetadataResponseTopicPartition {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	return ask[*kmsg.MetadataResponse](c, 12, req).Topics[0].Partitions[0]
}

// state is the state znode of partition 0 of a topic.
func (n *node) state(t *testing.T, name string) string {
	t.Helper()
	z, root := n.coordinator(t)
	data, _, err := z.Get(root + "/brokers/topics/" + name + "/partitions/0/state")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// wantLost checks everything that is said of a partition whose directory has failed: all of it is what Kafka 3.9.1 says.
func (n *node) wantLost(t *testing.T, c *conn, name string, controllerEpoch, epoch int32) {
	t.Helper()
	eventually(t, "that nobody leads", func() bool { return leadOf(c, name).LeaderEpoch == epoch && leadOf(c, name).Leader == -1 })
	p := leadOf(c, name)
	want(t, "the code of the metadata", p.ErrorCode, 5)
	if !slices.Equal(p.ISR, []int32{0}) || !slices.Equal(p.Replicas, []int32{0}) || !slices.Equal(p.OfflineReplicas, []int32{0}) {
		t.Errorf("in sync %v, replicas %v, offline %v", p.ISR, p.Replicas, p.OfflineReplicas)
	}
	want(t, "the znode", n.state(t, name), fmt.Sprintf(`{"controller_epoch":%d,"leader":-1,"version":1,"leader_epoch":%d,"isr":[0]}`, controllerEpoch, epoch))
	want(t, "producing", produce(c, name, values("lost")).ErrorCode, 56)
	want(t, "fetching", fetch(c, name, 0).ErrorCode, 56)
	want(t, "listing offsets", listOffset(c, 7, name, 0, -1).ErrorCode, 56)
	ends := kmsg.NewPtrOffsetForLeaderEpochRequest()
	q := kmsg.NewOffsetForLeaderEpochRequestTopic()
	at := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	q.Topic, q.Partitions = name, append(q.Partitions, at)
	ends.Topics = append(ends.Topics, q)
	want(t, "the end of an epoch", ask[*kmsg.OffsetForLeaderEpochResponse](c, 4, ends).Topics[0].Partitions[0].ErrorCode, 56)
	trim := kmsg.NewPtrDeleteRecordsRequest()
	trim.TimeoutMillis = 5000
	trim.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: name, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 0}}}}
	want(t, "deleting records", ask[*kmsg.DeleteRecordsResponse](c, 2, trim).Topics[0].Partitions[0].ErrorCode, 56)
}

// takeAway puts a file where a log directory was, as on a disk that is not mounted; back undoes it.
func takeAway(t *testing.T, dir string) (back func()) {
	t.Helper()
	if err := errors.Join(os.Rename(dir, dir+".away"), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)); err != nil {
			t.Fatal(err)
		}
	}
}

// repaired starts the broker again with its directory back.
func (n *node) repaired(t *testing.T, back func()) *conn {
	t.Helper()
	if err := n.end(); err != nil {
		t.Fatal(err)
	}
	back()
	if err := n.begin(); err != nil {
		t.Fatal(err)
	}
	return n.dial(t)
}

// A directory goes while the broker runs: what was in it has no leader until it is back. Real Kafka 3.9.1 with two directories and one of them
// taken away gives the same answers, znodes and epochs at each step.
func TestDirectoryThatFailsInFlight(t *testing.T) {
	setting, dirs := twoDirs(t)
	n := own(t, setting)
	c := n.dial(t)
	names := spread(t, c, dirs)
	for _, name := range names {
		mustProduce(c, name, values("before"))
	}
	back := takeAway(t, dirs[1])
	n.wantLost(t, c, names[1], 1, 1)
	want(t, "the topic of the good directory", mustProduce(c, names[0], values("during")), 1)
	want(t, "its leader", leadOf(c, names[0]).Leader, 0)
	want(t, "its epoch", leadOf(c, names[0]).LeaderEpoch, 0)
	makeTopic(t, c, "made-meanwhile", 1)
	at, _, _ := where(c, "made-meanwhile")
	want(t, "the directory of a new topic", at, dirs[0])
	z, root := n.coordinator(t)
	left, _, err := z.Children(root + "/log_dir_event_notification")
	if err != nil || len(left) > 0 {
		t.Errorf("reports that are left: %v %v", left, err)
	}

	n.restart(t)
	c = n.dial(t)
	n.wantLost(t, c, names[1], 2, 3)
	want(t, "the good topic's epoch after a restart", leadOf(c, names[0]).LeaderEpoch, 0)

	c = n.repaired(t, back)
	p := leadOf(c, names[1])
	want(t, "the leader of what is back", p.Leader, 0)
	want(t, "its epoch", p.LeaderEpoch, 4)
	want(t, "replicas that are offline", len(p.OfflineReplicas), 0)
	want(t, "the znode", n.state(t, names[1]), `{"controller_epoch":3,"leader":0,"version":1,"leader_epoch":4,"isr":[0]}`)
	want(t, "where new records go", mustProduce(c, names[1], values("after")), 1)
	want(t, "records of the other", len(readAll(c, names[1], 0, 0)), 2)
	want(t, "records of the good directory", len(readAll(c, names[0], 0, 0)), 2)
	want(t, "the epoch of its end", listOffset(c, 7, names[1], 0, -1).LeaderEpoch, 4)
}

// A topic that is deleted while a part of it is away goes when that is back, with all its files.
func TestTopicIsDeletedWhileItsDirectoryIsAway(t *testing.T) {
	setting, dirs := twoDirs(t)
	n := own(t, setting)
	c := n.dial(t)
	names := spread(t, c, dirs)
	mustProduce(c, names[1], values("before"))
	back := takeAway(t, dirs[1])
	eventually(t, "that nobody leads", func() bool { return leadOf(c, names[1]).Leader == -1 })
	deleteTopic(t, c, names[1])
	z, root := n.coordinator(t)
	path := root + "/brokers/topics/" + names[1]
	if is, _, err := z.Exists(path); err != nil || !is {
		t.Errorf("the topic's znode is gone while its log is not: %v", err)
	}
	c = n.repaired(t, back)
	makeTopic(t, c, names[1], 1) // the name is free again
	z, root = n.coordinator(t)
	want(t, "the end of the new topic", listOffset(c, 7, names[1], 0, -1).Offset, 0)
	if is, _, err := z.Exists(root + "/admin/delete_topics/" + names[1]); err != nil || is {
		t.Errorf("the request for the deletion is left: %v", err)
	}
}
