package ensemble

import (
	"flag"
	"fmt"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/anishathalye/porcupine"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/pelton-broker/pelton/zk/jute"
)

var (
	simSeeds = flag.Int("sim.seeds", 4, "how many seeds of the simulation run")
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
	w.pass(1500)
	// Sessions go on ending: the members are looked at when they have all come to the same end.
	even := func() bool {
		for _, n := range w.nodes {
			if n.core.Tree.Zxid != w.order[len(w.order)-1] || !n.core.IsServing() { // a state may still be on its way
				return false
			}
		}
		return true
	}
	for until := w.nowMs + 5000; !even() && w.nowMs < until; {
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
			w.t.Errorf("member %d knows the sessions %v, there are %v", n.id, n.core.Sessions.Timeouts(), w.open)
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

// leader lets time pass until one member leads and serves.
func (w *world) leader() *simNode {
	w.t.Helper()
	for until := w.nowMs + 10_000; w.nowMs < until; {
		w.step()
		for _, n := range w.nodes {
			if n.up && n.core.ready && n.core.Leader() == n.core.o.ID && !w.wires[[2]int{n.id, n.id}].cut {
				return n
			}
		}
	}
	w.t.Fatal("no leader")
	return nil
}

func (w *world) pass(ms int64) {
	for until := w.nowMs + ms; w.nowMs < until; {
		w.step()
	}
}

// cut separates a member from the others, or joins it again; leader sees it by the wire to itself.
func (w *world) cut(n *simNode, apart bool) {
	for j := range w.nodes {
		w.wires[[2]int{n.id, j}].cut, w.wires[[2]int{j, n.id}].cut = apart, apart
	}
}

// What a leader has begun and could not get through is void: a session that it was about to end lives on, and ends in its time; one that
// it was about to open is none.
func TestWhatALeaderCouldNotGetThroughIsVoid(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	w := newWorld(t, 1, 3, 0)
	w.faults = false
	old := w.leader()
	old.core.Submit(Request{Session: 77, Op: jute.OpCreateSession, TimeoutMs: 4000})
	w.pass(100)
	if !w.open[77] {
		t.Fatal("the session was not opened")
	}
	w.cut(old, true)
	old.core.Submit(Request{Session: 77, Op: jute.OpCloseSession})
	old.core.Submit(Request{Session: 88, Op: jute.OpCreateSession, TimeoutMs: 4000})
	w.pass(20)
	if s := old.core.Sessions.Get(77); !s.Closing || old.core.Sessions.Get(88) == nil {
		t.Fatal("the leader that nobody hears did not take the requests")
	}
	next := w.leader()
	if next == old {
		t.Fatal("no other leader")
	}
	w.cut(old, false)
	w.pass(500)
	next.core.raft.TransferLeader(old.core.o.ID)
	w.pass(300)
	if w.leader() != old {
		t.Fatal("the lead did not come back")
	}
	if s := old.core.Sessions.Get(77); s == nil || s.Closing {
		t.Fatal("the session does not live on")
	}
	if old.core.Sessions.Get(88) != nil {
		t.Fatal("there is a session that nobody else knows")
	}
	w.pass(6000)
	if w.open[77] {
		t.Fatal("the session does not end in its time")
	}
}

// A leader that is sent back to nothing by a member with a new disk tells it everything.
func TestAMemberWithANewDiskIsToldEverything(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 2)
	w := newWorld(t, 2, 3, 3)
	w.faults = false
	w.pass(2500)
	lost := w.nodes[(w.leader().id+1)%3]
	lost.crash(100)
	lost.base, lost.entries = firstBase(w.servers(3), 0), nil
	lost.hard = &pb.HardState{Term: proto.Uint64(lost.base.Term), Vote: proto.Uint64(0), Commit: proto.Uint64(lost.base.Index)}
	lost.snapshot, lost.snapZxid, lost.txns = nil, 0, nil
	w.pass(4000)
	w.settle()
	w.check()
}

// A member that cannot keep up sends its clients away after syncLimit, and has them again when it can.
func TestAMemberThatLagsSendsItsClientsAway(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 3)
	w := newWorld(t, 3, 3, 2)
	w.faults = false
	w.pass(1500)
	slow := w.nodes[(w.leader().id+1)%3]
	slow.slowMs = 20_000
	begun := w.nowMs
	for slow.core.IsServing() && w.nowMs < begun+20_000 {
		w.step()
	}
	if took := w.nowMs - begun; took < slow.core.o.SyncLimitMs || took > 3*slow.core.o.SyncLimitMs {
		t.Fatalf("it stopped serving after %d ms, syncLimit is %d", took, slow.core.o.SyncLimitMs)
	}
	slow.slowMs = 0
	for i := range slow.pending {
		slow.pending[i].atMs = w.nowMs
	}
	w.pass(3000)
	if !slow.core.IsServing() {
		t.Fatal("it does not serve again")
	}
}
