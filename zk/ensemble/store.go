package ensemble

import (
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/pelton-broker/pelton/internal/invariant"
)

// store is the part of raft's log that is on disk, as raft reads it. Snapshots hold the ensemble's secret alone: the tree itself is streamed.
type store struct {
	*raft.MemoryStorage
	c     *Core
	bytes int
}

func newStore(c *Core, s State) *store {
	st := &store{MemoryStorage: raft.NewMemoryStorage(), c: c}
	must(st.ApplySnapshot(baseSnapshot(s.Base)))
	if s.Hard != nil {
		must(st.SetHardState(s.Hard))
	}
	must(st.Append(s.Entries))
	for _, e := range s.Entries {
		st.bytes += len(e.GetData())
	}
	return st
}

func baseSnapshot(b Base) *pb.Snapshot {
	return &pb.Snapshot{Data: b.Secret, Metadata: &pb.SnapshotMetadata{ConfState: b.Conf, Index: proto.Uint64(b.Index), Term: proto.Uint64(b.Term)}}
}

// must is for errors of the memory storage, which only a wrong use of it can cause.
func must(err error) {
	if err != nil {
		invariant.Broken("zk/ensemble: raft storage", err)
	}
}

// Snapshot implements raft.Storage: the state as it is applied now.
func (s *store) Snapshot() (*pb.Snapshot, error) {
	b, err := s.c.Base()
	if err != nil {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	s.c.snapZxid = b.Zxid
	return baseSnapshot(b), nil
}

// Base is the state as it is applied now.
func (c *Core) Base() (Base, error) {
	term, err := c.store.Term(c.applied)
	return Base{Index: c.applied, Term: term, Zxid: c.Tree.Zxid, Conf: c.conf, Secret: c.secret}, err
}

// Tail lists the entries that are on disk and not applied yet, and the hard state as it is on disk.
func (c *Core) Tail() ([]*pb.Entry, *pb.HardState) {
	last, err := c.store.LastIndex()
	must(err)
	hard, _, err := c.store.InitialState()
	must(err)
	if last <= c.applied {
		return nil, hard
	}
	list, err := c.store.Entries(c.applied+1, last+1, 1<<62)
	must(err)
	return list, hard
}

const keepBytes = 64 << 20

// compact forgets applied entries that are old enough, unless a snapshot on its way needs them as its continuation.
func (s *store) compact() {
	first, err := s.FirstIndex()
	must(err)
	keep := uint64(s.c.o.KeepEntries)
	if s.c.applied < first+2*keep && s.bytes < keepBytes {
		return
	}
	if s.bytes >= keepBytes {
		keep /= 10
	}
	to := s.c.applied - min(keep, s.c.applied)
	for _, f := range s.c.outflows {
		to = min(to, f.index)
	}
	if to < first || to <= 1 {
		return
	}
	gone, err := s.Entries(first, to+1, 1<<62)
	must(err)
	for _, e := range gone {
		s.bytes -= len(e.GetData())
	}
	must(s.Compact(to))
}

// Persist is one write to the raft log. Writes are made in order; Core.Persisted follows when one is durable.
type Persist struct {
	Entries []*pb.Entry
	Hard    *pb.HardState // nil when it has not changed
	// Install is a snapshot that came from the leader: its files first, then the log begins anew behind it.
	Install *Install

	flow      *inflow
	responses []*pb.Message
}

// Install is a whole state that came from the leader.
type Install struct {
	Base   Base
	Stream int64 // of the pieces that are its file
}

// Waits is true when somebody waits for the write to be durable.
func (p *Persist) Waits() bool { return len(p.responses) > 0 }

// Persists takes the writes that are to be made.
func (c *Core) Persists() []*Persist {
	out := c.persists
	c.persists = nil
	return out
}

func (c *Core) persist(m *pb.Message) {
	p := &Persist{Entries: m.GetEntries(), responses: m.GetResponses()}
	if m.Term != nil {
		p.Hard = &pb.HardState{Term: m.Term, Vote: m.Vote, Commit: m.Commit}
	}
	if !raft.IsEmptySnap(m.GetSnapshot()) {
		f := c.installed[m.GetSnapshot().GetMetadata().GetIndex()]
		if f == nil {
			invariant.Broken("zk/ensemble: raft took a snapshot that was not received", m.GetSnapshot().GetMetadata().GetIndex())
		}
		p.flow, p.Install = f, &Install{Base: f.base, Stream: f.stream}
		clear(c.installed)
	}
	if n := len(p.Entries); n > 0 {
		c.unstable = p.Entries[n-1].GetIndex()
	} else if p.Install != nil {
		c.unstable = p.Install.Base.Index
	}
	c.persists = append(c.persists, p)
}

// Persisted says that p, and everything before it, is durable.
func (c *Core) Persisted(p *Persist) {
	if p.Install != nil {
		must(c.store.ApplySnapshot(baseSnapshot(p.Install.Base)))
		c.store.bytes = 0
		c.install(p.flow)
	}
	if p.Hard != nil {
		must(c.store.SetHardState(p.Hard))
	}
	must(c.store.Append(p.Entries))
	for _, e := range p.Entries {
		c.store.bytes += len(e.GetData())
	}
	for _, r := range p.responses {
		if r.GetTo() == c.o.ID {
			c.step(r)
		} else {
			c.sendRaft(r)
		}
	}
	if p.Install != nil {
		c.settle(p.flow)
	}
}
