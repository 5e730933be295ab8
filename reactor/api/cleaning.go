package api

import (
	"sync"

	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/logstore"
)

// cleaning runs the logs' cleanings on threads of their own, log.cleaner.threads of them, and their moves to other directories on others: they
// take long and may be throttled, and no roll waits behind one. Of those that wait the dirtiest log's goes first.
type cleaning struct {
	pool  *task.Pool
	moves *task.Pool
	mu    struct {
		sync.Mutex
		waiting []waitingClean
	}
}

type waitingClean struct {
	ratio float64
	run   func()
}

func newCleaning(g *task.Group, threads, moveThreads int) *cleaning {
	return &cleaning{pool: task.NewPool(g, "log-cleaner", max(1, threads)), moves: task.NewPool(g, "log-mover", max(1, moveThreads))}
}

// take runs the job on a thread of its kind if it is a cleaning or a move; false if it is not.
func (c *cleaning) take(w logstore.Work, run func()) bool {
	if logstore.Moves(w) {
		_ = c.moves.Do(run) // an error means that the broker is stopping: the move goes on after its next start
		return true
	}
	ratio, ok := logstore.Dirtiness(w)
	if !ok {
		return false
	}
	c.mu.Lock()
	c.mu.waiting = append(c.mu.waiting, waitingClean{ratio, run})
	c.mu.Unlock()
	// An error means that the broker is stopping: nothing is cleaned any more.
	_ = c.pool.Do(func() { c.dirtiest()() })
	return true
}

// dirtiest takes the next one off the list; there is one for each call.
func (c *cleaning) dirtiest() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.mu.waiting
	best := 0
	for i := range list {
		if list[i].ratio > list[best].ratio {
			best = i
		}
	}
	run := list[best].run
	c.mu.waiting = append(list[:best], list[best+1:]...)
	return run
}
