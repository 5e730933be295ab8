package plan

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPlaceEqualsKafka(t *testing.T) {
	text, err := os.ReadFile("testdata/placement.txt")
	if err != nil {
		t.Fatal(err)
	}
	vectors := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		vectors++
		given, want, _ := strings.Cut(line, " -> ")
		var p Placement
		var list string
		if _, err := fmt.Sscanf(given, "partitions=%d factor=%d start=%d first=%d brokers=%s", &p.Partitions, &p.ReplicationFactor,
			&p.Start, &p.FirstPartition, &list); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		p.Shift = p.Start
		var brokers []Candidate
		for b := range strings.SplitSeq(list, ",") {
			id, rack, _ := strings.Cut(b, ":")
			n, err := strconv.Atoi(id)
			if err != nil {
				t.Fatal(err)
			}
			brokers = append(brokers, Candidate{int32(n), rack})
		}
		slices.Reverse(brokers) // the order in which they are given must not matter
		got, err := Place(p, brokers)
		if err != nil {
			t.Fatalf("%s: %v", given, err)
		}
		text := strings.Trim(strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(got), " ", ","), "],[", "] ["), "[]")
		if "["+text+"]" != want {
			t.Errorf("%s\n got [%s]\nwant %s", given, text, want)
		}
	}
	if vectors < 10 {
		t.Fatalf("only %d vectors", vectors)
	}
}

func spreadOf(placed [][]int32, brokers []Candidate, pick func([]int32) []int32) (low, high int) {
	count := map[int32]int{}
	for _, r := range placed {
		for _, id := range pick(r) {
			count[id]++
		}
	}
	low = len(placed) * len(placed)
	for _, b := range brokers {
		low, high = min(low, count[b.ID]), max(high, count[b.ID])
	}
	return low, high
}

func TestPlaceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "brokers")
		racks := rapid.IntRange(0, 4).Draw(t, "racks")
		brokers := make([]Candidate, n)
		distinct := map[string]bool{}
		for i := range brokers {
			brokers[i].ID = int32(i * 7)
			if racks > 0 {
				brokers[i].Rack = fmt.Sprint("r", rapid.IntRange(1, racks).Draw(t, "rack"))
				distinct[brokers[i].Rack] = true
			}
		}
		p := Placement{
			Partitions:        int32(rapid.IntRange(1, 60).Draw(t, "partitions")),
			ReplicationFactor: int32(rapid.IntRange(1, n).Draw(t, "factor")),
			FirstPartition:    int32(rapid.IntRange(0, 20).Draw(t, "first")),
			Start:             rapid.IntRange(0, n-1).Draw(t, "start"),
			Shift:             rapid.IntRange(0, n-1).Draw(t, "shift"),
		}
		placed, err := Place(p, brokers)
		if err != nil {
			t.Fatal(err)
		}
		rackOf := map[int32]string{}
		for _, b := range brokers {
			rackOf[b.ID] = b.Rack
		}
		for i, r := range placed {
			seen, used := map[int32]bool{}, map[string]bool{}
			for _, id := range r {
				seen[id], used[rackOf[id]] = true, true
			}
			if len(r) != int(p.ReplicationFactor) || len(seen) != len(r) {
				t.Fatalf("partition %d: %v", i, r)
			}
			if racks > 0 && len(used) != min(len(distinct), len(r)) {
				t.Fatalf("partition %d: %v is on %d racks of %d", i, r, len(used), len(distinct))
			}
		}
		if low, high := spreadOf(placed, brokers, func(r []int32) []int32 { return r[:1] }); high-low > 1 {
			t.Fatalf("leaders per broker from %d to %d", low, high)
		}
	})
}

// M-F3: six brokers, ten partitions of three replicas: five on each.
func TestPlaceSpreadsReplicasEvenly(t *testing.T) {
	brokers := make([]Candidate, 6)
	for i := range brokers {
		brokers[i].ID = int32(i)
	}
	for start := range 6 {
		placed, err := Place(Placement{Partitions: 10, ReplicationFactor: 3, Start: start, Shift: start}, brokers)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, r := range placed {
			total += len(r)
		}
		if low, high := spreadOf(placed, brokers, func(r []int32) []int32 { return r }); total != 30 || low < 4 || high > 6 {
			t.Fatalf("start %d: %d to %d replicas per broker", start, low, high)
		}
	}
}
