package reactor

import (
	"sync/atomic"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/netpoll"
)

// counters are written by the shard alone.
type counters struct {
	turns     uint64
	slow      uint64
	timers    uint64
	ops       uint64
	sent      uint64
	received  uint64
	keptBack  uint64
	posts     uint64
	published atomic.Pointer[Stats]
}

// Stats is what a shard has done.
type Stats struct {
	Turns, SlowTurns uint64
	Polls, Sleeps    uint64 // waits for events that could not sleep, and that could
	Timers           uint64 // fired
	Ops              uint64 // disk operations completed
	Sent, Received   uint64 // mail to other shards and itself; mail from other shards
	KeptBack         uint64 // mail that found its ring full and went later
	Posts            uint64 // mail from other goroutines
	Conns            int
	ArenaBytes       int64
	BudgetBytes      int64
	Net              netpoll.Stats
	Disk             disk.Stats
}

// Counters is the state at this moment; on the shard's thread.
func (s *Shard) Counters() Stats {
	c := &s.count
	st := Stats{
		Turns: c.turns, SlowTurns: c.slow, Timers: c.timers, Ops: c.ops, Sent: c.sent, Received: c.received,
		KeptBack: c.keptBack, Posts: c.posts, Conns: s.Net.Conns(), ArenaBytes: s.Arena.InUse(), BudgetBytes: s.Budget.InUse(),
		Net: s.Net.Stats, Disk: s.Disk.Stats(),
	}
	st.Polls, st.Sleeps = s.Net.Waits()
	return st
}

// Stats is the state as the shard published it last, at most a second ago while it runs; from any goroutine.
func (s *Shard) Stats() Stats {
	if st := s.count.published.Load(); st != nil {
		return *st
	}
	return Stats{}
}

func (s *Shard) publish() {
	st := s.Counters()
	s.count.published.Store(&st)
}
