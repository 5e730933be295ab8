package ensemble

import (
	"fmt"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/zk/jute"
)

// Kinds of messages between members: the first byte.
const (
	kindRaft     byte = 1 // raft's own, as it encodes them
	kindForward  byte = 2 // to the leader: a client's request
	kindNack     byte = 3 // from the leader: a generation of requests that will not be carried out
	kindResumed  byte = 4 // from the leader: whether a session may go on
	kindTouch    byte = 5 // to the leader: sessions that were heard of
	kindMoved    byte = 6 // from the leader: a session went on elsewhere
	kindPiece    byte = 7 // from the leader: a piece of its state
	kindPieceAck byte = 8
	kindBehind   byte = 9 // to the leader: it takes this member for one that knew more, its disk was replaced
	kindDrop     byte = 10
)

func (c *Core) send(to uint64, body []byte) {
	if to != 0 && to != c.o.ID {
		c.out = append(c.out, Packet{To: to, Body: body})
	}
}

// sendRaft sends a message of raft's. A snapshot becomes a stream of pieces.
func (c *Core) sendRaft(m *pb.Message) {
	if m.GetType() == pb.MsgSnap {
		c.beginOutflow(m)
		return
	}
	b, err := proto.MarshalOptions{}.MarshalAppend([]byte{kindRaft}, m)
	if err != nil {
		invariant.Broken("zk/ensemble: a message cannot be encoded", err)
	}
	c.send(m.GetTo(), b)
}

// Receive takes one message of a member that has proven to be from.
func (c *Core) Receive(from uint64, body []byte) {
	if len(body) == 0 || from == c.o.ID {
		return
	}
	r := jute.NewReader(body[1:])
	switch body[0] {
	case kindRaft:
		m, err := parseRaft(from, c.o.ID, body[1:])
		if err != nil {
			c.log.Warn("zk ensemble: a message is dropped", "from", from, "err", err)
			return
		}
		c.onRaft(m)
	case kindForward:
		c.onForward(from, &r)
	case kindNack:
		c.onNack(from, &r)
	case kindResumed:
		c.onResumed(from, &r)
	case kindTouch:
		c.onTouch(from, &r)
	case kindMoved:
		c.onMoved(from, &r)
	case kindPiece:
		c.onPiece(from, &r)
	case kindPieceAck:
		c.onPieceAck(from, &r)
	case kindBehind:
		c.onBehind(from, &r)
	case kindDrop:
		c.onDrop(from, &r)
	}
}

// parseRaft reads a message of raft's. Those that raft sends to itself, those in another's name, and those of a type that raft has no table
// entry for, which it would look up all the same, are refused.
func parseRaft(from, to uint64, b []byte) (*pb.Message, error) {
	m := &pb.Message{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, err
	}
	if _, known := pb.MessageType_name[int32(m.GetType())]; !known {
		return nil, fmt.Errorf("%w: type %d", ErrMessage, m.GetType())
	}
	local := raft.IsLocalMsg(m.GetType()) || m.GetType() == pb.MsgProp || m.GetType() == pb.MsgTransferLeader || m.GetType() == pb.MsgSnap
	if m.GetFrom() != from || m.GetTo() != to || local {
		return nil, fmt.Errorf("%w: %s from %d to %d", ErrMessage, m.GetType(), m.GetFrom(), m.GetTo())
	}
	for i, e := range m.GetEntries() {
		if m.GetType() == pb.MsgApp && e.GetIndex() != m.GetIndex()+1+uint64(i) {
			return nil, fmt.Errorf("%w: entries with gaps", ErrMessage)
		}
	}
	return m, nil
}

// onRaft feeds raft with what came. A leader that takes this member's log for longer than it is would make raft
// give up the process; it is told instead.
func (c *Core) onRaft(m *pb.Message) {
	if m.GetType() == pb.MsgHeartbeat && m.GetTerm() >= c.term && m.GetCommit() > c.lastIndex() {
		c.send(m.GetFrom(), jute.AppendLong([]byte{kindBehind}, int64(m.GetTerm())))
		return
	}
	c.step(m)
}

// lastIndex is that of the log as raft sees it, what is on its way to the disk included.
func (c *Core) lastIndex() uint64 {
	last, err := c.store.LastIndex()
	must(err)
	return max(last, c.unstable)
}

// onBehind makes the leader forget what it knew of the members: raft has no other way than a new term.
func (c *Core) onBehind(from uint64, r *jute.Reader) {
	if term := r.Long(); r.Err() == nil && c.leading && uint64(term) == c.term {
		c.log.Warn("zk ensemble: a member has lost its log, the lead is given up so that it is told everything", "member", from)
		c.stepDown()
	}
}
