package reactor

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// leaning plays a script against a Lean.
type leaning struct {
	lean Lean
	here int
	now  int64
	said string
	to   int // where it wants to go
}

func (p *leaning) went(n int, to int, every time.Duration) {
	p.said = "content"
	for i := range n {
		p.now += int64(every)
		switch p.lean.Went(p.here, to, p.now) {
		case Content:
		case Drawn:
			p.said, p.to = fmt.Sprint("wants at ", i+1), to
			return
		case AtHome:
			if p.said != "content" {
				continue
			}
			p.said, p.to = fmt.Sprint("at home at ", i+1), 1-p.here
		}
	}
}

func TestLeanScript(t *testing.T) {
	text, err := os.ReadFile("testdata/lean.txt")
	if err != nil {
		t.Fatal(err)
	}
	var p leaning
	checked := 0
	for i, line := range strings.Split(string(text), "\n") {
		var n int
		var to, every string
		switch {
		case line == "" || line[0] == '#':
		case line == "begin":
			p = leaning{}
		case line == "move":
			p.here = p.to
			p.lean.Moved(p.now)
		case line == "stay":
			p.lean.Stayed()
		case strings.HasPrefix(line, "---- "):
			checked++
			if p.said != line[5:] {
				t.Errorf("line %d: it says %q, not %q", i+1, p.said, line[5:])
			}
		default:
			if _, err := fmt.Sscanf(line, "went %d to %s every %s", &n, &to, &every); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			d, err := time.ParseDuration(every)
			if err != nil {
				t.Fatal(err)
			}
			at := map[string]int{"several": Several, "nowhere": Nowhere, "0": 0, "1": 1, "2": 2}[to]
			p.went(n, at, d)
		}
	}
	if checked < 20 {
		t.Fatalf("only %d expectations", checked)
	}
}

// A client that speaks to all shards evenly stays where it is, and one that mostly speaks to one settles there.
func TestLeanDoesNotFlap(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	even, mostly := leaning{}, leaning{}
	moves := 0
	for range 1_000_000 {
		even.went(1, rng.IntN(2), time.Millisecond)
		if strings.HasPrefix(even.said, "wants") {
			t.Fatal("a client that speaks to both shards evenly wants to move")
		}
		to := 1
		if rng.IntN(50) == 0 {
			to = 0
		}
		mostly.went(1, to, time.Millisecond)
		if strings.HasPrefix(mostly.said, "wants") {
			moves++
			mostly.here = mostly.to
			mostly.lean.Moved(mostly.now)
		}
	}
	if moves != 1 || mostly.here != 1 {
		t.Fatalf("%d moves, on shard %d at last", moves, mostly.here)
	}
}

func TestFitsLeavesWorkWhereThereIsRoom(t *testing.T) {
	for name, c := range map[string]struct {
		mine, theirs, rate, all int64
		want                    bool
	}{
		"both-idle":                   {0, 0, 1000, 1000, true},
		"light":                       {5, 5, 1000, 1000, true},
		"alone-and-heavy":             {80, 40, 1000, 1000, false},
		"one-of-many-on-a-busy-one":   {90, 50, 100, 1000, true},
		"one-of-many-into-a-busy-one": {50, 80, 100, 1000, false},
		"both-full":                   {100, 100, 10, 1000, false},
		"it-would-only-change-sides":  {70, 0, 1000, 1000, false},
		"room-is-filled-up-to-here":   {55, 0, 1000, 1000, true},
		"its-rate-is-not-known-here":  {40, 10, 1000, 0, true},
	} {
		if got := fits(c.mine, c.theirs, c.rate, c.all); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRelievesOnlyACrowdedShard(t *testing.T) {
	for name, c := range map[string]struct {
		mine, theirs, rate, all int64
		want                    bool
	}{
		"not-crowded":            {84, 0, 1, 1000, false},
		"crowded":                {95, 10, 100, 1000, true},
		"the-other-is-too":       {95, 90, 10, 1000, false},
		"alone":                  {100, 0, 1000, 1000, false},
		"it-would-be-as-crowded": {90, 40, 250, 1000, false},
	} {
		if got := relieves(c.mine, c.theirs, c.rate, c.all); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if relieves(c.mine, c.theirs, c.rate, c.all) && fits(c.theirs+c.mine*c.rate/c.all, c.mine-c.mine*c.rate/c.all, c.rate, c.all) {
			t.Errorf("%s: it would come back at once", name)
		}
	}
}

func TestLoadIsTheShareOfTurns(t *testing.T) {
	var l load
	l.busyNs = 80e6
	l.beat(99_999_999, 0, 0)
	if l.busy.Load() != 0 || l.busyNs == 0 {
		t.Fatal("a beat ended before its time")
	}
	l.beat(100e6, 40, 50)
	if l.busy.Load() != 40 || l.rate != 500 || l.seats.Load() != 2 || l.busyNs != 0 {
		t.Fatalf("busy %d, %d frames a second, %d seats", l.busy.Load(), l.rate, l.seats.Load())
	}
	for i := range 10 {
		l.busyNs = 100e6
		l.beat(int64(i+2)*100e6, 0, 50)
	}
	if l.busy.Load() != 100 || l.rate != 0 || l.seats.Load() != 1 {
		t.Fatalf("busy %d, %d frames a second, %d seats", l.busy.Load(), l.rate, l.seats.Load())
	}
}

// A crowded shard gives to the one with the most room, and nothing when none has a seat.
func TestReliefPicksTheLeastBusy(t *testing.T) {
	v := New(Options{Shards: 4, OpenDisk: openFake}, &hooks{})
	for i, busy := range []int64{95, 40, 20, 30} {
		v.shards[i].load.busy.Store(busy)
		v.shards[i].load.seats.Store(1)
	}
	v.shards[0].load.rate = 1000
	if to := v.shards[0].Relief(100); to != v.shards[2] {
		t.Fatalf("given to %v", to)
	}
	v.shards[2].load.seats.Store(0)
	if to := v.shards[0].Relief(100); to != v.shards[3] {
		t.Fatalf("given to %v", to)
	}
	if v.shards[0].Welcomes(v.shards[2], 100) || !v.shards[0].Welcomes(v.shards[3], 100) {
		t.Fatal("a shard without a seat takes connections, or one with a seat does not")
	}
	if to := v.shards[1].Relief(1); to != nil {
		t.Fatalf("a shard with room gave to %v", to)
	}
	for _, s := range v.shards {
		s.load.seats.Store(0)
	}
	if to := v.shards[0].Relief(100); to != nil {
		t.Fatalf("given to %v without a seat", to)
	}
}

// It is asked for every request.
func TestLeanAllocatesNothing(t *testing.T) {
	var l Lean
	now := int64(0)
	if n := testing.AllocsPerRun(1000, func() { now += 1e6; l.Went(0, 1, now) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
