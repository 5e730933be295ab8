package group

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// chaos drives a machine with random requests, times and log failures, and remembers what was promised.
type chaos struct {
	t       *rapid.T
	m       *Machine
	now     Now
	ids     int
	waiting []Append
	log     []logged
	// open are the requests without an answer.
	open        map[*openRequest]bool
	generations map[string]int32
}

type openRequest struct{ what string }

type knownMember struct {
	id       string
	instance *string
}

// TestMachineKeepsItsPromises: whatever happens, each request has one answer, counts agree with what they count, and
// what a restart would read is what is in memory.
func TestMachineKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &chaos{t: t, now: Now{WallMs: 1_000_000, MonoMs: 1}, open: map[*openRequest]bool{}, generations: map[string]int32{}}
		o := DefaultOptions()
		o.InitialDelayMs = rapid.SampledFrom([]int32{0, 3000}).Draw(t, "initial delay")
		o.MaxSize = rapid.SampledFrom([]int{2, 3, 100}).Draw(t, "max size")
		o.RetentionMs, o.RetentionCheckMs = 100_000, 10_000
		o.NewMemberIDSuffix = func() string { c.ids++; return fmt.Sprint(c.ids) }
		c.m = New(o)
		c.step(&Loaded{From: NewReplay()})
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			c.random()
			c.check()
		}
		c.settle()
	})
}

func (c *chaos) step(in Input) {
	fx := c.m.Step(c.now, in)
	c.waiting = append(c.waiting, fx.Appends...)
	for _, r := range fx.Replies {
		q := r.To.(*openRequest)
		if !c.open[q] {
			c.t.Fatalf("%s was answered twice, or never asked: %s", q.what, answerText(r.Answer))
		}
		delete(c.open, q)
		if j, ok := r.Answer.(*Joined); ok && (j.Err == nil || j.Err == ErrMemberIDRequired) && j.MemberID == "" {
			c.t.Fatalf("%s: joined without a member id", q.what)
		}
	}
}

func (c *chaos) ask(what string) Ref {
	q := &openRequest{what: what}
	c.open[q] = true
	return q
}

func (c *chaos) random() {
	t := c.t
	id := rapid.SampledFrom([]string{"g", "h"}).Draw(t, "group")
	mb := c.anyMember(id)
	generation := int32(-1)
	if g := c.m.groups[id]; g != nil && rapid.IntRange(0, 4).Draw(t, "generation right") > 0 {
		generation = g.generation
	}
	switch rapid.SampledFrom([]string{"join", "join", "join", "join", "sync", "sync", "sync", "heartbeat", "leave", "commit", "commit", "append",
		"append", "append", "time", "delete", "offsets", "topic"}).Draw(t, "what") {
	case "join":
		c.join(id, mb)
	case "sync":
		in := &Sync{To: c.ask("sync"), Group: id, MemberID: mb.id, Instance: mb.instance, Generation: generation}
		if g := c.m.groups[id]; g != nil {
			for _, m := range g.members {
				in.Assignments = append(in.Assignments, Assignment{m.id, []byte(m.id)})
			}
		}
		c.step(in)
	case "heartbeat":
		c.step(&Heartbeat{To: c.ask("heartbeat"), Group: id, MemberID: mb.id, Instance: mb.instance, Generation: generation})
	case "leave":
		c.step(&Leave{To: c.ask("leave"), Group: id, Members: []Leaver{{MemberID: mb.id, Instance: mb.instance}}})
	case "commit":
		in := &Commit{To: c.ask("commit"), Group: id, Generation: generation, MemberID: mb.id, Instance: mb.instance, RetentionMs: -1}
		if rapid.Bool().Draw(t, "simple") {
			in.Generation, in.MemberID, in.Instance = -1, "", nil
		}
		in.Offsets = []CommitOffset{{TopicPartition: TopicPartition{rapid.SampledFrom([]string{"t", "u"}).Draw(t, "topic"), 0},
			Offset: rapid.Int64Range(0, 9).Draw(t, "offset"), LeaderEpoch: -1, TimestampMs: -1}}
		c.step(in)
	case "append":
		c.endAppend()
	case "time":
		c.advance(rapid.SampledFrom([]int64{1, 1000, 3000, 10_000, 60_000, 300_000}).Draw(t, "ms"))
	case "delete":
		c.step(&Delete{To: c.ask("delete"), Group: id})
	case "offsets":
		c.step(&DeleteOffsets{To: c.ask("offsets"), Group: id, Partitions: []TopicPartition{{"t", 0}}})
	case "topic":
		c.step(&TopicsDeleted{Topics: []string{"u"}})
	}
}

func (c *chaos) anyMember(id string) knownMember {
	g := c.m.groups[id]
	if g == nil || rapid.IntRange(0, 5).Draw(c.t, "stranger") == 0 {
		return knownMember{id: rapid.SampledFrom([]string{"", "stranger"}).Draw(c.t, "id")}
	}
	var all []knownMember
	for _, m := range g.members {
		all = append(all, knownMember{id: m.id, instance: m.instance})
	}
	for _, p := range sortedKeys(g.pending) {
		all = append(all, knownMember{id: p})
	}
	if len(all) == 0 {
		return knownMember{}
	}
	return rapid.SampledFrom(all).Draw(c.t, "member")
}

func (c *chaos) join(id string, mb knownMember) {
	t := c.t
	in := &Join{
		To: c.ask("join"), Group: id, MemberID: mb.id, Instance: mb.instance, NeedID: rapid.Bool().Draw(t, "need id"),
		CanSkip: rapid.Bool().Draw(t, "can skip"), ClientID: "c", RebalanceMs: 60_000, SessionMs: 10_000, ProtocolType: consumerType,
	}
	if rapid.Bool().Draw(t, "new") {
		in.MemberID, in.Instance = "", nil
		if rapid.Bool().Draw(t, "static") {
			i := rapid.SampledFrom([]string{"A", "B"}).Draw(t, "instance")
			in.Instance, in.NeedID = &i, false
		}
	}
	for _, p := range rapid.SampledFrom([][]string{{"range"}, {"range", "sticky"}, {"sticky", "range"}}).Draw(t, "protocols") {
		in.Protocols = append(in.Protocols, Protocol{p, subscriptionOf([]string{"t"})})
	}
	c.step(in)
}

// endAppend ends the oldest append. Only commits fail: a lost tombstone is allowed to come back after a restart.
func (c *chaos) endAppend() {
	if len(c.waiting) == 0 {
		return
	}
	a := c.waiting[0]
	c.waiting = c.waiting[1:]
	k, _ := DecodeKey(a.Records[0].Key)
	if k.IsOffset && a.Records[0].Value != nil && rapid.IntRange(0, 3).Draw(c.t, "fail") == 0 {
		c.step(&Appended{Token: a.Token, Base: -1, Err: ErrNotAvailable})
		return
	}
	base := int64(len(c.log))
	for _, r := range a.Records {
		c.log = append(c.log, logged{base, r})
	}
	c.step(&Appended{Token: a.Token, Base: base})
}

func (c *chaos) advance(ms int64) {
	for end := c.now.MonoMs + ms; c.now.MonoMs < end; {
		next := end
		if d := c.m.timers.next(); d != NoDeadline {
			next = min(next, max(d, c.now.MonoMs+1))
		}
		c.now.WallMs += next - c.now.MonoMs
		c.now.MonoMs = next
		c.step(&Tick{})
	}
}

// settle lets everything end: appends, then time. Nothing may be left without an answer, and a restart must read what is
// in memory.
func (c *chaos) settle() {
	for range 30 {
		for len(c.waiting) > 0 {
			c.endAppend()
		}
		c.compareWithLog()
		c.advance(20_000)
		c.check()
	}
	for q := range c.open {
		c.t.Fatalf("a %s has no answer after ten minutes of silence", q.what)
	}
}

// compareWithLog rebuilds the machine from the log: offsets and stable groups are the same.
func (c *chaos) compareWithLog() {
	if len(c.waiting) > 0 {
		return
	}
	r := NewReplay()
	for _, l := range c.log {
		if err := r.Add(l.base, NoProducer, l.Key, l.Value); err != nil {
			c.t.Fatal(err)
		}
	}
	again := New(c.m.opt)
	again.Step(c.now, &Loaded{From: r})
	for id, g := range c.m.groups {
		b := again.groups[id]
		if b == nil {
			if len(g.offsets) > 0 || g.state == stateStable {
				c.t.Fatalf("group %s is not in the log", id)
			}
			continue
		}
		for tp, k := range g.offsets {
			if o := b.offsets[tp]; o == nil || o.Offset != k.Offset {
				c.t.Fatalf("%s %v: %+v in memory, %+v in the log", id, tp, k, o)
			}
		}
		if len(b.offsets) != len(g.offsets) {
			c.t.Fatalf("%s: %d offsets in memory, %d in the log", id, len(g.offsets), len(b.offsets))
		}
		if g.state != stateStable {
			continue
		}
		if b.generation != g.generation || b.leader != g.leader || !slices.EqualFunc(b.members, g.members, func(x, y *member) bool {
			return x.id == y.id && string(x.assignment) == string(y.assignment)
		}) {
			c.t.Fatalf("stable group %s: generation %d in memory, %d in the log, or other members", id, g.generation, b.generation)
		}
	}
	for id, g := range again.groups {
		if c.m.groups[id] == nil && len(g.offsets) > 0 {
			c.t.Fatalf("the log holds offsets of group %s, which is gone", id)
		}
	}
}

// check counts everything anew.
func (c *chaos) check() {
	for id, g := range c.m.groups {
		joining, support := 0, map[string]int{}
		for _, m := range g.members {
			if m.awaitsJoin != nil {
				joining++
			}
			for _, p := range m.protocols {
				support[p.Name]++
			}
			if g.byID[m.id] != m || m.instance != nil && g.static[*m.instance] != m.id {
				c.t.Fatalf("%s: member %s is not found by its names", id, m.id)
			}
			if m.session.pos == 0 && !m.keptByWaiting() {
				c.t.Fatalf("%s: nothing ends the session of %s in %s", id, m.id, g.state)
			}
			if g.state == stateStable && m.awaitsSync != nil {
				c.t.Fatalf("%s: %s waits for its sync in a stable group", id, m.id)
			}
		}
		if joining != g.joining || len(g.byID) != len(g.members) || fmt.Sprint(support) != fmt.Sprint(g.support) {
			c.t.Fatalf("%s: counts are wrong: %d joining of %d, support %v of %v", id, g.joining, joining, g.support, support)
		}
		if (g.byID[g.leader] == nil) != (len(g.members) == 0) {
			c.t.Fatalf("%s: leader %q of %d members", id, g.leader, len(g.members))
		}
		if len(g.members) > 0 && g.state == stateEmpty || len(g.members) == 0 && (g.state == stateStable || g.state == stateCompleting) {
			c.t.Fatalf("%s: %d members in %s", id, len(g.members), g.state)
		}
		if g.state == statePreparing && g.join.pos == 0 {
			c.t.Fatalf("%s: nothing ends the rebalance", id)
		}
		if g.generation < c.generations[id] {
			c.t.Fatalf("%s: generation %d after %d", id, g.generation, c.generations[id])
		}
		c.generations[id] = g.generation
		for _, m := range g.members {
			if g.state == stateStable && len(m.assignment) == 0 {
				c.t.Fatalf("%s: %s lives without an assignment", id, m.id)
			}
		}
	}
	for id := range c.generations {
		if c.m.groups[id] == nil {
			delete(c.generations, id)
		}
	}
}
