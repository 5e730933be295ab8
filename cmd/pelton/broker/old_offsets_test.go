package broker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// oldList asks version 0 of ListOffsets: at most most offsets of segments that were written at a time or before.
func oldList(c *conn, name string, partition int32, at int64, most int32) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.MaxNumOffsets = partition, at, most
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: name, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	return ask[*kmsg.ListOffsetsResponse](c, 0, req).Topics[0].Partitions[0]
}

// Version 0 of ListOffsets lists where segments begin, newest first, behind the end of the log.
func TestOldListOffsets(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 2, "segment.bytes=1024")
	for range 4 {
		mustProduce(c, name, values(string(make([]byte, 900))))
	}
	eventually(t, "the segments are there", func() bool { return len(oldList(c, name, 0, -1, 10).OldStyleOffsets) == 5 })
	for _, q := range []struct {
		at   int64
		most int32
		due  []int64
	}{
		{-1, 10, []int64{4, 3, 2, 1, 0}}, {-1, 1, []int64{4}}, {-1, 2, []int64{4, 3}}, {-1, 0, nil}, {-2, 1, []int64{0}}, {-2, 10, []int64{0}},
		{1000, 10, nil}, {time.Now().Add(time.Hour).UnixMilli(), 3, []int64{4, 3, 2}},
	} {
		got := oldList(c, name, 0, q.at, q.most)
		want(t, fmt.Sprintf("at %d, at most %d", q.at, q.most), fmt.Sprint(got.OldStyleOffsets, got.ErrorCode), fmt.Sprint(q.due, 0))
	}
	want(t, "an empty partition", fmt.Sprint(oldList(c, name, 1, -1, 10).OldStyleOffsets), "[0]")
	want(t, "no such time", oldList(c, name, 0, -3, 1).ErrorCode, 35)
	want(t, "no such partition", oldList(c, name, 9, -1, 1).ErrorCode, 3)
	want(t, "no such topic", oldList(c, name+"-none", 0, -1, 1).ErrorCode, 3)
}

// Version 0 of OffsetCommit and OffsetFetch keeps to /consumers, where consumers of 0.8 and their tools look.
func TestOffsetsInCoordination(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	name := topic(t, c, 2)
	read := func(version int16, group string, partitions ...int32) []kmsg.OffsetFetchResponseTopicPartition {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group = group
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: name, Partitions: partitions}}
		return ask[*kmsg.OffsetFetchResponse](c, version, req).Topics[0].Partitions
	}
	none := read(0, "old", 0, 7)
	want(t, "nothing there", fmt.Sprint(none[0].Offset, none[0].ErrorCode), "-1 3")
	want(t, "no such partition", fmt.Sprint(none[1].Offset, none[1].ErrorCode), "-1 3")
	for _, offset := range []int64{5, 9} {
		req := commit("old", name, offset, offset+1)
		req.Topics[0].Partitions[1].Partition = 1
		got := ask[*kmsg.OffsetCommitResponse](c, 0, req).Topics[0].Partitions
		want(t, "commit", got[0].ErrorCode+got[1].ErrorCode, 0)
		back := read(0, "old", 0, 1)
		want(t, "read back", fmt.Sprint(back[0].Offset, back[0].ErrorCode, *back[0].Metadata, back[1].Offset), fmt.Sprint(offset, 0, "", offset+1))
	}
	want(t, "the same group in __consumer_offsets", read(1, "old", 0)[0].Offset, -1)
	large := commit("old", name, 1)
	text := string(make([]byte, 5000))
	large.Topics[0].Partitions[0].Metadata = &text
	want(t, "metadata that is too large", ask[*kmsg.OffsetCommitResponse](c, 0, large).Topics[0].Partitions[0].ErrorCode, 12)
	want(t, "a group with a slash", ask[*kmsg.OffsetCommitResponse](c, 0, commit("a/b", name, 1)).Topics[0].Partitions[0].ErrorCode, 42)
	want(t, "no such topic", ask[*kmsg.OffsetCommitResponse](c, 0, commit("old", name+"-none", 1)).Topics[0].Partitions[0].ErrorCode, 3)

	// What a consumer of 0.8 writes itself is read, and what the broker wrote is where the consumer looks.
	conn, root := n.coordinator(t)
	path := root + "/consumers/old/offsets/" + name + "/0"
	data, stat, err := conn.Get(path)
	if err != nil || string(data) != "9" {
		t.Fatalf("%s: %q %v", path, data, err)
	}
	if _, err := conn.Set(path, []byte("33"), stat.Version); err != nil {
		t.Fatal(err)
	}
	want(t, "what a consumer wrote", read(0, "old", 0)[0].Offset, 33)
	n.restart(t)
	c = n.dial(t)
	eventually(t, "the topic is there after a restart", func() bool { return led(c, name) })
	want(t, "after a restart", read(0, "old", 0)[0].Offset, 33)
}
