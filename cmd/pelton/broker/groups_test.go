package broker_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// subscription is what a consumer tells its group about itself.
func subscription(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = topics
	return m.AppendTo(nil)
}

// member is one consumer of a group, a request at a time.
type member struct {
	c        *conn
	group    string
	id       string
	instance *string
	epoch    int32
	leader   bool
	others   []string
	topics   []string
	session  int32
}

func newMember(t *testing.T, n *node, group string) *member {
	t.Helper()
	return &member{c: n.dial(t), group: group, topics: []string{group}, session: 30_000}
}

func (m *member) join() *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType = m.group, m.id, m.instance, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = m.session, 60_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription(m.topics...)}}
	return req
}

// enter sends a JoinGroup and does not wait. A member that is new takes its id first.
func (m *member) enter() int32 {
	m.c.t.Helper()
	if m.id == "" && m.instance == nil {
		m.id = m.ticket()
	}
	return m.c.send(5, m.join())
}

// ticket gets the member id that a new dynamic member must come back with.
func (m *member) ticket() string {
	m.c.t.Helper()
	resp := ask[*kmsg.JoinGroupResponse](m.c, 5, m.join())
	if resp.ErrorCode != 79 || resp.MemberID == "" {
		m.c.t.Fatalf("first JoinGroup: error %d member %q, want MEMBER_ID_REQUIRED", resp.ErrorCode, resp.MemberID)
	}
	return resp.MemberID
}

// joined takes the answer to enter.
func (m *member) joined(corr int32) *kmsg.JoinGroupResponse {
	m.c.t.Helper()
	resp := m.c.receive(corr, m.joinAt(5)).(*kmsg.JoinGroupResponse)
	if resp.ErrorCode == 0 {
		m.id, m.epoch, m.leader = resp.MemberID, resp.Generation, resp.LeaderID == resp.MemberID
		m.others = nil
		for _, o := range resp.Members {
			m.others = append(m.others, o.MemberID)
		}
	}
	return resp
}

func (m *member) joinAt(version int16) *kmsg.JoinGroupRequest {
	req := m.join()
	req.SetVersion(version)
	return req
}

// syncing sends a SyncGroup; the leader gives every member its own id as assignment.
func (m *member) syncing() int32 {
	m.c.t.Helper()
	return m.c.send(3, m.sync())
}

func (m *member) sync() *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = m.group, m.epoch, m.id, m.instance
	if m.leader {
		for _, id := range m.others {
			a := kmsg.NewSyncGroupRequestGroupAssignment()
			a.MemberID, a.MemberAssignment = id, []byte("for "+id)
			req.GroupAssignment = append(req.GroupAssignment, a)
		}
	}
	req.SetVersion(3)
	return req
}

func (m *member) synced(corr int32) *kmsg.SyncGroupResponse {
	m.c.t.Helper()
	return m.c.receive(corr, m.sync()).(*kmsg.SyncGroupResponse)
}

func (m *member) beat() int16 {
	m.c.t.Helper()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = m.group, m.epoch, m.id, m.instance
	return ask[*kmsg.HeartbeatResponse](m.c, 3, req).ErrorCode
}

func leave(c *conn, group, id string) int16 {
	c.t.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = group, id
	resp := ask[*kmsg.LeaveGroupResponse](c, 2, req)
	return resp.ErrorCode
}

func describeGroup(c *conn, group string) kmsg.DescribeGroupsResponseGroup {
	c.t.Helper()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	return ask[*kmsg.DescribeGroupsResponse](c, 4, req).Groups[0]
}

// coordinated waits until the group's coordinator answers.
func coordinated(t *testing.T, n *node, group string) {
	t.Helper()
	c := n.dial(t)
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey = group
	eventually(t, "the group has a coordinator that has loaded it", func() bool {
		return ask[*kmsg.FindCoordinatorResponse](c, 2, req).ErrorCode == 0 && (&member{c: c, group: group, id: "nobody"}).beat() == 25
	})
}

// stable brings members to a stable generation in which each has its own assignment.
func stable(t *testing.T, members ...*member) {
	t.Helper()
	eventually(t, "the group is stable", func() bool {
		joins := make([]int32, len(members))
		for i, m := range members {
			joins[i] = m.enter()
		}
		for i, m := range members {
			if code := m.joined(joins[i]).ErrorCode; code != 0 {
				t.Fatalf("JoinGroup of member %d: error %d", i, code)
			}
		}
		syncs := make([]int32, len(members))
		for i, m := range members {
			syncs[i] = m.syncing()
		}
		ok := true
		for i, m := range members {
			resp := m.synced(syncs[i])
			if resp.ErrorCode == 0 && string(resp.MemberAssignment) != "for "+m.id {
				t.Fatalf("member %s was assigned %q", m.id, resp.MemberAssignment)
			}
			ok = ok && resp.ErrorCode == 0
		}
		return ok
	})
}

func group(t *testing.T, n *node) string {
	t.Helper()
	g := unique(t)
	coordinated(t, n, g)
	return g
}

// A group from its first member to its last: join, sync, heartbeat, a rebalance, leave.
func TestGroupLife(t *testing.T) {
	n := shared(t)
	g := group(t, n)
	a, b := newMember(t, n, g), newMember(t, n, g)
	stable(t, a)
	want(t, "heartbeat", a.beat(), 0)
	want(t, "state", describeGroup(a.c, g).State, "Stable")

	b.id = b.ticket()
	entering := b.c.send(5, b.join())
	eventually(t, "a is told to rebalance", func() bool { return a.beat() == 27 })
	again := a.c.send(5, a.join())
	want(t, "a joins again", a.joined(again).ErrorCode, 0)
	want(t, "b joins", b.joined(entering).ErrorCode, 0)
	want(t, "generation", a.epoch, b.epoch)
	if a.leader == b.leader {
		t.Error("not exactly one leader")
	}
	as, bs := a.syncing(), b.syncing()
	want(t, "assignment of a", string(a.synced(as).MemberAssignment), "for "+a.id)
	want(t, "assignment of b", string(b.synced(bs).MemberAssignment), "for "+b.id)

	a.epoch--
	want(t, "heartbeat of an old generation", a.beat(), 22)
	a.epoch++
	want(t, "heartbeat of a stranger", (&member{c: a.c, group: g, id: "stranger", epoch: a.epoch}).beat(), 25)
	want(t, "a leaves", leave(a.c, g, a.id), 0)
	eventually(t, "b is told to rebalance", func() bool { return b.beat() == 27 })
	want(t, "b leaves", leave(b.c, g, b.id), 0)
	want(t, "b leaves twice", leave(b.c, g, b.id), 25)
	mustCommit(t, a.c, 7, commit(g, topic(t, a.c, 1), 1)) // what keeps an empty group from going by itself
	want(t, "state", describeGroup(b.c, g).State, "Empty")

	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{g}
	want(t, "deleting", ask[*kmsg.DeleteGroupsResponse](a.c, 1, req).Groups[0].ErrorCode, 0)
	want(t, "state", describeGroup(a.c, g).State, "Dead")
	want(t, "deleting twice", ask[*kmsg.DeleteGroupsResponse](a.c, 1, req).Groups[0].ErrorCode, 69)
}

// Versions below 4 take a new member at once, without handing out an id first.
func TestGroupOldJoin(t *testing.T) {
	n := shared(t)
	for version := int16(0); version <= 3; version++ {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) {
			m := newMember(t, n, group(t, n))
			resp := ask[*kmsg.JoinGroupResponse](m.c, version, m.join())
			if resp.ErrorCode != 0 || resp.MemberID == "" || resp.Generation != 1 {
				t.Errorf("error %d member %q generation %d", resp.ErrorCode, resp.MemberID, resp.Generation)
			}
		})
	}
}

// C-29: an id that was handed out and not used holds the group up only until its owner leaves or its session ends.
func TestGroupPendingMember(t *testing.T) {
	n := shared(t)
	for _, end := range []string{"leaves", "times-out", "disconnects"} {
		t.Run(end, func(t *testing.T) {
			g := group(t, n)
			a, x, y := newMember(t, n, g), newMember(t, n, g), newMember(t, n, g)
			stable(t, a)
			if end != "leaves" {
				x.session = 300
			}
			x.id, y.id = x.ticket(), y.ticket()
			entering := y.c.send(5, y.join())
			eventually(t, "a is told to rebalance", func() bool { return a.beat() == 27 })
			again := a.c.send(5, a.join())
			switch end {
			case "leaves":
				want(t, "a pending member leaves", leave(x.c, g, x.id), 0)
			case "disconnects":
				x.c.close()
			}
			want(t, "a", a.joined(again).ErrorCode, 0)
			want(t, "y", y.joined(entering).ErrorCode, 0)
			want(t, "members", len(a.others)+len(y.others), 2)
		})
	}
}

// C-31: a static member that comes back between JoinGroup and SyncGroup replaces its old self in every state.
func TestGroupStaticRejoin(t *testing.T) {
	n := shared(t)
	g := group(t, n)
	one, two := "one", "two"
	a, b := newMember(t, n, g), newMember(t, n, g)
	a.instance, b.instance = &one, &two
	stable(t, a)
	entering := b.enter()
	eventually(t, "a is told to rebalance", func() bool { return a.beat() == 27 })
	again := a.enter()
	want(t, "a", a.joined(again).ErrorCode, 0)
	want(t, "b", b.joined(entering).ErrorCode, 0)
	want(t, "state", describeGroup(a.c, g).State, "CompletingRebalance")

	// b's old self waits for its assignment while the new one joins.
	oldSync := b.syncing()
	fresh := newMember(t, n, g)
	fresh.instance = &two
	freshJoin := fresh.enter()
	want(t, "the old self's sync", b.synced(oldSync).ErrorCode, 82)
	again = a.enter()
	if code := a.joined(again).ErrorCode; code != 0 {
		t.Fatalf("a joins again: error %d", code)
	}
	want(t, "the new self joins", fresh.joined(freshJoin).ErrorCode, 0)
	if fresh.id == b.id {
		t.Error("the member id was not replaced")
	}
	as, fs := a.syncing(), fresh.syncing()
	want(t, "assignment of a", string(a.synced(as).MemberAssignment), "for "+a.id)
	want(t, "assignment of the new self", string(fresh.synced(fs).MemberAssignment), "for "+fresh.id)
	want(t, "the old self's heartbeat", b.beat(), 82)
	want(t, "the new self's heartbeat", fresh.beat(), 0)
}

// C-31: both static members come back while the group prepares to rebalance.
func TestGroupStaticRejoinWhilePreparing(t *testing.T) {
	n := shared(t)
	g := group(t, n)
	names := []string{"one", "two"}
	a, b := newMember(t, n, g), newMember(t, n, g)
	a.instance, b.instance = &names[0], &names[1]
	stable(t, a)
	oldB := b.enter() // PreparingRebalance until a comes
	eventually(t, "a is told to rebalance", func() bool { return a.beat() == 27 })
	freshB := newMember(t, n, g)
	freshB.instance = &names[1]
	bJoin := freshB.enter()
	want(t, "the old self's join", b.joined(oldB).ErrorCode, 82)
	freshA := newMember(t, n, g)
	freshA.instance = &names[0]
	aJoin := freshA.enter()
	want(t, "a", freshA.joined(aJoin).ErrorCode, 0)
	want(t, "b", freshB.joined(bJoin).ErrorCode, 0)
	as, bs := freshA.syncing(), freshB.syncing()
	want(t, "assignment of a", string(freshA.synced(as).MemberAssignment), "for "+freshA.id)
	want(t, "assignment of b", string(freshB.synced(bs).MemberAssignment), "for "+freshB.id)
}

// C-32: the join phase ends at once when the last member that is awaited leaves or is lost.
func TestGroupLeaveWhileJoining(t *testing.T) {
	n := shared(t)
	for _, end := range []string{"leaves", "times-out"} {
		t.Run(end, func(t *testing.T) {
			g := group(t, n)
			members := []*member{newMember(t, n, g), newMember(t, n, g), newMember(t, n, g)}
			last := members[2]
			if end == "times-out" {
				last.session = 2000
			}
			for i := range members {
				together(t, members[:i+1]...)
			}
			fourth := newMember(t, n, g)
			corrs := []int32{fourth.enter()}
			for _, m := range members[:2] {
				eventually(t, "told to rebalance", func() bool { return m.beat() == 27 })
				corrs = append(corrs, m.enter())
			}
			if end == "leaves" {
				want(t, "leave", leave(last.c, g, last.id), 0)
			}
			generation := int32(-1)
			for i, m := range []*member{fourth, members[0], members[1]} {
				want(t, "join", m.joined(corrs[i]).ErrorCode, 0)
				if generation >= 0 {
					want(t, "generation", m.epoch, generation)
				}
				generation = m.epoch
			}
		})
	}
}

// together brings members, of which the last is new, into one stable generation.
func together(t *testing.T, members ...*member) {
	t.Helper()
	last := members[len(members)-1]
	corrs := make([]int32, len(members))
	corrs[len(members)-1] = last.enter()
	for i, m := range members[:len(members)-1] {
		eventually(t, "told to rebalance", func() bool { return m.beat() == 27 })
		corrs[i] = m.enter()
	}
	for i, m := range members {
		if code := m.joined(corrs[i]).ErrorCode; code != 0 {
			t.Fatalf("JoinGroup: error %d", code)
		}
	}
	for i, m := range members {
		corrs[i] = m.syncing()
	}
	for i, m := range members {
		if code := m.synced(corrs[i]).ErrorCode; code != 0 {
			t.Fatalf("SyncGroup: error %d", code)
		}
	}
}

// A member whose session ends is taken out and the others rebalance.
func TestGroupSessionEnds(t *testing.T) {
	n := shared(t)
	g := group(t, n)
	a, b := newMember(t, n, g), newMember(t, n, g)
	b.session = 500
	together(t, a)
	together(t, a, b)
	eventually(t, "a is told to rebalance", func() bool { return a.beat() == 27 })
	again := a.enter()
	want(t, "a joins", a.joined(again).ErrorCode, 0)
	want(t, "members", len(a.others), 1)
	want(t, "the lost member's heartbeat", b.beat(), 25)
}

// ListGroups shows groups and filters by state.
func TestGroupList(t *testing.T) {
	n := shared(t)
	g := group(t, n)
	m := newMember(t, n, g)
	stable(t, m)
	listed := func(states ...string) bool {
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter = states
		return slices.ContainsFunc(ask[*kmsg.ListGroupsResponse](m.c, 4, req).Groups, func(x kmsg.ListGroupsResponseGroup) bool { return x.Group == g })
	}
	want(t, "without a filter", listed(), true)
	want(t, "stable", listed("Stable"), true)
	want(t, "empty", listed("Empty"), false)
}
