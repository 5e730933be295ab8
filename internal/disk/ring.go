package disk

import (
	"errors"

	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/internal/uring"
)

// Tags of completions: generation, slot and which entry of a chain.
const (
	partMain  = 0
	partSync  = 1
	partBits  = 1
	slotBits  = 31
	genShift  = partBits + slotBits
	reapBatch = 64
)

// ringDisk is the backend on a ring.
type ringDisk struct {
	residency
	ring    uring.Ring
	wakeFD  int
	pending opList // submitted, not yet pushed; a continued op goes to the front
	ready   opList // complete, not yet reaped

	slots []slot // ops in the kernel's hands
	free  []uint32

	inFlight int // submitted and not returned by Reap
	inKernel int // pushed and not settled
	batch    [reapBatch]uring.Completion

	fixed  *uring.Fixed // nil without registered buffers
	pieces func(seen int) [][]byte
	stats  Stats
}

// slot keeps an op reachable while only the kernel knows it. The generation tells a late completion from the slot's next user.
type slot struct {
	op  *Op
	gen uint32
}

func newRingDisk(ring uring.Ring, wakeFD int) *ringDisk {
	n := max(ring.Probe().CQEntries, 2)
	d := &ringDisk{ring: ring, wakeFD: wakeFD, slots: make([]slot, n), free: make([]uint32, n)}
	for i := range d.free {
		d.free[i] = uint32(n - 1 - i)
	}
	return d
}

// Submit implements Disk.
func (d *ringDisk) Submit(op *Op) {
	op.begin()
	d.accept(op)
}

// accept queues an op that has begun, maybe already written in part.
func (d *ringDisk) accept(op *Op) {
	d.inFlight++
	d.stats.Submitted++
	if op.Kind == ReadAhead {
		d.loading(op)
	}
	if op.want == 0 && (op.Kind == Read || op.Kind == ReadAhead || (op.Kind == Write && !op.Durable)) {
		op.finish()
		d.complete(op)
		return
	}
	op.syncing = op.Kind == Write && op.Durable && op.want == op.done
	d.pending.push(op)
}

// Flush implements Disk.
func (d *ringDisk) Flush() {
	for {
		for !d.pending.empty() && d.push(d.pending.head) {
			d.pending.pop()
		}
		err := d.ring.Submit()
		if errors.Is(err, uring.ErrBusy) {
			// The entries stay queued. Completions to come will wake the loop, but if there are none nobody else would.
			d.raise()
			break
		}
		if err != nil {
			invariant.Broken("disk: the kernel refuses the ring", err)
		}
		if d.pending.empty() || d.ring.Space() < entriesOf(d.pending.head) {
			break
		}
	}
	if !d.ready.empty() {
		d.raise()
	}
}

// entriesOf bounds the ring entries that an op's next call takes.
func entriesOf(op *Op) int {
	if op.Kind == Write && op.Durable && !op.syncing {
		return 2
	}
	return 1
}

// push puts an op's next call into the ring; false when there is no room. A chain goes in whole or not at all, since a chain ends where a
// submit ends.
func (d *ringDisk) push(op *Op) bool {
	if d.ring.Space() < entriesOf(op) || len(d.free) == 0 {
		return false
	}
	index := d.free[len(d.free)-1]
	d.free = d.free[:len(d.free)-1]
	s := &d.slots[index]
	s.op = op
	s.gen++
	op.slot, op.parts, op.linked, op.main, op.sync = index, 1, false, 0, 0
	d.inKernel++
	tag := uint64(s.gen)<<genShift | uint64(index)<<partBits
	e := d.entry(op)
	if op.Kind == Write && op.Durable && !op.syncing && op.done+op.asked == op.want {
		op.linked, op.parts = true, 2
		d.mustPush(e.Flagged(uring.Link).With(tag | partMain))
		d.mustPush(uring.DataSync(op.File.fd).With(tag | partSync))
		return true
	}
	d.mustPush(e.With(tag | partMain))
	return true
}

func (d *ringDisk) mustPush(e uring.Entry) {
	if !d.ring.Push(e) {
		invariant.Broken("disk: the ring has space but takes no entry", d.ring.Space())
	}
}

// entry makes the ring entry of an op's next call.
func (d *ringDisk) entry(op *Op) uring.Entry {
	switch op.Kind {
	case Nop:
		return uring.Nop()
	case Sync:
		return uring.DataSync(op.File.fd)
	case ReadAhead:
		// To a worker at once: tried here, it would allocate the pages and copy them on the loop.
		op.loadScratch()
		return uring.Readv(op.File.fd, &op.vec, op.Off+int64(op.done)).Flagged(uring.Async)
	case Read:
		op.asked = op.want - op.done
		return uring.Read(op.File.fd, op.Bufs[0][op.done:], op.Off+int64(op.done))
	}
	if op.syncing {
		return uring.DataSync(op.File.fd)
	}
	if len(op.Bufs) == 1 {
		op.asked = op.want - op.done
		b := op.Bufs[0][op.done:]
		if d.fixed != nil {
			if index := d.fixedIndex(b); index >= 0 {
				d.stats.Fixed++
				return uring.WriteFixed(op.File.fd, b, op.Off+int64(op.done), index)
			}
		}
		return uring.Write(op.File.fd, b, op.Off+int64(op.done))
	}
	op.load()
	return uring.Writev(op.File.fd, &op.vec, op.Off+int64(op.done))
}

// fixedIndex is the registered buffer that b lies in, -1 without one. Memory that is new since the last look is registered first; when the
// kernel takes no more of it, what there is stays.
func (d *ringDisk) fixedIndex(b []byte) int {
	if index := d.fixed.Find(b); index >= 0 || d.pieces == nil {
		return index
	}
	for _, piece := range d.pieces(d.fixed.Len()) {
		if d.fixed.Add(piece) != nil {
			d.pieces = nil
			break
		}
	}
	return d.fixed.Find(b)
}

// Reap implements Disk.
func (d *ringDisk) Reap(dst []*Op) []*Op {
	d.reapRing()
	for op := d.ready.pop(); op != nil; op = d.ready.pop() {
		d.inFlight--
		d.stats.Completed++
		dst = append(dst, op)
	}
	return dst
}

func (d *ringDisk) reapRing() {
	for {
		n := d.ring.Reap(d.batch[:])
		for i := range n {
			d.settle(&d.batch[i])
		}
		if n < len(d.batch) {
			return
		}
	}
}

// settle gives one completion to its op.
func (d *ringDisk) settle(c *uring.Completion) {
	index := uint32(c.User>>partBits) & (1<<slotBits - 1)
	if int(index) >= len(d.slots) || d.slots[index].op == nil || d.slots[index].gen != uint32(c.User>>genShift) {
		invariant.Broken("disk: completion of nobody's operation", c.User, c.Res)
	}
	op := d.slots[index].op
	if c.User&partSync != 0 {
		op.sync = c.Res
	} else {
		op.main = c.Res
	}
	if op.parts--; op.parts > 0 {
		return
	}
	d.slots[index].op = nil
	d.free = append(d.free, index)
	d.inKernel--
	if op.settle() {
		d.complete(op)
		return
	}
	d.stats.Continued++
	d.pending.pushFront(op)
}

func (d *ringDisk) complete(op *Op) {
	if op.Kind == ReadAhead {
		d.loaded(op)
	}
	op.release()
	d.ready.push(op)
}

// InFlight implements Disk.
func (d *ringDisk) InFlight() int { return d.inFlight }

// WakeFD implements Disk.
func (d *ringDisk) WakeFD() int { return d.wakeFD }

// ResetWake implements Disk. A caller with nothing in flight need not call Reap, but the kernel's work behind the wake-up must be run all the
// same: see uring's Reap.
func (d *ringDisk) ResetWake() {
	drainWake(d.wakeFD)
	if d.inKernel == 0 {
		d.reapRing()
	}
}

func (d *ringDisk) raise() { raiseWake(d.wakeFD) }

// Backend implements Disk.
func (d *ringDisk) Backend() string { return backendRing }

// Stats implements Disk.
func (d *ringDisk) Stats() Stats {
	s, r := d.stats, d.ring.Stats()
	s.Enters, s.Overflows = r.Enters, r.Overflows
	return s
}

// Close implements Disk. It carries everything to its end first: an append that the kernel may still finish must not count as failed.
func (d *ringDisk) Close() {
	var done []*Op
	for d.inFlight > 0 {
		d.Flush()
		if d.inKernel > 0 && d.ready.empty() {
			if err := d.ring.Wait(1); err != nil && !errors.Is(err, uring.ErrBusy) {
				invariant.Broken("disk: the kernel refuses the ring", err)
			}
		}
		done = d.Reap(done[:0])
	}
	if err := d.ring.Close(); err != nil {
		invariant.Broken("disk: ring does not close", err)
	}
	closeWake(d.wakeFD)
}
