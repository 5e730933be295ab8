package reactor

import (
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/netpoll"
)

// Hooks are the up-calls of a loop, all on the shard's thread. None may block.
type Hooks interface {
	// OnStart runs before the first turn; an error makes Server.Start fail.
	OnStart(s *Shard) error
	// OnStop runs once when the server stops, before the connections are closed. Turns go on until nothing is in flight anywhere.
	OnStop(s *Shard)

	OnOpen(s *Shard, c *netpoll.Conn)
	OnFrame(s *Shard, c *netpoll.Conn, f netpoll.Frame)
	OnClose(s *Shard, c *netpoll.Conn, cause error)

	// OnDisk gets a completed operation.
	OnDisk(s *Shard, op *disk.Op)
	// OnTurn comes after the events of a turn and before its submit and its replies: append chains are built here. When operations
	// complete at once it is called again in the same turn.
	OnTurn(s *Shard)
}

// RawHook is implemented by Hooks that want the first bytes of a connection (netpoll.Options.Sniff).
type RawHook interface {
	OnRaw(s *Shard, c *netpoll.Conn, first []byte) bool
}

// netHandler gives the connections' up-calls their shard.
type netHandler struct{ s *Shard }

func (h netHandler) OnOpen(c *netpoll.Conn) { h.s.h.OnOpen(h.s, c) }

func (h netHandler) OnFrame(c *netpoll.Conn, f netpoll.Frame) { h.s.h.OnFrame(h.s, c, f) }

func (h netHandler) OnClose(c *netpoll.Conn, cause error) {
	h.s.h.OnClose(h.s, c, cause)
}

func (h netHandler) OnRaw(c *netpoll.Conn, first []byte) bool {
	raw, ok := h.s.h.(RawHook)
	return ok && raw.OnRaw(h.s, c, first)
}
