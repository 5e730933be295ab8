package group

import "container/heap"

// deadlineKind says what passes when a deadline does.
type deadlineKind uint8

const (
	deadlineSession deadlineKind = iota // a member has not been heard of
	deadlinePending                     // an id was handed out and not used
	deadlineJoin                        // the rebalance, or the initial delay, has lasted long enough
	deadlineSync                        // members have joined and not synced
	deadlineExpire                      // time to look for expired offsets
)

// deadline is one timer, held by its owner and linked into the machine's heap while armed.
type deadline struct {
	kind   deadlineKind
	at     int64
	seq    uint64 // earlier armed fires first at equal times, so that steps can be replayed
	pos    int    // index in the heap plus one; 0 when not armed
	group  *group
	member *member
	id     string // deadlinePending
}

// deadlines is a heap over armed timers.
type deadlines struct {
	heap deadlineHeap
	seq  uint64
}

func (d *deadlines) arm(t *deadline, at int64) {
	d.seq++
	t.at, t.seq = at, d.seq
	if t.pos > 0 {
		heap.Fix(&d.heap, t.pos-1)
		return
	}
	heap.Push(&d.heap, t)
}

func (d *deadlines) disarm(t *deadline) {
	if t.pos > 0 {
		heap.Remove(&d.heap, t.pos-1)
	}
}

// due takes the earliest timer that has passed at now out of the heap; nil when there is none.
func (d *deadlines) due(now int64) *deadline {
	if len(d.heap) == 0 || d.heap[0].at > now {
		return nil
	}
	return heap.Pop(&d.heap).(*deadline)
}

func (d *deadlines) next() int64 {
	if len(d.heap) == 0 {
		return NoDeadline
	}
	return d.heap[0].at
}

type deadlineHeap []*deadline

func (h deadlineHeap) Len() int { return len(h) }
func (h deadlineHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h deadlineHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i+1, j+1
}
func (h *deadlineHeap) Push(x any) {
	t := x.(*deadline)
	*h = append(*h, t)
	t.pos = len(*h)
}
func (h *deadlineHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.pos = 0
	return t
}
