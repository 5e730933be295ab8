package reactor

import (
	"bytes"
	"runtime"
	"sync/atomic"
)

// SlowTurn is a turn that took longer than Options.SlowTurnNs.
type SlowTurn struct {
	Shard  int
	TookNs int64
	// Stack is where the shard was while the turn went on, or where it ended when the watch did not come by in between.
	Stack []byte
}

// slowTurn measures turns with the shard's clock. The stack comes from the server's watch, a goroutine that looks at the shards now and then:
// at the end of a turn it would show nothing.
type slowTurn struct {
	start   int64
	running atomic.Uint64 // number of the turn that goes on; 0 between turns
	turn    uint64
	stack   atomic.Pointer[[]byte]
	name    []byte // "goroutine N ", as a stack dump begins
}

const stackBytes = 16 << 10

func (w *slowTurn) init() {
	buf := make([]byte, 64)
	buf = buf[:runtime.Stack(buf, false)]
	if i := bytes.IndexByte(buf, '['); i > 0 {
		w.name = buf[:i]
	}
}

func (w *slowTurn) begin(now int64) {
	w.start = now
	w.turn++
	w.running.Store(w.turn)
}

func (w *slowTurn) end(s *Shard) {
	o := &s.server.o
	w.running.Store(0)
	if o.SlowTurnNs <= 0 && o.OnTurnTime == nil {
		return
	}
	took := s.clock.Mono() - w.start
	s.load.busyNs += took
	if o.OnTurnTime != nil {
		o.OnTurnTime(s.ID, took)
	}
	if o.SlowTurnNs <= 0 {
		return
	}
	stack := w.stack.Swap(nil)
	if took <= o.SlowTurnNs {
		return
	}
	s.count.slow++
	if o.OnSlowTurn == nil {
		return
	}
	t := SlowTurn{Shard: s.ID, TookNs: took}
	if stack != nil {
		t.Stack = *stack
	} else {
		buf := make([]byte, stackBytes)
		t.Stack = buf[:runtime.Stack(buf, false)]
	}
	o.OnSlowTurn(t)
}

// look is called by the watch: a shard that is still in the turn of the last look is shown with its stack, once per turn.
func (w *slowTurn) look(seen *uint64) {
	turn := w.running.Load()
	if turn == 0 || turn != *seen {
		*seen = turn
		return
	}
	if w.stack.Load() != nil {
		return
	}
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	if i := bytes.Index(all, w.name); i >= 0 {
		all = all[i:]
		if end := bytes.Index(all, []byte("\n\n")); end >= 0 {
			all = all[:end]
		}
	}
	stack := bytes.Clone(all)
	w.stack.Store(&stack)
	if w.running.Load() != turn {
		w.stack.Store(nil) // it ended meanwhile: what was seen may be the next one
	}
}
