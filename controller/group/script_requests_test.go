package group

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// join GROUP [member=] [instance=] [protocols=range,roundrobin] [topics=a,b] [type=] [need-id] [can-skip] …
func scriptJoin(w *scriptWorld, a *scriptArgs) {
	in := &Join{
		To: w.ref(a), Group: a.at(0), MemberID: a.str("member", ""), Instance: a.opt("instance"),
		NeedID: a.has("need-id"), CanSkip: a.has("can-skip"), ClientID: a.str("client", "c"), ClientHost: "/127.0.0.1",
		RebalanceMs: int32(a.num("rebalance", 60_000)), SessionMs: int32(a.num("session", 10_000)),
		ProtocolType: a.str("type", consumerType),
	}
	for _, p := range listOf(a.str("protocols", "range")) {
		in.Protocols = append(in.Protocols, Protocol{p, subscriptionOf(listOf(a.str("topics", "t")))})
	}
	if in.Group == `""` {
		in.Group = ""
	}
	w.step(in)
}

func listOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// subscriptionOf is a consumer's subscription, version 0; the topic "junk" makes it unreadable.
func subscriptionOf(topics []string) []byte {
	if len(topics) == 1 && topics[0] == "junk" {
		return []byte("junk")
	}
	b := binary.BigEndian.AppendUint16(nil, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(topics)))
	for _, t := range topics {
		b = binary.BigEndian.AppendUint16(b, uint16(len(t)))
		b = append(b, t...)
	}
	return binary.BigEndian.AppendUint32(b, 0xFFFFFFFF)
}

// sync GROUP member= gen= [assign=member:bytes,…]
func scriptSync(w *scriptWorld, a *scriptArgs) {
	in := &Sync{
		To: w.ref(a), Group: a.at(0), MemberID: a.str("member", ""), Instance: a.opt("instance"), Generation: int32(a.num("gen", 1)),
		ProtocolType: a.opt("type"), ProtocolName: a.opt("protocol"),
	}
	for _, s := range listOf(a.str("assign", "")) {
		id, bytes, _ := strings.Cut(s, ":")
		in.Assignments = append(in.Assignments, Assignment{id, []byte(bytes)})
	}
	w.step(in)
}

func scriptHeartbeat(w *scriptWorld, a *scriptArgs) {
	w.step(&Heartbeat{To: w.ref(a), Group: a.at(0), MemberID: a.str("member", ""), Instance: a.opt("instance"), Generation: int32(a.num("gen", 1))})
}

// leave GROUP member@instance … ; either side may be empty
func scriptLeave(w *scriptWorld, a *scriptArgs) {
	in := &Leave{To: w.ref(a), Group: a.at(0)}
	for _, s := range a.plain[1:] {
		id, instance, static := strings.Cut(s, "@")
		l := Leaver{MemberID: id}
		if static {
			l.Instance = &instance
		}
		in.Members = append(in.Members, l)
	}
	w.step(in)
}

// commit GROUP topic-partition:offset[:metadata] … [member=] [gen=] [retention=] [time=] [epoch=]
func scriptCommit(w *scriptWorld, a *scriptArgs) {
	in := &Commit{
		To: w.ref(a), Group: a.at(0), MemberID: a.str("member", ""), Instance: a.opt("instance"), Generation: int32(a.num("gen", -1)),
		RetentionMs: a.num("retention", -1), NotFound: a.has("not-found"),
	}
	for _, s := range a.plain[1:] {
		if s == "not-found" {
			continue
		}
		parts := strings.SplitN(s, ":", 3)
		o := CommitOffset{TopicPartition: partitionOf(w, parts[0]), LeaderEpoch: int32(a.num("epoch", -1)), TimestampMs: a.num("time", -1)}
		fmt.Sscan(parts[1], &o.Offset)
		if len(parts) == 3 {
			o.Metadata = parts[2]
		}
		in.Offsets = append(in.Offsets, o)
	}
	w.step(in)
}

func partitionOf(w *scriptWorld, s string) TopicPartition {
	i := strings.LastIndexByte(s, '-')
	tp := TopicPartition{Topic: s[:i]}
	if _, err := fmt.Sscan(s[i+1:], &tp.Partition); err != nil {
		w.t.Fatal(err)
	}
	return tp
}

func scriptFetch(w *scriptWorld, a *scriptArgs) {
	in := &Fetch{To: w.ref(a), Group: a.at(0), All: len(a.plain) == 1}
	for _, s := range a.plain[1:] {
		in.Partitions = append(in.Partitions, partitionOf(w, s))
	}
	w.step(in)
}

func scriptDescribe(w *scriptWorld, a *scriptArgs) {
	w.step(&Describe{To: w.ref(a), Group: a.at(0)})
}

func scriptList(w *scriptWorld, a *scriptArgs) { w.step(&List{To: w.ref(a), States: a.plain}) }

func scriptDeleteGroup(w *scriptWorld, a *scriptArgs) {
	w.step(&Delete{To: w.ref(a), Group: a.at(0)})
}

func scriptDeleteOffsets(w *scriptWorld, a *scriptArgs) {
	in := &DeleteOffsets{To: w.ref(a), Group: a.at(0)}
	for _, s := range a.plain[1:] {
		in.Partitions = append(in.Partitions, partitionOf(w, s))
	}
	w.step(in)
}

func scriptTopicsDeleted(w *scriptWorld, a *scriptArgs) { w.step(&TopicsDeleted{Topics: a.plain}) }

func answerText(a Answer) string {
	var b strings.Builder
	fail := func(err error) bool {
		if err != nil {
			b.WriteString(" error: " + strings.TrimPrefix(err.Error(), "group: "))
		}
		return err != nil
	}
	switch a := a.(type) {
	case *Joined:
		b.WriteString("joined")
		fail(a.Err)
		fmt.Fprintf(&b, " member=%s gen=%d", a.MemberID, a.Generation)
		if a.Err == nil {
			fmt.Fprintf(&b, " protocol=%s leader=%s", optText(a.ProtocolName), a.Leader)
		}
		if a.SkipAssignment {
			b.WriteString(" skip-assignment")
		}
		for _, m := range a.Members {
			fmt.Fprintf(&b, " [%s%s]", m.MemberID, instanceText(m.Instance))
		}
	case *Synced:
		b.WriteString("synced")
		if !fail(a.Err) {
			fmt.Fprintf(&b, " protocol=%s assignment=%s", optText(a.ProtocolName), textOr(string(a.Assignment), "none"))
		}
	case *Beat:
		b.WriteString("beat")
		fail(a.Err)
	case *Left:
		b.WriteString("left")
		fail(a.Err)
		for _, m := range a.Members {
			fmt.Fprintf(&b, " [%s%s", m.MemberID, instanceText(m.Instance))
			fail(m.Err)
			b.WriteString("]")
		}
	case *Committed:
		b.WriteString("committed")
		for _, p := range a.Offsets {
			fmt.Fprintf(&b, " [%s-%d", p.Topic, p.Partition)
			fail(p.Err)
			b.WriteString("]")
		}
	default:
		adminText(&b, a, fail)
	}
	return b.String()
}

func instanceText(s *string) string {
	if s == nil {
		return ""
	}
	return "@" + *s
}

func adminText(b *strings.Builder, a Answer, fail func(error) bool) {
	switch a := a.(type) {
	case *Fetched:
		b.WriteString("fetched")
		fail(a.Err)
		for _, o := range a.Offsets {
			fmt.Fprintf(b, " [%s-%d=%d epoch=%d%s]", o.Topic, o.Partition, o.Offset, o.LeaderEpoch, textOr(":"+o.Metadata, ""))
		}
	case *Described:
		b.WriteString("described")
		fail(a.Err)
		fmt.Fprintf(b, " found=%v %s type=%s protocol=%s", a.Found, a.State, textOr(a.ProtocolType, "none"), textOr(a.Protocol, "none"))
		for _, m := range a.Members {
			fmt.Fprintf(b, " [%s%s metadata=%d assignment=%s]", m.MemberID, instanceText(m.Instance), len(m.Metadata), textOr(string(m.Assignment), "none"))
		}
	case *Listed:
		b.WriteString("listed")
		fail(a.Err)
		for _, g := range a.Groups {
			fmt.Fprintf(b, " [%s %s %s]", g.Group, textOr(g.ProtocolType, "none"), g.State)
		}
	case *Deleted:
		b.WriteString("deleted")
		fail(a.Err)
	case *OffsetsDeleted:
		b.WriteString("offsets-deleted")
		fail(a.Err)
		for _, p := range a.Partitions {
			fmt.Fprintf(b, " [%s-%d", p.Topic, p.Partition)
			fail(p.Err)
			b.WriteString("]")
		}
	}
}
