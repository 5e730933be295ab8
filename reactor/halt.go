package reactor

import "sync/atomic"

// halt is a shard's part in the server's stop: it closes its connections, then goes on turning until no shard has anything in flight,
// since what one completes may be mail to another.
type halt struct {
	begun   bool          // OnStop was called
	quiet   atomic.Bool   // nothing in flight here, and asleep
	version atomic.Uint64 // moved each time the shard stops being quiet
	dead    atomic.Bool   // the loop ended, or never began
}

// due is true when the stop needs a turn now.
func (h *halt) due(s *Shard) bool {
	v := s.server
	return v.stopping.Load() && !h.begun || v.final.Load()
}

// finished is asked between turns.
func (h *halt) finished(s *Shard) bool {
	v := s.server
	if v.stopping.Load() && !h.begun {
		h.begun = true
		s.h.OnStop(s)
		closeAll(s)
	}
	return v.final.Load()
}

// settle is called before the shard sleeps.
func (h *halt) settle(s *Shard) {
	if !h.begun || s.Disk.InFlight() > 0 || s.self.len() > 0 || s.Net.Conns() > 0 || s.Net.Pending() {
		return
	}
	for i := range s.out {
		if o := &s.out[i]; o.late.len() > 0 && !o.to.halt.dead.Load() {
			return
		}
	}
	h.quiet.Store(true)
	s.server.poke()
}

// active is called after each sleep, before anything is read.
func (h *halt) active() {
	if h.begun && h.quiet.Load() {
		h.version.Add(1)
		h.quiet.Store(false)
	}
}

// allQuiet is true when every shard is quiet and no mail lies between them. A shard that was woken, worked and fell quiet again between
// the two looks has moved its version.
func (v *Server) allQuiet() bool {
	for i, s := range v.shards {
		v.seen[i] = s.halt.version.Load()
		if !s.halt.quiet.Load() && !s.halt.dead.Load() {
			return false
		}
	}
	for _, s := range v.shards {
		if s.halt.dead.Load() {
			continue
		}
		if !s.posts.empty() {
			return false
		}
		for _, r := range s.in {
			if r != nil && r.waiting() > 0 {
				return false
			}
		}
	}
	for i, s := range v.shards {
		if v.seen[i] != s.halt.version.Load() || !s.halt.quiet.Load() && !s.halt.dead.Load() {
			return false
		}
	}
	return true
}
