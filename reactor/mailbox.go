package reactor

import (
	"sync"
	"sync/atomic"
)

// Message is mail. Messages are objects that their owner reuses, so that sending one allocates nothing; a message is in at most one
// box at a time.
type Message interface {
	// Deliver runs on the receiving shard.
	Deliver(s *Shard)
}

const cacheLine = 64

// ring is the bounded box of one ordered pair of shards: one thread puts, one takes.
type ring struct {
	slots []Message
	mask  uint64
	_     [cacheLine]byte
	// tail is moved by the putting thread after its slot was written; the taking thread reads no slot at or above it.
	tail     atomic.Uint64
	headSeen uint64 // the putting thread's last look at head
	_        [cacheLine]byte
	// head is moved by the taking thread after its slot was emptied.
	head atomic.Uint64
	_    [cacheLine]byte
	// stalled: the putting shard keeps mail back and wants to be woken once there is room.
	stalled atomic.Bool
}

// newRing rounds size up to a power of two.
func newRing(size int) *ring {
	n := 2
	for n < size {
		n *= 2
	}
	return &ring{slots: make([]Message, n), mask: uint64(n - 1)}
}

func (r *ring) put(m Message) bool {
	tail := r.tail.Load()
	if tail-r.headSeen > r.mask {
		if r.headSeen = r.head.Load(); tail-r.headSeen > r.mask {
			return false
		}
	}
	r.slots[tail&r.mask] = m
	r.tail.Store(tail + 1)
	return true
}

func (r *ring) waiting() int { return int(r.tail.Load() - r.head.Load()) }

func (r *ring) take() Message {
	head := r.head.Load()
	slot := &r.slots[head&r.mask]
	m := *slot
	*slot = nil
	r.head.Store(head + 1)
	return m
}

// fifo is an unbounded queue of one thread; it keeps its memory.
type fifo struct {
	items []Message
	head  int
}

func (q *fifo) len() int { return len(q.items) - q.head }

func (q *fifo) push(m Message) { q.items = append(q.items, m) }

func (q *fifo) front() Message { return q.items[q.head] }

func (q *fifo) pop() Message {
	m := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	switch {
	case q.head == len(q.items):
		q.items, q.head = q.items[:0], 0
	case q.head >= 1024 && q.head > len(q.items)/2:
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	return m
}

// outbox is a shard's mail to one other: the ring, and behind it what the ring had no room for. The room for every message is thus
// reserved on its sender's side, request or reply alike: a shard never waits for another, so two full ones cannot wait for each
// other, and the mail of a pair keeps its order. How much can be kept back is bounded by how many messages exist.
type outbox struct {
	to   *Shard
	ring *ring
	late fifo
}

// put hands m over or keeps it for later. It is true when the receiver has something new to read.
func (o *outbox) put(m Message) bool {
	if o.late.len() == 0 && o.ring.put(m) {
		return true
	}
	o.late.push(m)
	return o.retry() > 0
}

// retry hands over what was kept back, and asks for a wake-up when it does not all fit.
func (o *outbox) retry() int {
	moved := o.drain()
	if o.late.len() > 0 {
		// Said first and looked at again after: the receiver makes room first and looks for this after, so one of the two notices.
		o.ring.stalled.Store(true)
		moved += o.drain()
	}
	return moved
}

func (o *outbox) drain() int {
	moved := 0
	for o.late.len() > 0 && o.ring.put(o.late.front()) {
		o.late.pop()
		moved++
	}
	return moved
}

// postbox takes mail from any goroutine: a stack that is taken whole and turned round.
type postbox struct {
	top     atomic.Pointer[postNode]
	posting atomic.Int32 // goroutines inside Post
	closed  atomic.Bool
	nodes   sync.Pool
}

type postNode struct {
	m    Message
	next *postNode
}

func (p *postbox) push(m Message) {
	node, _ := p.nodes.Get().(*postNode)
	if node == nil {
		node = &postNode{}
	}
	node.m = m
	for {
		top := p.top.Load()
		node.next = top
		if p.top.CompareAndSwap(top, node) {
			return
		}
	}
}

func (p *postbox) empty() bool { return p.top.Load() == nil }

// takeInto appends everything posted, in order, to dst.
func (p *postbox) takeInto(dst []Message) []Message {
	var first *postNode
	for node := p.top.Swap(nil); node != nil; {
		next := node.next
		node.next = first
		first, node = node, next
	}
	for first != nil {
		next := first.next
		dst = append(dst, first.m)
		first.m, first.next = nil, nil
		p.nodes.Put(first)
		first = next
	}
	return dst
}
