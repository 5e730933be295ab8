package broker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// commit is an OffsetCommit of a consumer that is no member.
func commit(group, topic string, offsets ...int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.RetentionTimeMillis = group, -1, -1
	q := kmsg.NewOffsetCommitRequestTopic()
	q.Topic = topic
	for _, o := range offsets {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Offset, p.LeaderEpoch, p.Timestamp = o, -1, -1
		q.Partitions = append(q.Partitions, p)
	}
	req.Topics = append(req.Topics, q)
	return req
}

// committed is what OffsetFetch tells of partition 0.
func committed(c *conn, group, topic string) kmsg.OffsetFetchResponseTopicPartition {
	c.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	q := kmsg.NewOffsetFetchRequestTopic()
	q.Topic, q.Partitions = topic, []int32{0}
	req.Topics = append(req.Topics, q)
	return ask[*kmsg.OffsetFetchResponse](c, 5, req).Topics[0].Partitions[0]
}

func mustCommit(t *testing.T, c *conn, version int16, req *kmsg.OffsetCommitRequest) {
	t.Helper()
	for _, p := range ask[*kmsg.OffsetCommitResponse](c, version, req).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			t.Fatalf("OffsetCommit v%d: error %d", version, p.ErrorCode)
		}
	}
}

// A group that nobody has heard of has no offsets, which is no error.
func TestOffsetFetchUnknownGroup(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	g := group(t, n)
	lowest, highest := served(c, 9)
	for v := max(1, lowest); v <= min(7, highest); v++ {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group = g
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: name, Partitions: []int32{0}}}
		resp := ask[*kmsg.OffsetFetchResponse](c, v, req)
		p := resp.Topics[0].Partitions[0]
		if resp.ErrorCode != 0 || p.ErrorCode != 0 || p.Offset != -1 {
			t.Errorf("v%d: errors %d %d offset %d", v, resp.ErrorCode, p.ErrorCode, p.Offset)
		}
	}
	for v := int16(8); v <= min(9, highest); v++ {
		req := kmsg.NewPtrOffsetFetchRequest()
		q := kmsg.NewOffsetFetchRequestGroup()
		q.Group = g
		q.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: name, Partitions: []int32{0}}}
		req.Groups = append(req.Groups, q)
		got := ask[*kmsg.OffsetFetchResponse](c, v, req).Groups[0]
		p := got.Topics[0].Partitions[0]
		if got.ErrorCode != 0 || p.ErrorCode != 0 || p.Offset != -1 {
			t.Errorf("v%d: errors %d %d offset %d", v, got.ErrorCode, p.ErrorCode, p.Offset)
		}
	}
}

// C-34: a partition named three times in one commit: no disconnect, no error, and the last one holds. Kafka 3.9.1 gives one answer for all
// three, others one for each; clients take both.
func TestOffsetCommitSamePartitionTwice(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	g := group(t, n)
	resp := ask[*kmsg.OffsetCommitResponse](c, 7, commit(g, name, 5, 9, 7))
	if len(resp.Topics[0].Partitions) == 0 {
		t.Error("no answer")
	}
	for _, p := range resp.Topics[0].Partitions {
		want(t, "error", p.ErrorCode, 0)
	}
	want(t, "offset", committed(c, g, name).Offset, 7)
	c.works()
}

func TestOffsetCommitErrors(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	g := group(t, n)
	code := func(req *kmsg.OffsetCommitRequest) int16 {
		return ask[*kmsg.OffsetCommitResponse](c, 7, req).Topics[0].Partitions[0].ErrorCode
	}
	stranger := commit(g, name, 1)
	stranger.Generation, stranger.MemberID = 3, "stranger"
	want(t, "a generation that nobody has", code(stranger), 22)
	want(t, "unknown topic", code(commit(g, name+"-none", 1)), 3)
	long := commit(g, name, 1)
	text := strings.Repeat("x", 5000)
	long.Topics[0].Partitions[0].Metadata = &text
	want(t, "long metadata", code(long), 12)
	want(t, "nothing was committed", committed(c, g, name).Offset, -1)
}

// A member's commit needs its generation.
func TestOffsetCommitOfMembers(t *testing.T) {
	n := shared(t)
	g := group(t, n)
	m := newMember(t, n, g)
	m.topics = []string{g + "-read"}
	name := topic(t, m.c, 1)
	stable(t, m)
	req := commit(g, name, 4)
	req.Generation, req.MemberID = m.epoch, m.id
	mustCommit(t, m.c, 7, req)
	want(t, "offset", committed(m.c, g, name).Offset, 4)
	req.Generation--
	want(t, "old generation", ask[*kmsg.OffsetCommitResponse](m.c, 7, req).Topics[0].Partitions[0].ErrorCode, 22)
	del := kmsg.NewPtrOffsetDeleteRequest()
	del.Group = g
	del.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: name, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
	want(t, "deleting offsets of a topic the group does not read", ask[*kmsg.OffsetDeleteResponse](m.c, 0, del).Topics[0].Partitions[0].ErrorCode, 0)
	want(t, "offset", committed(m.c, g, name).Offset, -1)
}

// C-28: retention given with the commit (v2 to v4) or counted from the commit's own time (v1).
func TestOffsetsExpire(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	gone := func(g string) func() bool { return func() bool { return committed(c, g, name).Offset == -1 } }

	short := group(t, n)
	req := commit(short, name, 5)
	req.RetentionTimeMillis = 1
	mustCommit(t, c, 3, req)
	eventually(t, "an offset with a retention of a millisecond goes", gone(short))
	eventually(t, "the group goes with its last offset", func() bool { return describeGroup(c, short).State == "Dead" })

	old := group(t, n) + "-old"
	coordinated(t, n, old)
	req = commit(old, name, 5)
	req.Topics[0].Partitions[0].Timestamp = time.Now().AddDate(0, 0, -30).UnixMilli()
	mustCommit(t, c, 1, req)
	eventually(t, "an offset committed with a time of 30 days ago goes", gone(old))

	kept := group(t, n) + "-kept"
	coordinated(t, n, kept)
	mustCommit(t, c, 2, commit(kept, name, 5))
	again := group(t, n) + "-again"
	coordinated(t, n, again)
	req = commit(again, name, 5)
	req.RetentionTimeMillis = 1
	mustCommit(t, c, 4, req)
	eventually(t, "a second short one goes", gone(again))
	want(t, "an offset without a retention of its own", committed(c, kept, name).Offset, 5)
}

// C-28: a group with members keeps the offsets of what they are subscribed to, and loses them with its last member.
func TestOffsetsOfMembersStay(t *testing.T) {
	n := shared(t)
	g := group(t, n)
	m := newMember(t, n, g)
	name := topic(t, m.c, 1)
	m.topics = []string{name}
	stable(t, m)
	req := commit(g, name, 4)
	req.Generation, req.MemberID, req.RetentionTimeMillis = m.epoch, m.id, 1
	mustCommit(t, m.c, 4, req)

	// Another group's offset of the same age goes: the check has passed over both.
	other := g + "-other"
	coordinated(t, n, other)
	late := commit(other, name, 4)
	late.RetentionTimeMillis = 1
	mustCommit(t, m.c, 4, late)
	eventually(t, "the offset of a group without members goes", func() bool { return committed(m.c, other, name).Offset == -1 })
	want(t, "the offset of a group with members", committed(m.c, g, name).Offset, 4)
	want(t, "leaving", leave(m.c, g, m.id), 0)
	eventually(t, "the offset goes with the members", func() bool { return committed(m.c, g, name).Offset == -1 })
}

// C-10: the epoch of a commit comes back, also after a restart.
func TestOffsetsSurviveRestart(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	g := group(t, n)
	req := commit(g, name, 7)
	req.Topics[0].Partitions[0].LeaderEpoch = 3
	text := "note"
	req.Topics[0].Partitions[0].Metadata = &text
	mustCommit(t, c, 6, req)
	coordinated(t, n, g+"-none")
	mustCommit(t, c, 6, commit(g+"-none", name, 8))
	n.restart(t)
	c = n.dial(t)
	coordinated(t, n, g)
	coordinated(t, n, g+"-none")
	got := committed(c, g, name)
	if got.Offset != 7 || got.LeaderEpoch != 3 || got.Metadata == nil || *got.Metadata != "note" {
		t.Errorf("after a restart: %+v", got)
	}
	got = committed(c, g+"-none", name)
	if got.Offset != 8 || got.LeaderEpoch != -1 {
		t.Errorf("without an epoch: %+v", got)
	}
}
