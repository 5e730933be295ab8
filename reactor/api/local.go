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
	ahead  int // Options.ReadAhead
	// migrates: connections may move; parting are sessions that may be ready to.
	migrates bool
	parting  []*Session
	// decoded bounds what large requests of the slow path cost once decoded; starved are the sessions that wait for room in it.
	decoded *reactor.Budget
	starved []*Session
	feeding bool // a reminder to look at them is on its way
	// sessions are the fetch sessions of this shard's connections.
	fetchSessions fetchSessions

	parked []*parked
	// frameBytes is the size of the produce requests whose records are not written yet.
	frameBytes int64
	// woken are asks whose records have come in this turn.
	woken       []*ask
	aborted     []logstore.AbortedTxn
	freeProduce []*produce
	freeFetch   []*fetch
	// convertedHeld is the memory of converted records whose answers have not gone.
	convertedHeld int64
	spares        spares

	followed []*producePart // whose phases are measured, until the disk is asked for their records
	submits  func()         // follow, kept so that a log can have it

	samples uint64  // requests whose phases might be measured
	codes   []int16 // scratch for counting errors
	backend perf.Backend

	retain   reactor.Timer
	retainNs int64 // when retention is due, on the shard's clock
	cleanNs  int64 // the same of the look for logs to clean
}

func localOf(s *reactor.Shard) *Local { return s.State.(*Local) }

// revisit looks at a paused session again when the turn ends.
func (l *Local) revisit(s *Session) {
	if !s.listed {
		s.listed = true
		l.paused = append(l.paused, s)
	}
}

// relaxPaused resumes the sessions that may be read again.
func (l *Local) relaxPaused() {
	kept := l.paused[:0]
	for _, s := range l.paused {
		if s.listed = !s.relax(); s.listed {
			kept = append(kept, s)
		}
	}
	clear(l.paused[len(kept):])
	l.paused = kept
	l.set.SetGauge(perf.ConnectionsPaused, int64(len(kept)))
}

// logBeatMs is how often a log looks at its clock: flush.ms and delayed deletions are that exact. Retention keeps to
// log.retention.check.interval.ms, as operators expect: records from long ago live until the next check. Compaction is looked for every
// log.cleaner.backoff.ms, leastBackoffMs at least.
const (
	logBeatMs      = 1000
	leastBackoffMs = 100
)

// armRetention starts the beat at which logs of this shard look for what is due.
func (l *Local) armRetention() {
	interval := func() int64 { return l.broker.Options().RetentionCheckMs * 1e6 }
	backoff := func() int64 { return max(l.broker.Options().CleanerBackoffMs, leastBackoffMs) * 1e6 }
	beat := func() int64 { return min(logBeatMs*1e6, interval(), backoff()) }
	l.retainNs, l.cleanNs = l.shard.Now()+interval(), l.shard.Now()+backoff()
	l.retain.Fire = func(*reactor.Shard) {
		now := l.shard.Now()
		retain, clean := now >= l.retainNs, now >= l.cleanNs
		if retain {
			l.retainNs = now + interval()
		}
		if clean {
			l.cleanNs = now + backoff()
		}
		for _, h := range l.hosts {
			if retain {
				h.Log.Retain(l.shard.WallMs())
			} else {
				h.Log.Tick(l.shard.WallMs())
			}
			if clean {
				h.Log.Clean(l.shard.WallMs())
			}
			l.touch(h)
		}
		l.shard.Arm(&l.retain, beat())
	}
	l.shard.Arm(&l.retain, beat())
}
