package reactor

import (
	"math/rand"
	"testing"
)

const tick = int64(1) << tickBits

// wheelRig is a wheel under a time of its own.
type wheelRig struct {
	w   wheel
	now int64
}

func newWheelRig(start int64) *wheelRig {
	r := &wheelRig{now: start}
	r.w.init(start)
	return r
}

func (r *wheelRig) advance(ns int64) int {
	r.now += ns
	return r.w.run(nil, r.now)
}

// Random arming, disarming and jumps of time against a list of deadlines.
func TestTimerFiresOnceAndNeverEarly(t *testing.T) {
	for seed := range int64(30) {
		rnd := rand.New(rand.NewSource(seed))
		r := newWheelRig(rnd.Int63n(1 << 50))
		type want struct {
			timer Timer
			at    int64 // 0: not armed
			fired int
		}
		list := make([]*want, 200)
		for i := range list {
			w := &want{}
			w.timer.Fire = func(*Shard) {
				if w.at == 0 {
					t.Fatalf("seed %d: timer %d fired and was not armed", seed, i)
				}
				if r.now < w.at {
					t.Fatalf("seed %d: timer %d fired %d ns early", seed, i, w.at-r.now)
				}
				w.at = 0
				w.fired++
				if rnd.Intn(4) == 0 {
					w.at = r.now + rnd.Int63n(20)*tick
					r.w.arm(&w.timer, w.at)
				}
				// One that is due at the same time may be disarmed from here.
				if other := list[rnd.Intn(len(list))]; rnd.Intn(8) == 0 {
					r.w.disarm(&other.timer)
					other.at = 0
				}
			}
			list[i] = w
		}
		span := func() int64 {
			return []int64{1, tick, 63 * tick, 64 * tick, 65 * tick, 4095 * tick, 4097 * tick, 300_000 * tick, reachTicks * tick, 3 * reachTicks * tick}[rnd.Intn(10)]
		}
		for range 3000 {
			w := list[rnd.Intn(len(list))]
			switch rnd.Intn(4) {
			case 0, 1:
				w.at = r.now + rnd.Int63n(span())
				r.w.arm(&w.timer, w.at)
			case 2:
				w.at = 0
				r.w.disarm(&w.timer)
			case 3:
				next := r.w.nextNs()
				r.advance(rnd.Int63n(span()))
				armed := 0
				for i, w := range list {
					if w.at != 0 {
						armed++
						if w.at+2*tick <= r.now {
							t.Fatalf("seed %d: timer %d is overdue by %d ns", seed, i, r.now-w.at)
						}
						if n := r.w.nextNs(); n > w.at+tick {
							t.Fatalf("seed %d: the wheel would sleep %d ns beyond timer %d (next was %d)", seed, n-w.at, i, next)
						}
					}
					if w.timer.Armed() != (w.at != 0) {
						t.Fatalf("seed %d: timer %d armed: %v", seed, i, w.timer.Armed())
					}
				}
				if r.w.armed != armed {
					t.Fatalf("seed %d: %d armed, want %d", seed, r.w.armed, armed)
				}
			}
		}
	}
}

func TestTimerInOrderOfTheirTicks(t *testing.T) {
	r := newWheelRig(12345)
	var order []int
	timers := make([]Timer, 500)
	for i, p := range rand.New(rand.NewSource(1)).Perm(len(timers)) {
		timers[p].Fire = func(*Shard) { order = append(order, p) }
		_ = i
		r.w.arm(&timers[p], r.now+int64(p+1)*37*tick)
	}
	r.advance(int64(len(timers)+1) * 37 * tick)
	for i := range order {
		if order[i] != i {
			t.Fatalf("timer %d fired at place %d", order[i], i)
		}
	}
	if len(order) != len(timers) {
		t.Fatalf("%d fired", len(order))
	}
}

func TestTimerAllocatesNothing(t *testing.T) {
	r := newWheelRig(0)
	var timer Timer
	timer.Fire = func(*Shard) {}
	if n := testing.AllocsPerRun(1000, func() {
		r.w.arm(&timer, r.now+100*tick)
		r.advance(99 * tick)
		r.w.arm(&timer, r.now+5000*tick)
		r.advance(5001 * tick)
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestTimerEmptyWheelSleepsWithoutEnd(t *testing.T) {
	r := newWheelRig(0)
	var timer Timer
	r.w.arm(&timer, 1000*tick)
	r.w.disarm(&timer)
	r.w.disarm(&timer)
	if next := r.w.nextNs(); next != 1<<63-1 {
		t.Fatalf("next is %d", next)
	}
}
