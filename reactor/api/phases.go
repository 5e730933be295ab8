package api

import (
	"slices"

	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
)

// sampleEvery is how many produce and fetch requests of a shard come for one whose phases are measured: the clock is read half a dozen
// times for it, which all of them together must not feel.
const sampleEvery = 61

// phases are the times of one request. Whoever has the request, or the one part of it that is followed, marks.
type phases struct {
	on bool
	at int64 // the last mark
	ns [perf.NumPhases]int64
}

// begin starts with the turn in which the request's last byte was read.
func (p *phases) begin(l *Local) {
	l.samples++
	if p.on = l.samples%sampleEvery == 0; p.on {
		p.ns = [perf.NumPhases]int64{}
		p.at = l.shard.Now()
	}
}

// mark gives the time since the last mark to a phase.
func (p *phases) mark(s *reactor.Shard, phase perf.Phase) {
	if p.on {
		p.note(s.Clock().Mono(), phase)
	}
}

// follow marks the end of the wait in the log's queue for those parts that are in the chain for which the disk is now asked.
func (l *Local) follow() {
	if len(l.followed) == 0 {
		return
	}
	l.followed = slices.DeleteFunc(l.followed, func(part *producePart) bool {
		if part.append.Taken {
			part.mark(l, perf.PhaseSubmit)
		}
		return part.append.Taken
	})
}

// unfollow forgets a part whose records are done.
func (l *Local) unfollow(part *producePart) {
	l.followed = slices.DeleteFunc(l.followed, func(f *producePart) bool { return f == part })
}

func (p *phases) note(now int64, phase perf.Phase) {
	p.ns[phase] += max(0, now-p.at)
	p.at = now
}

// observe keeps what was marked; phases that the request did not meet are left out.
func (p *phases) observe(l *Local, c perf.Class) {
	if !p.on {
		return
	}
	p.on = false
	for phase, ns := range p.ns {
		if ns > 0 {
			l.set.ObserveAt(perf.PhaseSeconds, perf.PhaseAt(c, perf.Phase(phase)), ns)
		}
	}
}
