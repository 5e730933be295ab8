package reactor

import (
	"math"
	"sync/atomic"

	"github.com/pelton-broker/pelton/internal/arena"
	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/netpoll"
)

// Shard is one loop on one thread. All its methods belong to that thread but Post and Stats.
type Shard struct {
	ID     int
	Arena  *arena.Arena
	Disk   disk.Disk
	Net    *netpoll.Net
	Budget *Budget
	State  any // the host's

	server *Server
	h      Hooks
	clock  clock.Clock
	now    int64
	wallMs int64
	wheel  wheel
	sweep  Timer
	reaped []*disk.Op

	in    []*ring  // by sender; nil at the own index
	out   []outbox // by receiver
	self  fifo     // mail to the shard itself
	posts postbox
	taken []Message // posts being delivered

	// sleeping is 1 from before the last look at the mail until the wait is over. Whoever puts mail and then sees 1 wakes the
	// shard; the shard says 1 and then looks: one of the two always sees the other.
	sleeping atomic.Uint32
	coming   atomic.Int64 // accepted connections on their way here
	open     atomic.Int64 // connections at the end of the last turn that changed their number
	adopted  int64        // of coming, taken in this turn
	slow     slowTurn
	load     load
	count    counters
	halt     halt
	again    bool // the turn ended with completions that OnTurn has not seen
}

// passes bounds how often OnTurn is called in one turn while it keeps completing things at once.
const passes = 3

// turn is one round of the loop.
func (s *Shard) turn() error {
	if err := s.wait(); err != nil {
		return err
	}
	s.tick()

	s.reap()
	s.readMail()
	if err := s.Net.Dispatch(); err != nil {
		return err
	}
	s.count.timers += uint64(s.wheel.run(s, s.now))

	s.again = true
	for pass := 0; s.again && pass < passes; pass++ {
		s.readOwnMail()
		s.h.OnTurn(s)
		// What the disk did inline is complete by now, and its replies leave with this turn. What the last pass completed has
		// not been looked at: the next turn does, and must not sleep before.
		s.again = s.reap() > 0 || s.self.len() > 0
	}
	s.Disk.Flush()
	s.Net.FlushOut()
	s.countConns()
	s.count.turns++
	s.slow.end(s)
	s.load.beat(s.now, s.Net.Conns(), s.Net.Stats.Frames)
	return nil
}

// wait sleeps until something happens or the next timer is due; with work left it only looks.
func (s *Shard) wait() error {
	timeout := s.sleepNs()
	if timeout == 0 {
		return s.Net.Wait(0)
	}
	if spin := s.server.o.SpinNs; spin > 0 {
		if found, err := s.spin(spin); found || err != nil {
			return err
		}
	}
	s.sleeping.Store(1)
	if s.mailWaits() {
		timeout = 0
	} else {
		s.halt.settle(s)
	}
	err := s.Net.Wait(timeout)
	s.sleeping.Store(0)
	s.halt.active()
	return err
}

// sleepNs is how long the shard may sleep: 0 not at all, less than 0 without end.
func (s *Shard) sleepNs() int64 {
	if s.again || s.self.len() > 0 || s.halt.due(s) {
		return 0
	}
	next := s.wheel.nextNs()
	if next == math.MaxInt64 {
		return -1
	}
	return max(0, next-s.clock.Mono())
}

// spin looks for events and mail without sleeping for a while.
func (s *Shard) spin(ns int64) (bool, error) {
	for until := s.clock.Mono() + ns; s.clock.Mono() < until; {
		if err := s.Net.Wait(0); err != nil {
			return false, err
		}
		if s.Net.Ready() || s.mailWaits() {
			return true, nil
		}
	}
	return false, nil
}

// tick takes the time that the turn goes by.
func (s *Shard) tick() {
	s.now, s.wallMs = s.clock.Mono(), s.clock.WallMs()
	s.slow.begin(s.now)
	s.Net.SetNow(s.now)
}

// reap hands over completed operations.
func (s *Shard) reap() int {
	if s.Disk.InFlight() == 0 {
		return 0
	}
	s.reaped = s.Disk.Reap(s.reaped[:0])
	for i, op := range s.reaped {
		s.reaped[i] = nil
		s.h.OnDisk(s, op)
	}
	n := len(s.reaped)
	s.count.ops += uint64(n)
	return n
}

// readMail delivers what other shards and goroutines have sent, as much as was there when the look began.
func (s *Shard) readMail() {
	if !s.posts.empty() {
		s.taken = s.posts.takeInto(s.taken[:0])
		for i, m := range s.taken {
			s.taken[i] = nil
			s.count.posts++
			m.Deliver(s)
		}
	}
	for from, r := range s.in {
		if r == nil {
			continue
		}
		n := r.waiting()
		if n == 0 {
			continue
		}
		for range n {
			r.take().Deliver(s)
		}
		s.count.received += uint64(n)
		if r.stalled.Load() {
			r.stalled.Store(false)
			s.server.shards[from].notify()
		}
	}
	for i := range s.out {
		if o := &s.out[i]; o.late.len() > 0 && o.retry() > 0 {
			o.to.notify()
		}
	}
}

// readOwnMail delivers what the shard sent to itself, as much as was there.
func (s *Shard) readOwnMail() {
	for range s.self.len() {
		s.self.pop().Deliver(s)
	}
}

// mailWaits is the last look before the sleep: at mail, and at whether the server stops.
func (s *Shard) mailWaits() bool {
	for _, r := range s.in {
		if r != nil && r.waiting() > 0 {
			return true
		}
	}
	for i := range s.out {
		if o := &s.out[i]; o.late.len() > 0 && o.ring.waiting() <= int(o.ring.mask) {
			return true
		}
	}
	return !s.posts.empty() || s.halt.due(s)
}

// notify wakes a shard that sleeps; from any thread.
func (s *Shard) notify() {
	if s.sleeping.Load() == 1 && s.sleeping.CompareAndSwap(1, 0) {
		s.Net.Wake()
	}
}

// Now is the monotonic time in nanoseconds at the turn's start.
func (s *Shard) Now() int64 { return s.now }

// WallMs is the unix time in milliseconds at the turn's start.
func (s *Shard) WallMs() int64 { return s.wallMs }

// Clock is the clock itself, for measuring within a turn.
func (s *Shard) Clock() clock.Clock { return s.clock }

// Send mails m to another shard, or to this one, which gets it later in this turn. It never blocks. The mail of a pair of
// shards, requests and replies, keeps its order.
func (s *Shard) Send(to *Shard, m Message) {
	s.count.sent++
	if to == s {
		s.self.push(m)
		return
	}
	if o := &s.out[to.ID]; o.put(m) {
		to.notify()
	} else {
		s.count.keptBack++
	}
}

// Reply mails the answer to a message of to.
func (s *Shard) Reply(to *Shard, m Message) { s.Send(to, m) }

// Post mails m from any goroutine. After the server has stopped it is dropped.
func (s *Shard) Post(m Message) {
	p := &s.posts
	p.posting.Add(1)
	if !p.closed.Load() {
		p.push(m)
		s.notify()
	}
	p.posting.Add(-1)
}

// WokeGoroutine is to be called after handing work to a goroutine (a pool, a channel): without it the work may begin some 75 µs later.
func (s *Shard) WokeGoroutine() { s.Net.NoNap() }

// Arm fires t once after that time, not before; a timer that is armed already begins anew. Resolution is about a millisecond.
func (s *Shard) Arm(t *Timer, afterNs int64) { s.wheel.arm(t, s.now+max(afterNs, 0)) }

// Disarm stops t if it is armed.
func (s *Shard) Disarm(t *Timer) { s.wheel.disarm(t) }

// Shards are all shards of the server, by ID.
func (s *Shard) Shards() []*Shard { return s.server.shards }

// Conns is the number of connections that are open here or on the way; from any goroutine.
func (s *Shard) Conns() int { return int(s.open.Load() + s.coming.Load()) }

func (s *Shard) countConns() {
	if n := int64(s.Net.Conns()); n != s.open.Load() {
		s.open.Store(n)
	}
	if s.adopted > 0 {
		s.coming.Add(-s.adopted)
		s.adopted = 0
	}
}
