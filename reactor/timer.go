package reactor

import (
	"math"
	"math/bits"
)

// Timer is one deadline, part of the object that waits for it. Fire is set once by the owner.
type Timer struct {
	// Fire runs on the shard when the time has come; the timer is disarmed then and may be armed again.
	Fire func(s *Shard)

	next, prev *Timer
	due        int64 // tick
	level      uint8
	slot       uint8
}

// Armed says whether the timer is running.
func (t *Timer) Armed() bool { return t.next != nil }

const (
	tickBits   = 20 // a tick is 2^20 ns, 1.05 ms
	slotBits   = 6
	slots      = 1 << slotBits
	levels     = 4
	firing     = levels // level of timers that are about to fire
	reachTicks = 1 << (slotBits * levels)
)

// wheel is a hierarchical timing wheel: level l holds timers that are due within 64^(l+1) ticks, 64^l ticks to a slot. A timer beyond
// the last level (4.9 hours) waits in its last slot and is placed anew from there. Timers never fire early.
type wheel struct {
	cur   int64 // the last tick that was processed
	lists [levels][slots]Timer
	used  [levels]uint64 // bit set: that slot's list is not empty
	chain Timer          // list that spread works through
	due   Timer          // list of timers that are about to fire
	armed int
}

func (w *wheel) init(nowNs int64) {
	w.cur = nowNs >> tickBits
	for l := range w.lists {
		for i := range w.lists[l] {
			selfLink(&w.lists[l][i])
		}
	}
	selfLink(&w.due)
}

func selfLink(head *Timer) { head.next, head.prev = head, head }

func (w *wheel) arm(t *Timer, atNs int64) {
	if t.Armed() {
		w.disarm(t)
	}
	// Rounded up, and at least one tick ahead: the present one is over.
	t.due = max((atNs+(1<<tickBits)-1)>>tickBits, w.cur+1)
	w.armed++
	w.place(t)
}

func (w *wheel) place(t *Timer) {
	delta := t.due - w.cur
	at := t.due
	if delta >= reachTicks {
		delta = reachTicks - 1
		at = w.cur + delta
	}
	level := 0
	for delta >= slots {
		delta >>= slotBits
		level++
	}
	slot := at >> (slotBits * level) & (slots - 1)
	t.level, t.slot = uint8(level), uint8(slot)
	w.used[level] |= 1 << slot
	link(&w.lists[level][slot], t)
}

func link(head, t *Timer) {
	t.prev, t.next = head.prev, head
	head.prev.next, head.prev = t, t
}

func (w *wheel) unlink(t *Timer) {
	t.prev.next, t.next.prev = t.next, t.prev
	t.next, t.prev = nil, nil
	if t.level < levels {
		if head := &w.lists[t.level][t.slot]; head.next == head {
			w.used[t.level] &^= 1 << t.slot
		}
	}
}

func (w *wheel) disarm(t *Timer) {
	if t.Armed() {
		w.unlink(t)
		w.armed--
	}
}

// nextTick is the first tick at which something has to be fired or placed anew; MaxInt64 when nothing is armed.
func (w *wheel) nextTick() int64 {
	next := int64(math.MaxInt64)
	for l, used := range w.used {
		if used == 0 {
			continue
		}
		base := w.cur >> (slotBits * l)
		ahead := bits.TrailingZeros64(bits.RotateLeft64(used, -int((base+1)&(slots-1))))
		next = min(next, (base+1+int64(ahead))<<(slotBits*l))
	}
	return next
}

// nextNs is when nextTick begins.
func (w *wheel) nextNs() int64 {
	tick := w.nextTick()
	if tick == math.MaxInt64 {
		return tick
	}
	return tick << tickBits
}

// run fires what is due.
func (w *wheel) run(s *Shard, nowNs int64) int {
	to := nowNs >> tickBits
	fired := 0
	for to > w.cur {
		tick := w.nextTick()
		if tick > to {
			w.cur = to
			break
		}
		w.cur = tick
		for l := levels - 1; l > 0; l-- {
			if tick&(1<<(slotBits*l)-1) == 0 {
				w.spread(l, tick>>(slotBits*l)&(slots-1))
			}
		}
		w.collect(tick & (slots - 1))
		for w.due.next != &w.due {
			t := w.due.next
			w.unlink(t)
			w.armed--
			fired++
			t.Fire(s)
		}
	}
	return fired
}

// spread places the timers of a slot whose time span begins now.
func (w *wheel) spread(level int, slot int64) {
	head := &w.lists[level][slot]
	// Detached first: one that is out of reach may be placed in the same slot again.
	chain := &w.chain
	moveAll(chain, head)
	w.used[level] &^= 1 << slot
	for chain.next != chain {
		t := chain.next
		t.prev.next, t.next.prev = t.next, t.prev
		if t.due <= w.cur {
			t.level = firing
			link(&w.due, t)
			continue
		}
		w.place(t)
	}
}

// collect moves a slot of level 0 to the timers that are about to fire.
func (w *wheel) collect(slot int64) {
	head := &w.lists[0][slot]
	w.used[0] &^= 1 << slot
	for head.next != head {
		t := head.next
		t.prev.next, t.next.prev = t.next, t.prev
		t.level = firing
		link(&w.due, t)
	}
}

func moveAll(to, from *Timer) {
	selfLink(to)
	if from.next == from {
		return
	}
	to.next, to.prev = from.next, from.prev
	to.next.prev, to.prev.next = to, to
	selfLink(from)
}
