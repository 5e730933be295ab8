package group

import (
	"encoding/binary"
	"testing"
)

// A cluster of an older protocol gets values that its Kafka can read, and they say the same here.
func TestValuesOfOlderProtocols(t *testing.T) {
	name := "range"
	for _, v := range []ValueVersions{{0, 0}, {1, 0}, {1, 1}, {2, 2}, {3, 2}, {3, 3}} {
		o := Offset{Offset: 42, LeaderEpoch: -1, Metadata: "by hand", CommitMs: 7, ExpireMs: -1}
		b := encodeOffsetValueAs(&o, v.Offset)
		got, err := DecodeOffsetValue(b)
		if int16(binary.BigEndian.Uint16(b)) != v.Offset || err != nil || got != o {
			t.Errorf("offset of version %d: %+v, %v", v.Offset, got, err)
		}
		g := GroupValue{ProtocolType: "consumer", Generation: 3, Protocol: &name, Leader: &name, StateMs: 9,
			Members: []GroupValueMember{{MemberID: "m", ClientID: "c", ClientHost: "/h", RebalanceMs: 5, SessionMs: 6, Subscription: []byte{1}, Assignment: []byte{2}}}}
		b = encodeGroupValueAs(&g, v.Group)
		back, err := DecodeGroupValue(b)
		if int16(binary.BigEndian.Uint16(b)) != v.Group || err != nil || back.Generation != 3 || len(back.Members) != 1 || back.Members[0].SessionMs != 6 {
			t.Errorf("group of version %d: %+v, %v", v.Group, back, err)
		}
	}
	if (&Options{}).written() != (ValueVersions{3, 3}) {
		t.Error("the newest are not the default")
	}
}

// A Kafka before 2.1 takes a commit without an end of its own for one that has passed: for it, what is kept names the end that retention gives.
func TestCommitsOutliveTheWayToAnOldKafka(t *testing.T) {
	for _, c := range []struct {
		values      ValueVersions
		expire, due int64
	}{{ValueVersions{0, 0}, 50, -1}, {ValueVersions{1, 0}, -1, 1007}, {ValueVersions{1, 1}, 50, 50}, {ValueVersions{2, 2}, -1, -1}, {ValueVersions{3, 3}, -1, -1}, {ValueVersions{3, 3}, 50, 50}} {
		m := &Machine{opt: Options{RetentionMs: 1000, Values: &c.values}}
		got, err := DecodeOffsetValue(m.encodeKept(Offset{Offset: 42, LeaderEpoch: -1, CommitMs: 7, ExpireMs: c.expire}))
		if err != nil || got.Offset != 42 || got.CommitMs != 7 || got.ExpireMs != c.due {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
}

// Kafka 0.8 reads no offset of a partition in which a key has another version than 0.
func TestKeysForKafka08(t *testing.T) {
	for version, due := range map[int16]int16{0: 0, 1: 1, 3: 1} {
		m := &Machine{opt: Options{Values: &ValueVersions{Offset: version}}}
		b := m.offsetKey("g", TopicPartition{"t", 3})
		k, err := DecodeKey(b)
		if got := int16(binary.BigEndian.Uint16(b)); got != due || err != nil || !k.IsOffset || k.Group != "g" || k.TopicPartition != (TopicPartition{"t", 3}) {
			t.Errorf("version %d: key of version %d, %+v, %v", version, got, k, err)
		}
	}
}
