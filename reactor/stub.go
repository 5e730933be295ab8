package reactor

import (
	"github.com/pelton-broker/pelton/internal/arena"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/netpoll"
)

type Message interface{ Deliver(s *Shard) }

type Hooks interface {
	OnStart(s *Shard) error
	OnStop(s *Shard)
	OnOpen(s *Shard, c *netpoll.Conn)
	OnFrame(s *Shard, c *netpoll.Conn, f netpoll.Frame)
	OnClose(s *Shard, c *netpoll.Conn, cause error)
	OnDisk(s *Shard, op *disk.Op)
	OnTurn(s *Shard)
}

type Shard struct {
	ID    int
	Arena *arena.Arena
	Disk  disk.Disk
	Net   *netpoll.Net
	State any
}

func (s *Shard) Now() int64                  { return 0 }
func (s *Shard) WallMs() int64               { return 0 }
func (s *Shard) Send(to *Shard, m Message)   {}
func (s *Shard) Reply(to *Shard, m Message)  {}
func (s *Shard) Post(m Message)              {}
func (s *Shard) Arm(t *Timer, afterNs int64) {}
func (s *Shard) Disarm(t *Timer)             {}
func (s *Shard) Stats() Stats                { return Stats{} }

type Stats struct{ Turns, SlowTurns uint64 }

type Timer struct {
	Fire func(s *Shard)
}

type Options struct {
	Shards      int
	Pin         bool
	Disk        disk.Options
	Net         netpoll.Options
	ArenaBytes  int64
	BudgetBytes int64
	SlowTurnNs  int64
}

type Server struct{}

func New(o Options, h Hooks) *Server                      { return &Server{} }
func (v *Server) Start() error                            { return nil }
func (v *Server) Shards() []*Shard                        { return nil }
func (v *Server) Serve(l *netpoll.Listener)               {}
func (v *Server) Stop()                                   {}
func Route(topic string, partition int32, shards int) int { return 0 }
