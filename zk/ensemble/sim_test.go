package ensemble

import (
	"flag"
	"fmt"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/anishathalye/porcupine"
)

var (
	simSeeds = flag.Int("sim.seeds", 12, "how many seeds of the simulation run")
	simFirst = flag.Int64("sim.first", 1, "the first seed")
	simTrace = flag.Bool("sim.trace", false, "log every event")
)

// TestSimulation runs ensembles of three and five with everything going wrong that may, and checks that clients could not tell.
func TestSimulation(t *testing.T) {
	total := 0
	for i := range *simSeeds {
		seed := *simFirst + int64(i)
		members := 3 + 2*(i%2)
		t.Run(fmt.Sprintf("seed-%d-of-%d", seed, members), func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, uint64(seed)) // raft draws its election times from there
			w := simulate(t, seed, members)
			n := 0
			for _, c := range w.clients {
				n += c.done
			}
			total += n
			t.Logf("%d operations, %d transactions, %d elections, %d moves, %d installs, %d expired", n, len(w.order), w.elections, w.moves, w.installs, w.expired)
		})
	}
	t.Logf("%d operations in all", total)
}

// TestSimulationIsDeterministic runs one seed twice.
func TestSimulationIsDeterministic(t *testing.T) {
	var sums [2]uint64
	for i := range sums {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, 7)
			sums[i] = simulate(t, 7, 3).hash.Sum64()
		})
	}
	if sums[0] != sums[1] {
		t.Fatalf("the same seed went two ways: %x %x", sums[0], sums[1])
	}
}

func simulate(t *testing.T, seed int64, members int) *world {
	w := newWorld(t, seed, members, 5)
	for w.nowMs < 12_000 {
		w.step()
	}
	w.calm()
	before := make([]int, len(w.clients))
	for i, c := range w.clients {
		before[i] = c.done
	}
	until := w.nowMs + 8000
	for w.nowMs < until {
		w.step()
	}
	for i, c := range w.clients {
		if c.done <= before[i] {
			t.Errorf("client %d gets no answers after the faults are over", i)
		}
	}
	w.probe()
	w.settle()
	w.check()
	return w
}

// probe has one client ask each member for something.
func (w *world) probe() {
	for _, c := range w.clients[1:] {
		c.drop()
		c.nextMs = 1 << 60
	}
	c := w.clients[0]
	for _, n := range w.nodes {
		c.drop()
		c.session, c.only = 0, n
		was := c.done
		for until := w.nowMs + 4000; c.done < was+3 && w.nowMs < until; {
			w.step()
		}
		if c.done < was+3 {
			w.t.Errorf("member %d answers nobody after the faults are over", n.id)
		}
	}
}

// settle lets everything under way end.
func (w *world) settle() {
	for _, c := range w.clients {
		c.drop()
		c.nextMs = 1 << 60
	}
	until := w.nowMs + 1500
	for w.nowMs < until {
		w.step()
	}
}

// check looks at the members and at what the clients were told.
func (w *world) check() {
	w.t.Helper()
	first := w.nodes[0].core
	want := dump(first.Tree)
	for _, n := range w.nodes {
		if !n.core.IsServing() {
			w.t.Errorf("member %d does not serve", n.id)
		}
		if got := dump(n.core.Tree); got != want {
			w.t.Errorf("member %d ends with another tree:\n%s\nand not\n%s", n.id, got, want)
		}
		for _, owner := range n.core.Tree.Owners() {
			if n.core.Sessions.Get(owner) == nil || !w.open[owner] {
				w.t.Errorf("member %d has ephemerals of session %x, which is not open", n.id, owner)
			}
		}
		if n.core.Sessions.Len() != len(w.open) {
			w.t.Errorf("member %d knows %d sessions, there are %d", n.id, n.core.Sessions.Len(), len(w.open))
		}
	}
	var history []porcupine.Operation
	for _, c := range w.clients {
		history = append(history, c.history...)
	}
	switch porcupine.CheckOperationsTimeout(znodeModel(), history, 20*time.Second) {
	case porcupine.Illegal:
		w.t.Error("writes and reads behind a sync are not linearizable")
	case porcupine.Unknown:
		w.t.Log("linearizability not decided in time")
	}
}
