package reactor

import "sync/atomic"

// load is how busy a shard is, and how many connections it may still be sent in this beat. The shard writes, on the way; others look before
// they send it a connection.
type load struct {
	atNs   int64  // when the beat began
	busyNs int64  // in turns since then
	frames uint64 // when the beat began
	rate   int64  // frames a second in the last beat
	busy   atomic.Int64
	seats  atomic.Int64
}

// beatNs is the time over which the share is taken; an idle shard has longer ones.
const beatNs = 100_000_000

// seatsOf is how many connections a shard takes in one beat, so that what they bring shows before more come.
func seatsOf(conns int) int64 { return int64(max(1, conns/16)) }

// beat takes the share of the time since the last beat that went into turns. Half of what it was remains, against single long turns.
func (l *load) beat(nowNs int64, conns int, frames uint64) {
	took := nowNs - l.atNs
	if took < beatNs {
		return
	}
	l.busy.Store(min(100, (l.busy.Load()+100*l.busyNs/took+1)/2))
	l.rate = int64(float64(frames-l.frames) * 1e9 / float64(took))
	l.seats.Store(seatsOf(conns))
	l.atNs, l.busyNs, l.frames = nowNs, 0, frames
}

// BusyPercent is the share of its time that the shard spends in turns; from any goroutine.
func (s *Shard) BusyPercent() int { return int(s.load.busy.Load()) }

// roomPercent is up to which share a shard takes connections from one that is less busy.
const roomPercent = 60

// Welcomes tells whether a connection of this shard that sends so many frames a second may move to another. A shard with room takes it, and
// one that is then still less busy than this one would be. Otherwise it stays: the connection's shard does most of the work of a large
// request, and one hot partition must not gather that of all its connections on its core.
func (s *Shard) Welcomes(to *Shard, framesPerSecond int64) bool {
	return to.load.seats.Load() > 0 && fits(s.load.busy.Load(), to.load.busy.Load(), framesPerSecond, s.load.rate)
}

// fits is Welcomes in numbers: mine and theirs are percents, rate is how many of all frames a second are the connection's.
func fits(mine, theirs, rate, all int64) bool {
	brings := share(mine, rate, all)
	return theirs+brings <= roomPercent || theirs+brings <= mine-brings
}

func share(mine, rate, all int64) int64 {
	if rate < all {
		return (mine*rate + all - 1) / all
	}
	return mine
}

// Bounds of Relief: from which share on a shard gives connections away, and how much less busy than it the other must be afterwards.
const (
	crowdedPercent = 85
	reliefPercent  = 10
)

// Relief is the shard that should take a connection of this one, although its requests go to this one's partitions; nil: none. It is what
// Welcomes does the other way round: what has gathered while there was little to do is shared when there is much.
func (s *Shard) Relief(framesPerSecond int64) (to *Shard) {
	mine := s.load.busy.Load()
	if mine < crowdedPercent {
		return nil
	}
	for _, other := range s.server.shards {
		if other != s && other.load.seats.Load() > 0 && (to == nil || other.load.busy.Load() < to.load.busy.Load()) {
			to = other
		}
	}
	if to == nil || !relieves(mine, to.load.busy.Load(), framesPerSecond, s.load.rate) {
		return nil
	}
	return to
}

// relieves is Relief in numbers.
func relieves(mine, theirs, rate, all int64) bool {
	brings := share(mine, rate, all)
	return mine >= crowdedPercent && theirs+brings+reliefPercent <= mine-brings
}
