package ensemble

import (
	"maps"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"

	"github.com/pelton-broker/pelton/zk/jute"
)

// lag is how long a member has not confirmed what the leader had when it began to look.
type lag struct {
	index   uint64
	sinceMs int64
	seenMs  int64 // when it was heard of last, as raft has it; 0 when it was not
	bornMs  int64 // when it was heard of first, by the wall clock
}

// heard says whether a member was heard of lately. Raft's own mark is wiped once in an election time.
func (c *Core) heard(id uint64) bool {
	l := c.lags[id]
	return id == c.o.ID || l != nil && l.seenMs > 0 && c.nowMs-l.seenMs <= c.hearMs()
}

// silent says whether a member is not there. A leader of a moment ago, who cannot have heard of anybody, does not say it.
func (c *Core) silent(id uint64) bool {
	l := c.lags[id]
	return l != nil && !c.heard(id) && (l.seenMs > 0 || c.nowMs-l.sinceMs > c.hearMs())
}

// hearMs is within what time a member must be heard of.
func (c *Core) hearMs() int64 { return 2 * int64(c.o.ElectionTicks) * c.o.TickMs }

// lagTimers sends a member's clients away when it does not keep up within syncLimit: what it shows is too old then.
func (c *Core) lagTimers() {
	last := c.lastIndex()
	c.raft.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
		if id == c.o.ID {
			return
		}
		l := c.lags[id]
		if l == nil {
			l = &lag{index: last, sinceMs: c.nowMs}
			c.lags[id] = l
		}
		if pr.RecentActive {
			if l.seenMs == 0 {
				l.bornMs = c.wallMs
			}
			l.seenMs = c.nowMs
		}
		if pr.Match >= l.index {
			l.index, l.sinceMs = last, c.nowMs
			return
		}
		if c.nowMs-l.sinceMs > c.o.SyncLimitMs {
			l.sinceMs = c.nowMs
			if !c.heard(id) {
				return // it is not there at all
			}
			c.log.Warn("zk ensemble: a member does not keep up within syncLimit", "member", id, "entries", last-pr.Match)
			c.send(id, jute.AppendLong([]byte{kindDrop}, int64(c.term)))
		}
	})
}

// onDrop is the leader's word that this member is too far behind: it stops serving until it has caught up.
func (c *Core) onDrop(from uint64, r *jute.Reader) {
	if term := r.Long(); r.Err() != nil || from != c.lead || uint64(term) != c.term || c.leading {
		return
	}
	c.lost()
	c.setServing(false)
	c.join()
}

// syncedWithin is how many entries a follower may be behind and count as synced: what a busy leader has under way.
const syncedWithin = 4096

// Followers is how many followers and observers are heard of, and how many of the first have confirmed nearly everything.
func (c *Core) Followers() (followers, observers, synced int) {
	if !c.leading {
		return 0, 0, 0
	}
	last := c.lastIndex()
	c.raft.WithProgress(func(id uint64, kind raft.ProgressType, pr tracker.Progress) {
		if id == c.o.ID || !c.heard(id) {
			return
		}
		if kind == raft.ProgressTypeLearner {
			observers++
			return
		}
		followers++
		if pr.Match+syncedWithin >= last {
			synced++
		}
	})
	return followers, observers, synced
}

// Size is the number of voters and of observers.
func (c *Core) Size() (voters, observers int) {
	return len(c.conf.GetVoters()), len(c.conf.GetLearners())
}

// Servers are the members as /zookeeper/config shows them, and its version.
func (c *Core) Servers() ([]Server, int64) { return c.servers(), c.configVersion() }

// members lists the other members in order.
func (c *Core) members() []uint64 {
	set := map[uint64]struct{}{}
	for _, list := range [][]uint64{c.conf.GetVoters(), c.conf.GetVotersOutgoing(), c.conf.GetLearners(), c.conf.GetLearnersNext()} {
		for _, id := range list {
			set[id] = struct{}{}
		}
	}
	delete(set, c.o.ID)
	return slices.Sorted(maps.Keys(set))
}
