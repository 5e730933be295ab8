package api

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/reactor/wire"
)

func TestJavaAddress(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1": "127.0.0.1", "::ffff:10.0.0.7": "10.0.0.7", "::1": "0:0:0:0:0:0:0:1", "fe80::a:0b%eth0": "fe80:0:0:0:0:0:a:b%eth0",
	} {
		if got := javaAddress(netip.MustParseAddr(in)); got != want {
			t.Errorf("%s is printed as %s, Java prints %s", in, got, want)
		}
	}
}

func TestGatherRunsOnceAfterAll(t *testing.T) {
	ran := 0
	g := newGather(2, func() { ran++ })
	if g.one(); ran != 0 {
		t.Fatal("done after one of two")
	}
	if g.one(); ran != 1 {
		t.Fatalf("done %d times after two of two", ran)
	}
	if newGather(0, func() { ran++ }); ran != 2 {
		t.Fatal("nothing to wait for, and not done")
	}
}

// TestJoinAnswerProtocolName: a name that is not there is empty before version 7 and null from there on.
func TestJoinAnswerProtocolName(t *testing.T) {
	for version := int16(0); version <= 9; version++ {
		a := joinAnswer(version, &group.Joined{Err: group.ErrUnknownMember, MemberID: "m", Generation: -1})
		if (a.Protocol == nil) != (version >= 7) {
			t.Errorf("version %d: protocol %v", version, a.Protocol)
		}
		if a.ErrorCode != 25 || a.MemberID != "m" || a.Generation != -1 {
			t.Errorf("version %d: %+v", version, a)
		}
	}
}

func TestLeaveAnswerVersions(t *testing.T) {
	instance := "i"
	a := &group.Left{Members: []group.LeftMember{{MemberID: "m", Instance: &instance, Err: group.ErrFencedInstance}}}
	if old := leaveAnswer(2, a); old.ErrorCode != 82 || len(old.Members) != 0 {
		t.Errorf("version 2: %+v", old)
	}
	if batch := leaveAnswer(3, a); batch.ErrorCode != 0 || batch.Members[0].ErrorCode != 82 || *batch.Members[0].InstanceID != "i" {
		t.Errorf("version 3: %+v", batch)
	}
	for version := int16(0); version <= 5; version++ {
		if refused := leaveAnswer(version, &group.Left{Err: group.ErrInvalidGroupID}); refused.ErrorCode != 24 || len(refused.Members) != 0 {
			t.Errorf("version %d: %+v", version, refused)
		}
	}
}

// TestDescribeAnswerUnknownGroup: Dead without an error, and an error from version 6 on, as Kafka 3.9.1 and 4.2.0 answer.
func TestDescribeAnswerUnknownGroup(t *testing.T) {
	for version := int16(0); version <= 6; version++ {
		out := kmsg.NewDescribeGroupsResponseGroup()
		out.Group = "g"
		describeAnswer(version, version >= 3, &group.Described{State: "Dead"}, &out)
		want := kmsg.NewDescribeGroupsResponseGroup()
		want.Group, want.State = "g", "Dead"
		switch {
		case version >= 6:
			message := "there is no group g"
			want.ErrorCode, want.ErrorMessage = 69, &message
		case version >= 3:
			want.AuthorizedOperations = 328
		}
		if d := cmp.Diff(want, out, cmp.AllowUnexported(kmsg.Tags{})); d != "" {
			t.Errorf("version %d: %s", version, d)
		}
	}
}

func TestListAnswerJoinsPartitions(t *testing.T) {
	a := listAnswer([]*group.Listed{
		{Groups: []group.ListedGroup{{Group: "a", ProtocolType: "consumer", State: "Stable"}}},
		nil, // led elsewhere
		{Err: group.ErrLoading},
		{Groups: []group.ListedGroup{{Group: "b", State: "Empty"}}},
	}, false)
	if a.ErrorCode != 14 || len(a.Groups) != 2 || a.Groups[1].Group != "b" || a.Groups[0].GroupType != "classic" {
		t.Fatalf("%+v", a)
	}
	if a := listAnswer(nil, true); a.ErrorCode != 14 {
		t.Fatalf("a partition whose log is still read: %+v", a)
	}
	if !listsClassic(nil) || !listsClassic([]string{"consumer", "Classic"}) || listsClassic([]string{"consumer"}) {
		t.Fatal("the filter by type")
	}
}

// TestGroupFetchAnswers: by name a partition asked twice comes once, and by id unknown topics are told and gone ones left out.
func TestGroupFetchAnswers(t *testing.T) {
	id, gone := meta.ID{1}, [16]byte{9}
	topic := &topicRoute{topic: &meta.Topic{Name: "t", ID: id}}
	route := &Route{topics: map[string]*topicRoute{"t": topic}, byID: map[meta.ID]*topicRoute{id: topic}}
	out := kmsg.NewOffsetFetchResponseGroup()
	f := &groupFetch{out: &out, route: route, byID: true}
	parts := f.ask(nil, &kmsg.OffsetFetchRequestGroupTopic{TopicID: gone, Partitions: []int32{4}})
	parts = f.ask(parts, &kmsg.OffsetFetchRequestGroupTopic{TopicID: id, Partitions: []int32{0, 0}})
	if d := cmp.Diff([]group.TopicPartition{{Topic: "t"}, {Topic: "t"}}, parts); d != "" {
		t.Fatal(d)
	}
	f.answer(&group.Fetched{Offsets: []group.FetchedOffset{
		{TopicPartition: parts[0], Offset: 7, LeaderEpoch: 3, Metadata: "m"}, {TopicPartition: group.TopicPartition{Topic: "deleted"}, Offset: 1},
	}})
	if len(out.Topics) != 2 || out.Topics[0].TopicID != gone || out.Topics[1].TopicID != [16]byte(id) {
		t.Fatalf("%+v", out)
	}
	if p := out.Topics[0].Partitions[0]; p.ErrorCode != int16(wire.UnknownTopicID) || p.Offset != -1 || p.LeaderEpoch != -1 || p.Partition != 4 {
		t.Errorf("unknown topic: %+v", p)
	}
	if p := out.Topics[1].Partitions[0]; p.ErrorCode != 0 || p.Offset != 7 || p.LeaderEpoch != 3 || *p.Metadata != "m" {
		t.Errorf("known topic: %+v", p)
	}
	f.answer(&group.Fetched{Err: group.ErrLoading})
	if out.ErrorCode != 14 || out.Topics != nil {
		t.Errorf("an error of the group stands alone: %+v", out)
	}
	if got := dedupe([]group.TopicPartition{{Topic: "t"}, {Topic: "t"}, {Topic: "t", Partition: 1}}); len(got) != 2 {
		t.Errorf("deduped to %v", got)
	}
}

// TestCommitTopicIsMerged: a topic named twice has one place.
func TestCommitTopicIsMerged(t *testing.T) {
	resp := kmsg.NewPtrOffsetCommitResponse()
	a := &kmsg.OffsetCommitRequestTopic{Topic: "t"}
	b := &kmsg.OffsetCommitRequestTopic{TopicID: [16]byte{1}}
	if commitTopic(resp, a) != 0 || commitTopic(resp, b) != 1 || commitTopic(resp, a) != 0 || len(resp.Topics) != 2 {
		t.Fatalf("%+v", resp.Topics)
	}
}

// TestEveryGroupErrorHasItsCode: nothing of the machine reaches a client as an unknown error by mistake.
func TestEveryGroupErrorHasItsCode(t *testing.T) {
	for err, want := range map[error]wire.Code{
		nil: 0, group.ErrInvalidGroupID: 24, group.ErrLoading: 14, group.ErrNotCoordinator: 16, group.ErrNotAvailable: 15, group.ErrUnknownMember: 25,
		group.ErrFencedInstance: 82, group.ErrIllegalGeneration: 22, group.ErrInconsistentProtocol: 23, group.ErrInvalidSessionTimeout: 26,
		group.ErrRebalanceInProgress: 27, group.ErrMemberIDRequired: 79, group.ErrMaxSize: 81, group.ErrNonEmpty: 68, group.ErrNotFound: 69,
		group.ErrSubscribed: 86, group.ErrMetadataTooLarge: 12, group.ErrCommitTooLarge: 28, group.ErrInternal: -1,
	} {
		if got := codeOf(err); got != want {
			t.Errorf("%v is %d, Kafka says %d", err, got, want)
		}
	}
}

// TestRouteVanished: a topic made anew under its name is another one.
func TestRouteVanished(t *testing.T) {
	route := func(topics map[string]byte) *Route {
		r := &Route{topics: map[string]*topicRoute{}}
		for name, id := range topics {
			r.topics[name] = &topicRoute{topic: &meta.Topic{Name: name, ID: meta.ID{id}}}
		}
		return r
	}
	got := route(map[string]byte{"kept": 1, "gone": 2, "again": 3}).vanished(route(map[string]byte{"kept": 1, "again": 4, "new": 5}))
	if d := cmp.Diff([]string{"again", "gone"}, got); d != "" {
		t.Fatal(d)
	}
}
