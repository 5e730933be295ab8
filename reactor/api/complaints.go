package api

import (
	"net/netip"
	"sync"
)

const (
	// complaintMs is how long a remote that was complained about is passed over in silence.
	complaintMs = 1000
	// complaintRemotes bounds the remotes that are remembered; beyond it all share one place.
	complaintRemotes = 1024
)

// complaints keeps the log from being filled by whoever sends rubbish: one line per remote and second, which says how many there were none
// for. It is met on the way to a closed connection only.
type complaints struct {
	mu struct {
		sync.Mutex
		remotes map[netip.Addr]*complaint
	}
}

// complaint is what is remembered of one remote.
type complaint struct {
	saidMs     int64
	suppressed int64
}

// allow tells whether a line may be written about a remote now, and how many were not since the last one.
func (c *complaints) allow(remote netip.Addr, nowMs int64) (suppressed int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.remotes == nil {
		c.mu.remotes = map[netip.Addr]*complaint{}
	}
	at := c.mu.remotes[remote]
	if at == nil {
		if at = c.place(remote, nowMs); at == nil {
			remote = netip.Addr{}
			at = c.mu.remotes[remote]
		}
	}
	switch {
	case at == nil:
		at = &complaint{}
		c.mu.remotes[remote] = at
	case nowMs-at.saidMs < complaintMs:
		at.suppressed++
		return 0, false
	}
	suppressed, at.suppressed, at.saidMs = at.suppressed, 0, nowMs
	return suppressed, true
}

// place makes room for a remote that is not remembered: nil when there is none. Who has been quiet is forgotten, its count goes to the
// place that all share.
func (c *complaints) place(remote netip.Addr, nowMs int64) *complaint {
	if len(c.mu.remotes) >= complaintRemotes {
		lost := int64(0)
		for addr, at := range c.mu.remotes {
			if addr.IsValid() && nowMs-at.saidMs >= complaintMs {
				lost += at.suppressed
				delete(c.mu.remotes, addr)
			}
		}
		if len(c.mu.remotes) >= complaintRemotes {
			return nil
		}
		if shared := c.mu.remotes[netip.Addr{}]; shared != nil {
			shared.suppressed += lost
		}
	}
	at := &complaint{saidMs: nowMs - complaintMs}
	c.mu.remotes[remote] = at
	return at
}

// complain writes a warning about a remote unless there was one within the second.
func (b *Broker) complain(s *Session, text string, args ...any) {
	suppressed, ok := b.complaints.allow(s.conn.Remote.Addr(), s.local.shard.Now()/1e6)
	if !ok {
		return
	}
	args = append([]any{"remote", s.conn.Remote.String()}, args...)
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	b.log.Warn(text, args...)
}
