package group

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestExpiryGoesInParts: a round over many offsets lets other steps in between, and still ends.
func TestExpiryGoesInParts(t *testing.T) {
	o := testOptions()
	o.RetentionMs, o.RetentionCheckMs = 1000, 5000
	m := New(o)
	now := Now{WallMs: 1000, MonoMs: 1}
	m.Step(now, &Loaded{From: NewReplay()})
	for i := range 50 {
		in := &Commit{To: "c", Group: fmt.Sprintf("g%02d", i), Generation: -1, RetentionMs: -1}
		for p := range int32(200) {
			in.Offsets = append(in.Offsets, CommitOffset{TopicPartition: TopicPartition{"t", p}, LeaderEpoch: -1, TimestampMs: -1})
		}
		fx := m.Step(now, in)
		m.Step(now, &Appended{Token: fx.Appends[0].Token, Base: int64(i)})
	}
	steps, most, gone := 0, 0, 0
	for m.Groups() > 0 {
		if steps++; steps > 100 {
			t.Fatalf("%d groups are left after 100 steps", m.Groups())
		}
		next := m.timers.next()
		now.WallMs, now.MonoMs = now.WallMs+next-now.MonoMs, next
		tombstones := 0
		for _, a := range append([]Append(nil), m.Step(now, &Tick{}).Appends...) {
			tombstones += len(a.Records)
			m.Step(now, &Appended{Token: a.Token, Base: 1 << 20})
		}
		most, gone = max(most, tombstones), gone+tombstones
	}
	if gone != 50*200 || most > expireScan+200 {
		t.Fatalf("%d tombstones, up to %d in one step", gone, most)
	}
	if next := m.timers.next(); next != now.MonoMs+5000 {
		t.Fatalf("the next round comes after %d ms", next-now.MonoMs)
	}
}

// TestNamesThatRecordsCannotHold: what would be a damaged record is refused; flexible requests can bring such names.
func TestNamesThatRecordsCannotHold(t *testing.T) {
	m := New(testOptions())
	now := Now{WallMs: 1000, MonoMs: 1}
	m.Step(now, &Loaded{From: NewReplay()})
	long := strings.Repeat("x", maxString+1)
	join := func(change func(in *Join)) *Join {
		in := &Join{To: "r", Group: "g", ClientID: "c", SessionMs: 10_000, ProtocolType: "consumer", Protocols: []Protocol{{Name: "range"}}}
		change(in)
		return in
	}
	for name, in := range map[string]Input{
		"group":    join(func(in *Join) { in.Group = long }),
		"member":   join(func(in *Join) { in.MemberID = long }),
		"client":   join(func(in *Join) { in.ClientID = long }),
		"instance": join(func(in *Join) { in.Instance = &long }),
		"type":     join(func(in *Join) { in.ProtocolType = long }),
		"protocol": join(func(in *Join) { in.Protocols = []Protocol{{Name: "range"}, {Name: long}} }),
		"commit":   &Commit{To: "r", Group: long, Generation: -1, Offsets: []CommitOffset{{}}},
	} {
		fx := m.Step(now, in)
		var err error
		switch a := fx.Replies[0].Answer.(type) {
		case *Joined:
			err = a.Err
		case *Committed:
			err = a.Offsets[0].Err
		}
		if !errors.Is(err, ErrTooLong) || len(fx.Appends) > 0 {
			t.Errorf("%s of %d bytes: %v", name, len(long), err)
		}
	}
	if m.Groups() != 0 {
		t.Errorf("%d groups were made", m.Groups())
	}
	o := testOptions()
	o.MetadataMax = 1 << 20
	m = New(o)
	m.Step(now, &Loaded{From: NewReplay()})
	fx := m.Step(now, &Commit{To: "r", Group: "g", Generation: -1, Offsets: []CommitOffset{{Metadata: long}}})
	if a := fx.Replies[0].Answer.(*Committed); !errors.Is(a.Offsets[0].Err, ErrMetadataTooLarge) {
		t.Errorf("metadata over what a record can hold: %v", a.Offsets[0].Err)
	}
}
