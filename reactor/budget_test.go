package reactor

import "testing"

func TestBudgetLargestFrameIsNotStarved(t *testing.T) {
	b := NewBudget(100)
	for range 10 {
		if !b.Take(10) {
			t.Fatal("refused within the bound")
		}
	}
	if b.Take(10) {
		t.Fatal("a small one used the lane")
	}
	if !b.Take(80) {
		t.Fatal("the lane was refused to a large one")
	}
	if b.Take(80) || b.InUse() != 180 {
		t.Fatalf("a second one in the lane; %d in use", b.InUse())
	}
	b.Give(80)
	if !b.Take(90) {
		t.Fatal("the lane was not given back")
	}
	b.Give(90)
	for range 10 {
		b.Give(10)
	}
	if b.InUse() != 0 {
		t.Fatalf("%d in use", b.InUse())
	}
	if !b.Take(500) || b.Take(500) {
		t.Fatal("one above the whole bound goes by the lane alone")
	}
}

func TestBudgetGivenBackTwiceBreaks(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("nobody noticed")
		}
	}()
	b := NewBudget(100)
	b.Take(10)
	b.Give(10)
	b.Give(10)
}

func TestRouteSpreadsPartitionsEvenly(t *testing.T) {
	for _, shards := range []int{1, 2, 3, 7, 64} {
		for _, topic := range []string{"", "orders", "__consumer_offsets"} {
			count := make([]int, shards)
			for p := range int32(6 * shards) {
				at := Route(topic, p, shards)
				if at != Route(topic, p, shards) {
					t.Fatal("not stable")
				}
				count[at]++
			}
			for i, n := range count {
				if n != 6 {
					t.Fatalf("%d shards, %q: shard %d has %d of 6", shards, topic, i, n)
				}
			}
		}
	}
	// Where a topic begins depends on its name, so that one-partition topics do not all meet on shard 0.
	first := map[int]bool{}
	for _, topic := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		first[Route(topic, 0, 2)] = true
	}
	if len(first) != 2 {
		t.Fatal("all topics begin on one shard")
	}
}
