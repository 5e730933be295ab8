package reactor

// Lean is what a connection's requests say about where it should be: a small machine that is told where each of them went. It decides
// nothing on its own but that a move is worth asking for; the zero value is ready.
//
// A run is requests that all went to one shard. Every move makes the next one dearer, up to a bound, and a connection that has rested long is
// forgiven: one that talks to several shards in turn comes to rest, wherever that is.
type Lean struct {
	to      int32 // where the run goes; valid while run > 0
	run     int32
	need    int32 // requests that a run must have; 0 is leanFirst
	beganNs int64 // when the run began
	movedNs int64
}

// Verdict is what a Lean makes of the requests so far.
type Verdict uint8

const (
	// Content: nothing speaks for a move.
	Content Verdict = iota
	// Drawn: they have all gone to the last one's shard, and the connection should be there.
	Drawn
	// AtHome: they have all stayed on the connection's shard. Should that have too much to do, the connection may be spared.
	AtHome
)

const (
	leanFirst = 64       // requests of a run that is worth a move
	leanMost  = 1 << 16  // and of one after many moves
	leanGrows = 8        // by each move
	leanNs    = 250e6    // how long a run must last, so that its work shows in what its shard is busy with
	leanRest  = 60_000e6 // a connection that has stayed for so long has not moved before
)

// Several is what Went is told of a request that went to more than one shard, Nowhere of one that went to no partition's.
const (
	Several = -1
	Nowhere = -2
)

// Went is told of each request: it came on shard here and went to the partitions of shard to.
func (l *Lean) Went(here, to int, nowNs int64) Verdict {
	switch {
	case to == Nowhere:
		return Content
	case to == Several:
		l.run = 0
		return Content
	case l.run == 0 || int(l.to) != to:
		l.to, l.run, l.beganNs = int32(to), 1, nowNs
		return Content
	}
	if l.run < leanMost {
		l.run++
	}
	switch {
	case l.run < max(l.need, leanFirst) || nowNs-l.beganNs < leanNs:
		return Content
	case to == here:
		return AtHome
	}
	return Drawn
}

// Rate is how many requests a second the run has.
func (l *Lean) Rate(nowNs int64) int64 {
	return int64(float64(l.run) * 1e9 / float64(max(1, nowNs-l.beganNs)))
}

// Stayed is told when the move was refused: it is not asked for again before as long a run.
func (l *Lean) Stayed() { l.run = 0 }

// Moved is told when the connection has moved.
func (l *Lean) Moved(nowNs int64) {
	if l.need == 0 || nowNs-l.movedNs >= leanRest {
		l.need = leanFirst
	}
	l.need = min(l.need*leanGrows, leanMost)
	l.run, l.movedNs = 0, nowNs
}
