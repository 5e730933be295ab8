package ensemble

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand"
	"sort"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
	"github.com/pelton-broker/pelton/zk/txnlog"
)

// world is a whole ensemble in one goroutine: members, the network between them, their disks and clocks, and clients. Everything that
// happens follows from the seed.
type world struct {
	secret  []byte // that they agreed on
	t       *testing.T
	rng     *rand.Rand
	nowMs   int64 // true time
	nodes   []*simNode
	wires   map[[2]int]*wire
	clients []*simClient
	hash    interface {
		io.Writer
		Sum64() uint64
	}

	// committed is what the first member to apply a zxid applied: all others must do the same.
	committed map[int64][]byte
	order     []int64
	touched   map[string][]int64 // zxids that changed a path
	leaders   map[uint64]uint64  // who led in a term
	seqNames  map[string]bool
	open      map[int64]bool // sessions by the committed order
	versions  map[string]int32
	lastConn  map[int64]int64 // the newest connection of each client that wrote
	rows      map[int64]int   // what each connection's row of writes has come to
	faults    bool
	elections int
	moves     int
	installs  int
	expired   int
}

// wire is one direction between two members.
type wire struct {
	queue []parcel
	cut   bool
}

type parcel struct {
	atMs int64
	body []byte // nil: the link ended
}

// simNode is a member and what it has on disk.
type simNode struct {
	w       *world
	id      int
	core    *Core
	up      bool
	lives   int64
	startMs int64 // when it comes back
	pauseMs int64 // it does nothing until then
	rate    float64
	wallMs  int64 // offset of its wall clock
	clockMs float64

	base    Base
	hard    *pb.HardState
	entries []*pb.Entry
	pending []pendingWrite
	slowMs  int64 // how long its disk takes

	// snapshot and txns are the files beside the raft log: txns may lose its end in a crash.
	snapshot [][]byte
	snapZxid int64
	txns     [][]byte

	// spool are the states on their way to the disk, pieces what was not written yet.
	spool  map[int64][][]byte
	pieces []pendingPiece
}

type pendingPiece struct {
	p    Piece
	atMs int64
}

type pendingWrite struct {
	p    *Persist
	atMs int64
}

func newWorld(t *testing.T, seed int64, members, clients int) *world {
	w := &world{t: t, rng: rand.New(rand.NewSource(seed)), nowMs: 1000, wires: map[[2]int]*wire{}, committed: map[int64][]byte{}, touched: map[string][]int64{},
		leaders: map[uint64]uint64{}, seqNames: map[string]bool{}, open: map[int64]bool{}, versions: map[string]int32{}, rows: map[int64]int{}, lastConn: map[int64]int64{}, hash: fnv.New64a(), faults: true}
	for i := range members {
		n := &simNode{w: w, id: i, rate: 1, base: firstBase(w.servers(members), 0), wallMs: 1_700_000_000_000}
		n.hard = &pb.HardState{Term: proto.Uint64(n.base.Term), Vote: proto.Uint64(0), Commit: proto.Uint64(n.base.Index)}
		w.nodes = append(w.nodes, n)
		for j := range members {
			w.wires[[2]int{i, j}] = &wire{}
		}
	}
	for _, n := range w.nodes {
		n.start()
	}
	for i := range clients {
		w.clients = append(w.clients, newSimClient(w, i))
	}
	return w
}

func (w *world) servers(n int) []Server {
	var out []Server
	for i := range n {
		out = append(out, Server{ID: uint64(i), Host: fmt.Sprintf("h%d", i), Peer: 1, Election: 2})
	}
	return out
}

func (w *world) note(format string, args ...any) {
	fmt.Fprintf(w.hash, "%d ", w.nowMs)
	fmt.Fprintf(w.hash, format+"\n", args...)
	if *simTrace {
		w.t.Logf("%d "+format, append([]any{w.nowMs}, args...)...)
	}
}

func (n *simNode) start() {
	n.up, n.lives = true, n.lives+1
	t := tree.New()
	sessions := map[int64]int32{}
	if n.snapshot != nil {
		var err error
		if t, sessions, err = txnlog.ParsePieces(n.snapshot); err != nil {
			n.w.t.Fatalf("snapshot of member %d: %v", n.id, err)
		}
		t.Zxid = n.snapZxid
	}
	var res tree.Result
	for _, b := range n.txns {
		x, _, err := tree.ParseTxn(b)
		if err != nil {
			n.w.t.Fatal(err)
		}
		if x.Zxid <= t.Zxid {
			continue
		}
		switch x.Op {
		case jute.OpCreateSession:
			sessions[x.Session] = x.TimeoutMs
		case jute.OpCloseSession:
			delete(sessions, x.Session)
		}
		t.Apply(x, &res)
	}
	if t.Zxid < n.base.Zxid {
		n.w.t.Fatalf("member %d: transactions to %x, raft log from %x", n.id, t.Zxid, n.base.Zxid)
	}
	core, err := NewCore(Options{ID: raftID(uint64(n.id)), Nonce: n.w.rng.Int63() >> 2, NowMs: int64(n.clockMs), WallMs: n.wall(), TickMs: 50, ElectionTicks: 10, HeartbeatTicks: 2,
		SessionTickMs: 500, SyncLimitMs: 3000, Tree: t, Sessions: sessions, Servers: n.w.servers(len(n.w.nodes)), Secret: bytes.Repeat([]byte{byte(n.id), byte(n.lives)}, secretSize/2), KeepEntries: 20, PieceBytes: 300, ReconfigEnabled: true,
		State: State{Base: n.base, Hard: proto.Clone(n.hard).(*pb.HardState), Entries: append([]*pb.Entry(nil), n.entries...)}, Log: slog.New(slog.DiscardHandler), Sink: n})
	if err != nil {
		n.w.t.Fatal(err)
	}
	n.core = core
	n.w.note("start %d zxid %x", n.id, t.Zxid)
}

func (n *simNode) wall() int64 { return n.wallMs + int64(n.clockMs) }

// crash loses what was not durable: of the raft log all but a beginning of what was in flight, of the transaction log any end.
func (n *simNode) crash(backMs int64) {
	keep := n.w.rng.Intn(len(n.pending) + 1)
	for _, p := range n.pending[:keep] {
		n.write(p.p)
	}
	n.pending, n.pieces, n.spool = nil, nil, nil
	n.up, n.startMs = false, n.w.nowMs+backMs
	lost := n.w.rng.Intn(10)
	for lost > 0 && len(n.txns) > 0 {
		x, _, err := tree.ParseTxn(n.txns[len(n.txns)-1])
		if err != nil || x.Zxid <= n.base.Zxid || x.Zxid <= n.snapZxid {
			break
		}
		n.txns = n.txns[:len(n.txns)-1]
		lost--
	}
	for j := range n.w.nodes {
		n.w.resetWire(n.id, j)
		n.w.resetWire(j, n.id)
	}
	for _, c := range n.w.clients {
		if c.at == n {
			c.drop()
		}
	}
	n.w.note("crash %d", n.id)
}

// write puts one write on the disk.
func (n *simNode) write(p *Persist) {
	if p.Install != nil {
		n.snapshot, n.snapZxid, n.txns = n.spool[p.Install.Stream], p.Install.Base.Zxid, nil
		if n.snapshot == nil {
			n.w.t.Fatalf("member %d: the state of stream %d is not there", n.id, p.Install.Stream)
		}
		n.base, n.entries = p.Install.Base, nil
	}
	if p.Hard != nil {
		n.hard = proto.Clone(p.Hard).(*pb.HardState)
	}
	for _, e := range p.Entries {
		if keep := int(e.GetIndex() - n.base.Index - 1); keep <= len(n.entries) {
			n.entries = append(n.entries[:keep:keep], e)
		} else {
			n.w.t.Fatalf("member %d: entry %d leaves a gap", n.id, e.GetIndex())
		}
	}
}

// turn lets a member work for one step.
func (n *simNode) turn() {
	w := n.w
	if !n.up {
		if w.nowMs >= n.startMs {
			n.start()
		}
		return
	}
	if w.nowMs < n.pauseMs {
		return
	}
	for j := range w.nodes {
		q := w.wires[[2]int{j, n.id}]
		for len(q.queue) > 0 && q.queue[0].atMs <= w.nowMs {
			p := q.queue[0]
			q.queue = q.queue[1:]
			if p.body == nil {
				n.core.LinkDown(raftID(uint64(j)))
			} else {
				n.core.Receive(raftID(uint64(j)), p.body)
			}
		}
	}
	for len(n.pending) > 0 && n.pending[0].atMs <= w.nowMs {
		p := n.pending[0].p
		n.pending = n.pending[1:]
		n.write(p)
		n.core.Persisted(p)
	}
	for len(n.pieces) > 0 && n.pieces[0].atMs <= w.nowMs {
		p := n.pieces[0].p
		n.pieces = n.pieces[1:]
		n.keep(p)
	}
	n.core.Turn(int64(n.clockMs), n.wall())
	if n.core.leading {
		if was, ok := w.leaders[n.core.term]; ok && was != n.core.o.ID {
			w.t.Fatalf("two leaders in term %d", n.core.term)
		} else if !ok {
			w.elections++
			w.leaders[n.core.term] = n.core.o.ID
		}
	}
	n.core.bookChanged = false
	n.drainOut()
	n.trim()
}

// keep is the host's side of a state that comes.
func (n *simNode) keep(p Piece) {
	if n.spool == nil {
		n.spool = map[int64][][]byte{}
	}
	n.spool[p.Stream] = append(n.spool[p.Stream], p.Body)
	n.core.Kept(p.Stream, p.N)
	if !p.Last {
		return
	}
	t, open, err := txnlog.ParsePieces(n.spool[p.Stream])
	if err != nil {
		n.w.t.Fatalf("member %d: the state of stream %d: %v", n.id, p.Stream, err)
	}
	if !n.core.Loaded(p.Stream, t, open) {
		delete(n.spool, p.Stream)
	}
}

func (n *simNode) drainOut() {
	w := n.w
	for _, p := range n.core.Pieces() {
		at := w.nowMs + n.slowMs + int64(w.rng.Intn(3))
		if p.Last {
			at += int64(w.rng.Intn(6000)) // it is being read: longer than syncLimit, now and then
		}
		if len(n.pieces) > 0 {
			at = max(at, n.pieces[len(n.pieces)-1].atMs)
		}
		n.pieces = append(n.pieces, pendingPiece{p: p, atMs: at})
	}
	for _, p := range n.core.Packets() {
		to := int(p.To - 1)
		q := w.wires[[2]int{n.id, to}]
		if q.cut || !w.nodes[to].up {
			continue
		}
		at := w.nowMs + 1 + int64(w.rng.Intn(4))
		if w.faults && w.rng.Intn(200) == 0 {
			at += int64(w.rng.Intn(400))
		}
		if len(q.queue) > 0 {
			at = max(at, q.queue[len(q.queue)-1].atMs) // one connection keeps its order
		}
		q.queue = append(q.queue, parcel{atMs: at, body: bytes.Clone(p.Body)})
	}
	for _, p := range n.core.Persists() {
		at := w.nowMs + n.slowMs + int64(w.rng.Intn(3))
		if len(n.pending) > 0 {
			at = max(at, n.pending[len(n.pending)-1].atMs)
		}
		n.pending = append(n.pending, pendingWrite{p: p, atMs: at})
	}
}

// trim begins the raft log anew behind what is applied, as a roll does, so that laggards need the whole state.
func (n *simNode) trim() {
	if len(n.entries) < 60 || len(n.pending) > 0 {
		return
	}
	b, err := n.core.Base()
	if err != nil {
		n.w.t.Fatal(err)
	}
	tail, hard := n.core.Tail()
	n.base, n.entries, n.hard = b, append([]*pb.Entry(nil), tail...), proto.Clone(hard).(*pb.HardState)
}

// resetWire ends a connection: what is on its way is lost, and both ends notice.
func (w *world) resetWire(from, to int) {
	q := w.wires[[2]int{from, to}]
	q.queue = append(q.queue[:0], parcel{atMs: w.nowMs + 1})
	back := w.wires[[2]int{to, from}]
	back.queue = append(back.queue, parcel{atMs: w.nowMs + 1})
	sort.SliceStable(back.queue, func(i, j int) bool { return back.queue[i].atMs < back.queue[j].atMs })
}

// step lets 2 ms pass.
func (w *world) step() {
	w.nowMs += 2
	for _, n := range w.nodes {
		n.clockMs += 2 * n.rate
	}
	if w.faults {
		w.fault()
	}
	for _, i := range w.rng.Perm(len(w.nodes)) {
		w.nodes[i].turn()
	}
	for _, c := range w.clients {
		c.turn()
	}
}

// fault does harm, now and then.
func (w *world) fault() {
	if w.rng.Intn(150) != 0 {
		return
	}
	n := w.nodes[w.rng.Intn(len(w.nodes))]
	switch w.rng.Intn(9) {
	case 0, 1:
		if n.up && w.down() < (len(w.nodes)+1)/2 {
			n.crash(int64(200 + w.rng.Intn(3000)))
		}
	case 2: // split: one way or both
		for j := range w.nodes {
			both := w.rng.Intn(3) > 0
			if cut := w.rng.Intn(2) == 0; cut {
				w.wires[[2]int{n.id, j}].cut = true
				w.wires[[2]int{j, n.id}].cut = both || w.wires[[2]int{j, n.id}].cut
			}
		}
		w.note("split %d", n.id)
	case 3, 4:
		for _, q := range w.wires {
			q.cut = false
		}
		w.note("heal")
	case 5:
		n.pauseMs = w.nowMs + int64(w.rng.Intn(2500))
		w.note("pause %d", n.id)
	case 6:
		n.slowMs = int64(w.rng.Intn(60))
	case 7:
		n.rate = 0.9 + 0.2*w.rng.Float64()
		n.wallMs += int64(w.rng.Intn(7_200_000)) - 3_600_000
	case 8:
		w.resetWire(n.id, w.rng.Intn(len(w.nodes)))
	}
}

func (w *world) down() int {
	d := 0
	for _, n := range w.nodes {
		if !n.up {
			d++
		}
	}
	return d
}

// calm ends the faults and gives everybody time.
func (w *world) calm() {
	w.faults = false
	for _, q := range w.wires {
		q.cut = false
	}
	for _, n := range w.nodes {
		n.slowMs, n.pauseMs, n.startMs, n.rate = 0, 0, 0, 1
	}
}
