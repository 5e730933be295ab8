package ensemble

import (
	"encoding/binary"

	"go.etcd.io/raft/v3"
)

// reads are the waits for everything that the ensemble had committed when they began: clients' syncs, and this
// member's own wait before it serves. One question to the leader is under way at a time.
type reads struct {
	last    int64 // id of the last sync
	waiting []waitingRead
	asked   bool
	ctx     uint64 // of the question under way
	tick    int64  // when it was asked
}

type waitingRead struct {
	id    int64 // 0 is the member itself
	ctx   uint64
	index uint64 // 0 until the leader has answered
}

// Sync asks for everything that is committed now. The answer is Sink.Synced, or Sink.Lost.
func (c *Core) Sync() int64 {
	c.reads.last++
	c.reads.waiting = append(c.reads.waiting, waitingRead{id: c.reads.last})
	return c.reads.last
}

// join begins the wait that ends with serving.
func (c *Core) join() {
	if c.lead != 0 && !c.leading {
		c.reads.waiting = append(c.reads.waiting, waitingRead{})
	}
}

// askReads sends one question for everybody who began to wait since the last one.
func (c *Core) askReads() {
	q := &c.reads
	if q.asked || c.lead == 0 {
		return
	}
	any := false
	for i := range q.waiting {
		if w := &q.waiting[i]; w.index == 0 {
			w.ctx = q.ctx + 1
			any = true
		}
	}
	if any {
		q.ctx++
		q.asked, q.tick = true, c.ticks
		c.raft.ReadIndex(binary.BigEndian.AppendUint64(nil, q.ctx))
	}
}

// retryReads asks again when the question or its answer was lost.
func (c *Core) retryReads() {
	if c.reads.asked && c.ticks-c.reads.tick > int64(c.o.HeartbeatTicks)*3 {
		c.reads.asked = false
	}
}

func (c *Core) readState(rs raft.ReadState) {
	if len(rs.RequestCtx) != 8 {
		return
	}
	q := &c.reads
	ctx := binary.BigEndian.Uint64(rs.RequestCtx)
	for i := range q.waiting {
		if w := &q.waiting[i]; w.ctx == ctx && w.index == 0 {
			w.index = rs.Index
		}
	}
	if ctx == q.ctx {
		q.asked = false
	}
	c.finishReads()
}

// finishReads ends the waits whose time has come, in their order.
func (c *Core) finishReads() {
	q := &c.reads
	for len(q.waiting) > 0 && q.waiting[0].index != 0 && q.waiting[0].index <= c.applied {
		id := q.waiting[0].id
		q.waiting = q.waiting[1:]
		if id != 0 {
			c.sink.Synced(id)
		} else if !c.leading && c.lead != 0 {
			c.setServing(true)
		}
	}
}
