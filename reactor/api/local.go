package api

import (
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
)

// Local is what one shard holds: maps and lists. It routes; it decides nothing.
type Local struct {
	broker *Broker
	shard  *reactor.Shard
	set    *perf.Set

	// hosts are the partitions this shard owns, by log for completions of the disk.
	hosts       map[*logstore.Log]*Hosted
	touchedLogs []*Hosted
	// paused are sessions that are not read now and are looked at again each turn.
	paused []*Session
	// decoded bounds what large requests of the slow path cost once decoded; starved are the sessions that wait for room in it.
	decoded *reactor.Budget
	starved []*Session
	// sessions are the fetch sessions of this shard's connections.
	fetchSessions fetchSessions

	parked []*parked
	// woken are asks whose records have come in this turn.
	woken       []*ask
	aborted     []logstore.AbortedTxn
	freeProduce []*produce
	freeFetch   []*fetch

	retain reactor.Timer
}

func localOf(s *reactor.Shard) *Local { return s.State.(*Local) }

// revisit looks at a paused session again when the turn ends.
func (l *Local) revisit(s *Session) {
	for _, p := range l.paused {
		if p == s {
			return
		}
	}
	l.paused = append(l.paused, s)
}

// relaxPaused resumes the sessions that may be read again.
func (l *Local) relaxPaused() {
	kept := l.paused[:0]
	for _, s := range l.paused {
		if !s.relax() {
			kept = append(kept, s)
		}
	}
	clear(l.paused[len(kept):])
	l.paused = kept
}

// armRetention starts the beat at which logs of this shard look for what retention removes.
func (l *Local) armRetention() {
	l.retain.Fire = func(*reactor.Shard) {
		for _, h := range l.hosts {
			h.Log.Retain(l.shard.WallMs())
			l.touch(h)
		}
		l.shard.Arm(&l.retain, l.broker.Options().RetentionCheckMs*1e6)
	}
	l.shard.Arm(&l.retain, l.broker.Options().RetentionCheckMs*1e6)
}
