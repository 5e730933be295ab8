package server

import (
	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/tree"
	"github.com/pelton-broker/pelton/zk/txnlog"
)

// Proposer puts transactions into one order and says when they are final. Zxids are handed out here, so
// that an ensemble's leader can begin a new epoch. What is proposed becomes final in that order.
type Proposer interface {
	// NextZxid is the zxid that the next Propose must carry.
	NextZxid() int64
	Propose(x *tree.Txn)
	// Turn sends what was proposed since the last one on its way.
	Turn()
	// OnDisk takes a completed operation that belongs to the proposer.
	OnDisk(op *disk.Op)
	// Final is the zxid up to which transactions may be applied and answered.
	Final() int64
	// Roll begins a new log file: a snapshot is on its way.
	Roll()
	// Err ends the server.
	Err() error
	Close() error
}

// solo is the order of a server alone: its own log decides.
type solo struct {
	log     *txnlog.Log
	last    int64
	clock   clock.Clock
	m       *metrics
	begunNs int64 // when the write in flight was handed to the disk
	counted uint64
}

func newSolo(l *txnlog.Log, last int64, c clock.Clock, m *metrics) *solo {
	return &solo{log: l, last: last, clock: c, m: m}
}

func (s *solo) NextZxid() int64 { return s.last + 1 }

func (s *solo) Propose(x *tree.Txn) {
	s.last = x.Zxid
	s.log.Append(x)
}

func (s *solo) Turn() {
	writes := s.log.Writes
	s.log.Turn()
	if s.log.Writes != writes {
		s.begunNs = s.clock.Mono()
		s.m.batch.add(int64(s.log.Records - s.counted))
		s.counted = s.log.Records
	}
}

func (s *solo) OnDisk(op *disk.Op) {
	s.log.OnDisk(op)
	s.m.fsync.add((s.clock.Mono() - s.begunNs) / 1e6)
}

func (s *solo) Final() int64 { return s.log.Durable() }
func (s *solo) Roll()        { s.log.Roll() }
func (s *solo) Err() error   { return s.log.Err() }
func (s *solo) Close() error { return s.log.Close() }
