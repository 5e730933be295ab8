package meta

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func id(b byte) ID { return ID{15: b} }

func TestIDText(t *testing.T) {
	const text = "n1Mbf7hATF66SzCa2YoQ2w" // one that Kafka wrote
	got, err := ParseID(text)
	if err != nil || got.String() != text {
		t.Fatalf("%v %v", got, err)
	}
	for _, bad := range []string{"", "n1Mbf7hATF66SzCa2YoQ2", "n1Mbf7hATF66SzCa2YoQ2w==", "n1Mbf7hATF66SzCa2YoQ2+", "n1Mbf7hATF66SzCa2YoQ2wAA"} {
		if _, err := ParseID(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if u := UUID([16]byte{6: 0xff, 8: 0xff}); u[6] != 0x4f || u[8] != 0xbf {
		t.Fatalf("not version 4: %x", u)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("n1Mbf7hATF66SzCa2YoQ2w")
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := ParseID(s); err == nil {
			if again, err := ParseID(got.String()); err != nil || again != got {
				t.Fatalf("%q → %v → %v %v", s, got, again, err)
			}
		}
	})
}

func TestBuilderLeavesItsBaseAlone(t *testing.T) {
	b := NewBuilder(nil)
	b.SetTopic(&Topic{Name: "a", ID: id(1)})
	b.SetBrokers(map[int32]*Broker{2: {ID: 2}, 1: {ID: 1}})
	one := int32(1)
	b.SetBrokerConfig(&one, map[string]string{"x": "1"})
	base := b.Build()
	frozen := fmt.Sprint(base.TopicNames, len(base.Topics), len(base.ByID), base.BrokerIDs, base.BrokerConfigs, base.DefaultBrokerConfig)
	next := NewBuilder(base)
	next.SetTopic(&Topic{Name: "b", ID: id(2)})
	next.SetTopic(&Topic{Name: "a", ID: id(3)})
	next.SetBrokers(map[int32]*Broker{3: {ID: 3}})
	next.SetBrokerConfig(&one, nil)
	next.SetBrokerConfig(nil, map[string]string{"y": "2"})
	img := next.Build()
	if now := fmt.Sprint(base.TopicNames, len(base.Topics), len(base.ByID), base.BrokerIDs, base.BrokerConfigs, base.DefaultBrokerConfig); now != frozen {
		t.Fatalf("base was %s, is %s", frozen, now)
	}
	if !slices.Equal(img.TopicNames, []string{"a", "b"}) || img.ByID[id(1)] != nil || img.ByID[id(3)] != img.Topics["a"] ||
		!slices.Equal(img.BrokerIDs, []int32{3}) || len(img.BrokerConfigs) != 0 || img.DefaultBrokerConfig["y"] != "2" || img.Version != base.Version+1 {
		t.Fatalf("%+v", img)
	}
	same := NewBuilder(img)
	same.SetBrokers(map[int32]*Broker{3: {ID: 3}})
	same.SetController(-1, 0)
	same.SetBrokerConfig(nil, map[string]string{"y": "2"})
	same.RemoveTopic("nothing")
	same.SetTopic(&Topic{Name: "a", ID: id(3)})
	if same.Changed() {
		t.Fatal("setting what is there counts as a change")
	}
}

func TestDiff(t *testing.T) {
	p := func(index, leader int32) *Partition {
		return &Partition{Index: index, Leader: leader, Replicas: []int32{1}, ISR: []int32{1}}
	}
	old := NewBuilder(nil)
	old.SetTopic(&Topic{Name: "changed", ID: id(1), Partitions: []*Partition{p(0, 1), p(1, 1)}})
	old.SetTopic(&Topic{Name: "config", ID: id(2), Config: map[string]string{"a": "1"}})
	old.SetTopic(&Topic{Name: "gone", ID: id(3)})
	old.SetTopic(&Topic{Name: "made-again", ID: id(4)})
	old.SetTopic(&Topic{Name: "same", ID: id(5)})
	old.SetBrokers(map[int32]*Broker{1: {ID: 1, Epoch: 5}, 2: {ID: 2, Epoch: 6}})
	from := old.Build()
	b := NewBuilder(from)
	b.SetTopic(&Topic{Name: "changed", ID: id(1), Partitions: []*Partition{p(0, 1), p(1, 2), p(2, 1)}})
	b.SetTopic(&Topic{Name: "config", ID: id(2), Config: map[string]string{"a": "2"}})
	b.RemoveTopic("gone")
	b.SetTopic(&Topic{Name: "made-again", ID: id(9)})
	b.SetTopic(&Topic{Name: "new", ID: id(6)})
	b.SetTopic(&Topic{Name: "same", ID: id(5)})
	b.SetBrokers(map[int32]*Broker{1: {ID: 1, Epoch: 7}, 3: {ID: 3}})
	d := Diff(from, b.Build())
	names := func(ts []*Topic) (out []string) {
		for _, t := range ts {
			out = append(out, t.Name)
		}
		return out
	}
	if !slices.Equal(names(d.Added), []string{"made-again", "new"}) || !slices.Equal(names(d.Removed), []string{"made-again", "gone"}) || d.Removed[0].ID != id(4) {
		t.Errorf("added %v removed %v", names(d.Added), names(d.Removed))
	}
	if len(d.Changed) != 2 || !slices.Equal(d.Changed[0].Partitions, []int32{1, 2}) || d.Changed[0].Config || !d.Changed[1].Config {
		t.Errorf("changed %+v", d.Changed)
	}
	if len(d.BrokersAdded) != 2 || d.BrokersAdded[0].ID != 1 || len(d.BrokersRemoved) != 1 || d.BrokersRemoved[0].ID != 2 {
		t.Errorf("brokers +%v -%v", d.BrokersAdded, d.BrokersRemoved)
	}
	if same := Diff(from, from); !same.Empty() {
		t.Errorf("an image differs from itself: %+v", same)
	}
}

// Applying a difference to the older image gives the newer one's topics.
func TestDiffIsComplete(t *testing.T) {
	draw := func(t *rapid.T, name string) *Image {
		b := NewBuilder(nil)
		for n, v := range rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.ByteRange(1, 3)).Draw(t, name) {
			b.SetTopic(&Topic{Name: n, ID: ID{0: n[0], 1: v % 2}, Config: map[string]string{"v": string('0' + v)}})
		}
		return b.Build()
	}
	rapid.Check(t, func(t *rapid.T) {
		from, to := draw(t, "from"), draw(t, "to")
		d := Diff(from, to)
		topics := maps.Clone(from.Topics)
		for _, r := range d.Removed {
			delete(topics, r.Name)
		}
		for _, a := range d.Added {
			topics[a.Name] = a
		}
		for _, c := range d.Changed {
			topics[c.New.Name] = c.New
		}
		if !reflect.DeepEqual(topics, to.Topics) {
			t.Fatalf("%v, want %v", topics, to.Topics)
		}
	})
}
