package sim

import (
	"io"

	"github.com/pelton-broker/pelton/internal/disk"
)

// Queue is a shard's disk: operations wait until the world lets one go on, in any order.
type Queue struct {
	rand    *Rand
	v       *Volume
	waiting []*disk.Op
	ready   []*disk.Op
	cold    int // percent of reads that are not in the cache
	stats   disk.Stats
}

// Submit implements disk.Disk.
func (q *Queue) Submit(op *disk.Op) {
	op.N, op.Err = 0, nil
	q.waiting = append(q.waiting, op)
	q.stats.Submitted++
}

// Step carries one waiting operation out; what it says is found by Reap.
func (q *Queue) Step() {
	if len(q.waiting) == 0 {
		return
	}
	i := q.rand.Intn(len(q.waiting))
	op := q.waiting[i]
	q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
	q.carry(op)
	q.ready = append(q.ready, op)
}

func (q *Queue) carry(op *disk.Op) {
	if op.Kind == disk.Write {
		off := op.Off
		for _, b := range op.Bufs {
			n, err := op.File.WriteAt(b, off)
			off += int64(n)
			op.N += n
			if err != nil {
				op.Err = err
				return
			}
		}
	}
	if op.Kind == disk.Sync || op.Kind == disk.Write && op.Durable {
		op.Err = op.File.DataSync()
	}
}

// Interrupt is the end of the process: of what waits, anything may have happened.
func (q *Queue) Interrupt() {
	for len(q.waiting) > 0 {
		op := q.waiting[0]
		q.waiting = q.waiting[1:]
		if q.rand.Percent(50) {
			op.Durable = op.Durable && q.rand.Percent(50)
			q.carry(op)
		}
	}
	q.ready = nil
}

// Reap implements disk.Disk.
func (q *Queue) Reap(dst []*disk.Op) []*disk.Op {
	q.stats.Completed += uint64(len(q.ready))
	dst = append(dst, q.ready...)
	q.ready = q.ready[:0]
	return dst
}

// ReadNow implements disk.Disk.
func (q *Queue) ReadNow(f *disk.File, b []byte, off int64) (int, error) {
	if q.rand.Percent(q.cold) {
		return 0, disk.ErrWouldBlock
	}
	n, err := f.ReadAt(b, off)
	if n < len(b) && err == nil {
		err = io.EOF
	}
	return n, err
}

// Cached implements disk.Disk.
func (q *Queue) Cached(*disk.File, int64, int64) bool { return !q.rand.Percent(q.cold) }

// Flush implements disk.Disk.
func (q *Queue) Flush() {}

// InFlight implements disk.Disk.
func (q *Queue) InFlight() int { return len(q.waiting) + len(q.ready) }

// WakeFD implements disk.Disk.
func (q *Queue) WakeFD() int { return -1 }

// ResetWake implements disk.Disk.
func (q *Queue) ResetWake() {}

// Backend implements disk.Disk.
func (q *Queue) Backend() string { return "sim" }

// Stats implements disk.Disk.
func (q *Queue) Stats() disk.Stats { return q.stats }

// Close implements disk.Disk.
func (q *Queue) Close() {}
