package ensemble

import (
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/session"
	"github.com/pelton-broker/pelton/zk/tree"
	"github.com/pelton-broker/pelton/zk/txnlog"
)

// outflow is the leader's state on its way to a member: a fuzzy snapshot in pieces, a few of them unconfirmed at a time.
type outflow struct {
	to     uint64
	id     int64
	index  uint64
	head   []byte
	snap   *txnlog.Snapshot
	sent   int64
	acked  int64
	done   bool
	atTick int64 // of the last sign of life
}

// inflow is a state that comes. Its pieces go to the host, which keeps them.
type inflow struct {
	from   uint64
	id     int64 // of the leader
	stream int64 // of this member
	n      int64
	whole  bool // the last piece came
	bytes  int64
	base   Base
	msg    *pb.Message
	tree   *tree.Tree
	open   map[int64]int32
}

// Piece is a part of a state that comes from the leader. The host puts the parts of a stream into a file in their order and answers each
// by Kept, and the whole by Loaded. A stream whose first piece comes ends the one before.
type Piece struct {
	Stream, N int64
	Zxid      int64 // of the state
	Body      []byte
	Last      bool
}

const (
	pieceBytes   = 128 << 10 // unless Options say otherwise
	piecesAhead  = 8
	maxInflowLen = int64(64 << 30)
	// aliveTicks is how often a member that still reads the state says so.
	aliveTicks = 5
)

// beginOutflow starts to send the state that raft's message stands for. The walk begins later than raft's choice
// of the index; the entries in between are applied again by the receiver, as those of a fuzzy snapshot file are.
func (c *Core) beginOutflow(m *pb.Message) {
	to := m.GetTo()
	c.streams++
	head, err := proto.Marshal(m)
	if err != nil {
		invariant.Broken("zk/ensemble: a message cannot be encoded", err)
	}
	f := &outflow{to: to, id: c.o.Nonce + c.streams, index: m.GetSnapshot().GetMetadata().GetIndex(), atTick: c.ticks,
		head: jute.AppendBuffer(jute.AppendLong(nil, c.snapZxid), head), snap: txnlog.BeginSnapshot(c.Tree, c.OpenSessions())}
	c.log.Info("zk ensemble: the state is sent to a member that is too far behind", "member", to, "zxid", c.snapZxid)
	c.outflows[to] = f
	c.pushPieces(f)
}

func (c *Core) pushPieces(f *outflow) {
	for !f.done && f.sent < f.acked+piecesAhead {
		f.sent++
		b := jute.AppendLong(jute.AppendLong([]byte{kindPiece}, f.id), f.sent)
		piece, done := f.snap.Piece(nil, c.o.PieceBytes)
		f.done = done
		b = jute.AppendBool(b, done)
		if f.sent == 1 {
			b = append(b, f.head...)
		}
		c.send(f.to, append(b, piece...))
	}
}

func (c *Core) onPieceAck(from uint64, r *jute.Reader) {
	id, n := r.Long(), r.Long()
	f := c.outflows[from]
	if r.Err() != nil || f == nil || f.id != id {
		return
	}
	f.acked, f.atTick = max(f.acked, n), c.ticks
	if f.done && f.acked == f.sent {
		c.endOutflow(from, true)
		return
	}
	c.pushPieces(f)
}

func (c *Core) endOutflow(to uint64, ok bool) {
	if c.outflows[to] == nil {
		return
	}
	delete(c.outflows, to)
	status := raft.SnapshotFinish
	if !ok {
		status = raft.SnapshotFailure
	}
	c.raft.ReportSnapshot(to, status)
}

func (c *Core) endOutflows() { clear(c.outflows) }

func (c *Core) outflowTimers() {
	for _, to := range c.members() {
		if f := c.outflows[to]; f != nil && (c.ticks-f.atTick)*c.o.TickMs > c.o.SyncLimitMs {
			c.endOutflow(to, false)
		}
	}
}

// onPiece takes a piece and hands it to the host.
func (c *Core) onPiece(from uint64, r *jute.Reader) {
	id, n, last := r.Long(), r.Long(), r.Bool()
	if r.Err() != nil {
		return
	}
	if n == 1 {
		c.inflows++
		f := &inflow{from: from, id: id, stream: c.inflows, msg: &pb.Message{}}
		f.base.Zxid = r.Long()
		if err := proto.Unmarshal(r.Buffer(), f.msg); err != nil || r.Err() != nil || f.msg.GetFrom() != from || f.msg.GetTo() != c.o.ID || f.msg.GetType() != pb.MsgSnap {
			return
		}
		meta := f.msg.GetSnapshot().GetMetadata()
		f.base.Secret = f.msg.GetSnapshot().GetData()
		f.base.Index, f.base.Term, f.base.Conf = meta.GetIndex(), meta.GetTerm(), meta.GetConfState()
		c.inflow = f
	}
	f := c.inflow
	if f == nil || f.from != from || f.id != id || n != f.n+1 || f.whole {
		return
	}
	f.n, f.whole = n, last
	f.bytes += int64(len(r.Rest()))
	if f.bytes > maxInflowLen {
		c.log.Warn("zk ensemble: the leader's state is larger than a member takes", "bytes", f.bytes)
		c.inflow = nil
		return
	}
	c.pieces = append(c.pieces, Piece{Stream: f.stream, N: n, Zxid: f.base.Zxid, Body: append([]byte(nil), r.Rest()...), Last: last})
}

// Pieces takes the parts of a state that came.
func (c *Core) Pieces() []Piece {
	out := c.pieces
	c.pieces = nil
	return out
}

// Kept says that a piece is in its file: the leader may send another. The last one is confirmed only when the state is in place.
func (c *Core) Kept(stream, n int64) {
	if f := c.inflow; f != nil && f.stream == stream && !(f.whole && n == f.n) {
		c.confirm(f, n)
	}
}

func (c *Core) confirm(f *inflow, n int64) {
	c.send(f.from, jute.AppendLong(jute.AppendLong([]byte{kindPieceAck}, f.id), n))
}

// inflowTimers tells the leader that the state is still being read, so that it keeps what follows it.
func (c *Core) inflowTimers() {
	if f := c.inflow; f != nil && f.whole && c.ticks%aliveTicks == 0 {
		c.confirm(f, f.n-1)
	}
}

// Loaded says what the pieces of a stream came to; t is nil when they could not be kept or read. True when the host must keep the file
// for an Install, which follows when raft wants it.
func (c *Core) Loaded(stream int64, t *tree.Tree, open map[int64]int32) bool {
	f := c.inflow
	if f == nil || f.stream != stream || !f.whole {
		return false
	}
	if t == nil {
		c.inflow = nil // the leader gives up in its time, and begins again
		return false
	}
	t.Zxid, t.Extended, t.Schemes = f.base.Zxid, c.Tree.Extended, c.Tree.Schemes
	t.EnforceQuota, t.Exceeded = c.Tree.EnforceQuota, c.Tree.Exceeded
	f.tree, f.open = t, open
	if st := c.raft.BasicStatus().HardState; f.base.Index <= max(c.applied, st.GetCommit()) || f.msg.GetTerm() < st.GetTerm() {
		c.settle(f)
		return false
	}
	c.installed[f.base.Index] = f
	c.step(f.msg)
	return true
}

// settle ends a stream for the leader.
func (c *Core) settle(f *inflow) {
	if c.inflow == f {
		c.inflow = nil
	}
	c.confirm(f, f.n)
}

// install puts the state in place, once it is on disk.
func (c *Core) install(f *inflow) {
	c.Tree, c.conf, c.applied = f.tree, f.base.Conf, f.base.Index
	c.unstable = f.base.Index
	c.takeSecret(f.base.Secret)
	c.Sessions = session.NewTracker(c.o.SessionTickMs, c.nowMs)
	for id, timeout := range f.open {
		c.Sessions.Add(id, timeout, c.nowMs)
	}
	c.Tree.EnsureConfig()
	c.readBook()
	c.log.Info("zk ensemble: the leader's state is taken over", "zxid", c.Tree.Zxid)
	c.setServing(false)
	c.lost()
	c.sink.Replaced()
	c.join()
}
