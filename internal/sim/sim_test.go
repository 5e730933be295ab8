package sim

import (
	"flag"
	"hash/fnv"
	"strconv"
	"testing"
)

var (
	seedFlag  = flag.String("seed", "", "play this seed: a number, or any word")
	stepsFlag = flag.Int("steps", 1500, "steps of each run")
	tellFlag  = flag.Bool("tell", false, "log every event and every call on the disk")
	mostFlag  = flag.Int("most", 10, "stop after so many red seeds")
	seedsFlag = flag.Int("seeds", 0, "play this many seeds, from -seed on")
)

// defaultSeeds is how many seeds make test plays.
const defaultSeeds = 12

func firstSeed() uint64 {
	if *seedFlag == "" {
		return 1
	}
	if n, err := strconv.ParseUint(*seedFlag, 0, 64); err == nil {
		return n
	}
	h := fnv.New64a()
	h.Write([]byte(*seedFlag))
	return h.Sum64() % 1_000_000_007
}

// No promise is broken in any run. A red seed is played again by make sim SEED=.
func TestSim(t *testing.T) {
	n := *seedsFlag
	if n == 0 {
		n = defaultSeeds
		if *seedFlag != "" {
			n = 1
		}
	}
	var sum World
	failed := 0
	for seed := firstSeed(); n > 0; seed, n = seed+1, n-1 {
		cfg := Config{Seed: seed, Steps: *stepsFlag}
		if *tellFlag {
			cfg.Say = t.Logf
		}
		w, err := Run(cfg)
		if err != nil {
			t.Error(err)
			if failed++; failed == *mostFlag {
				t.Fatalf("%d seeds failed, the rest is not played", failed)
			}
		}
		sum.Acked += w.Acked
		sum.Kills += w.Kills
		sum.Cuts += w.Cuts
		sum.Faults += w.Faults
		sum.Reads += w.Reads
		sum.Reopened += w.Reopened
		sum.Lost += w.Lost
		sum.Cleaned += w.Cleaned
		sum.Moved += w.Moved
	}
	t.Logf("%d appends acknowledged, %d reads, %d kills, %d power cuts, %d other faults, %d logs opened, %d cleanings, %d moves, %d times an end was lost that nobody was promised",
		sum.Acked, sum.Reads, sum.Kills, sum.Cuts, sum.Faults, sum.Reopened, sum.Cleaned, sum.Moved, sum.Lost)
	if *stepsFlag >= 1000 && (sum.Acked < 50 || sum.Kills+sum.Cuts < 5 || sum.Reads < 50) {
		t.Error("hardly anything happened: this proves nothing")
	}
}

// A seed is one run: played twice it gives the same trace.
func TestSimIsDeterministic(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		a, _ := Run(Config{Seed: seed, Steps: 800})
		b, _ := Run(Config{Seed: seed, Steps: 800})
		if a.Trace() != b.Trace() {
			t.Errorf("seed %d: two runs differ", seed)
		}
		if c, _ := Run(Config{Seed: seed + 1000, Steps: 800}); c.Trace() == a.Trace() {
			t.Errorf("seeds %d and %d give the same run", seed, seed+1000)
		}
	}
}
