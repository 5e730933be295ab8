package disk

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/pelton-broker/pelton/internal/task"
)

// portableDisk carries operations out with blocking calls on worker goroutines, a few per directory (told apart by device), so that one slow
// disk does not hold the others up. It is the backend without a ring and the reference in tests.
type portableDisk struct {
	residency
	perVolume int
	group     *task.Group
	wakeFD    int
	volumes   map[uint64]*workers
	queued    opList // submitted, not flushed
	ready     opList // complete, on our thread
	inFlight  int
	stats     Stats

	finished     finishedOps
	finishedSeen opList // scratch of Reap
}

// finishedOps is where workers leave what they have done.
type finishedOps struct {
	count atomic.Int32 // ops in list; read without the lock to leave at once
	mu    struct {
		sync.Mutex
		list opList
	}
	came *sync.Cond // for Close, which waits
}

// workers serve one volume.
type workers struct {
	mu struct {
		sync.Mutex
		queue   opList
		idle    int
		started int
		stopped bool
	}
	work *sync.Cond
}

func newPortableDisk(perVolume int, wakeFD int) *portableDisk {
	d := &portableDisk{perVolume: perVolume, group: task.NewGroup(), wakeFD: wakeFD, volumes: map[uint64]*workers{}}
	d.finished.came = sync.NewCond(&d.finished.mu.Mutex)
	return d
}

// Submit implements Disk.
func (d *portableDisk) Submit(op *Op) {
	op.begin()
	d.accept(op)
}

func (d *portableDisk) accept(op *Op) {
	d.inFlight++
	d.stats.Submitted++
	if op.Kind == ReadAhead {
		d.loading(op)
	}
	if op.Kind == Nop || (op.want == 0 && op.Kind != Sync && !op.Durable) {
		op.finish()
		d.complete(op)
		return
	}
	d.queued.push(op)
}

// Flush implements Disk.
func (d *portableDisk) Flush() {
	for op := d.queued.pop(); op != nil; op = d.queued.pop() {
		// One operation in flight per file keeps a file's writes in the order they were submitted in.
		if op.File.busy {
			op.File.waiting.push(op)
			continue
		}
		op.File.busy = true
		d.hand(op)
	}
	if !d.ready.empty() {
		raiseWake(d.wakeFD)
	}
}

// hand gives an op to the workers of its volume and starts one more when all are at work.
func (d *portableDisk) hand(op *Op) {
	w := d.volumes[op.File.dev]
	if w == nil {
		w = &workers{}
		w.work = sync.NewCond(&w.mu.Mutex)
		d.volumes[op.File.dev] = w
	}
	w.mu.Lock()
	w.mu.queue.push(op)
	start := w.mu.idle == 0 && w.mu.started < d.perVolume
	if start {
		w.mu.started++
	}
	w.mu.Unlock()
	if start {
		d.group.Go("disk-worker", func(context.Context) { d.serve(w) })
		return
	}
	w.work.Signal()
}

// serve is a worker's life.
func (d *portableDisk) serve(w *workers) {
	w.mu.Lock()
	for {
		op := w.mu.queue.pop()
		if op == nil {
			if w.mu.stopped {
				break
			}
			w.mu.idle++
			w.work.Wait()
			w.mu.idle--
			continue
		}
		w.mu.Unlock()
		op.perform()
		d.finish(op)
		w.mu.Lock()
	}
	w.mu.Unlock()
}

// finish hands an op back to the Disk's thread; only the first since its last look wakes it.
func (d *portableDisk) finish(op *Op) {
	f := &d.finished
	f.mu.Lock()
	first := f.mu.list.empty()
	f.mu.list.push(op)
	f.count.Add(1)
	f.mu.Unlock()
	if first {
		raiseWake(d.wakeFD)
		f.came.Signal()
	}
}

// Reap implements Disk.
func (d *portableDisk) Reap(dst []*Op) []*Op {
	f := &d.finished
	if f.count.Load() > 0 {
		f.mu.Lock()
		d.finishedSeen.take(&f.mu.list)
		f.count.Store(0)
		f.mu.Unlock()
		for op := d.finishedSeen.pop(); op != nil; op = d.finishedSeen.pop() {
			d.next(op.File)
			d.complete(op)
		}
	}
	for op := d.ready.pop(); op != nil; op = d.ready.pop() {
		d.inFlight--
		d.stats.Completed++
		dst = append(dst, op)
	}
	return dst
}

// next starts what waits for a file whose operation is done.
func (d *portableDisk) next(f *File) {
	if op := f.waiting.pop(); op != nil {
		d.hand(op)
		return
	}
	f.busy = false
}

func (d *portableDisk) complete(op *Op) {
	if op.Kind == ReadAhead {
		d.loaded(op)
	}
	op.release()
	d.ready.push(op)
}

// InFlight implements Disk.
func (d *portableDisk) InFlight() int { return d.inFlight }

// WakeFD implements Disk.
func (d *portableDisk) WakeFD() int { return d.wakeFD }

// ResetWake implements Disk.
func (d *portableDisk) ResetWake() { drainWake(d.wakeFD) }

// Backend implements Disk.
func (d *portableDisk) Backend() string { return backendPortable }

// Stats implements Disk.
func (d *portableDisk) Stats() Stats { return d.stats }

// Close implements Disk.
func (d *portableDisk) Close() {
	var done []*Op
	for d.inFlight > 0 {
		d.Flush()
		f := &d.finished
		f.mu.Lock()
		for f.mu.list.empty() && d.ready.empty() {
			f.came.Wait()
		}
		f.mu.Unlock()
		done = d.Reap(done[:0])
	}
	for _, w := range d.volumes {
		w.mu.Lock()
		w.mu.stopped = true
		w.mu.Unlock()
		w.work.Broadcast()
	}
	d.group.Stop()
	closeWake(d.wakeFD)
}
