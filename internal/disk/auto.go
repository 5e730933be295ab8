package disk

import (
	"math/bits"
	"time"
)

// asyncDisk is a backend that auto stands on.
type asyncDisk interface {
	Disk
	accept(op *Op) // an op that has begun
}

// autoDisk writes small appends at Submit, where the file system would send a ring write to a kernel worker anyway and the directory is
// quick; durable ones then have only their fdatasync left. Everything else goes to the backend below.
type autoDisk struct {
	asyncDisk
	inlineMax int
	slowNs    int64
	start     time.Time
	volumes   map[uint64]*volume
	done      opList // written inline, not reaped
	waiting   int    // ops in done
	inline    uint64
}

// volume is what auto knows about the file system of one directory.
type volume struct {
	noWait tristate
	// recent has a bit per write of the last 64, set when it was slow: a histogram of two buckets that forgets.
	recent uint64
}

type tristate uint8

const (
	unknown tristate = iota
	no
	yes
)

const (
	// slowShare is how many of the last 64 writes may be slow before a directory is no longer written inline.
	slowShare = 4
	// A write this many times over the limit uses the whole share up at once: the loop stood still.
	verySlow = 8
)

func (v *volume) quick() bool { return bits.OnesCount64(v.recent) < slowShare }

func (v *volume) note(tookNs, slowNs int64) {
	v.recent <<= 1
	if tookNs >= slowNs {
		v.recent |= 1
	}
	if tookNs >= verySlow*slowNs {
		v.recent = v.recent<<(slowShare-1) | (1<<slowShare - 1)
	}
}

func newAutoDisk(below asyncDisk, o Options) *autoDisk {
	return &autoDisk{asyncDisk: below, inlineMax: o.InlineMax, slowNs: o.SlowNs, start: time.Now(), volumes: map[uint64]*volume{}}
}

func (d *autoDisk) nowNs() int64 { return int64(time.Since(d.start)) }

// Submit implements Disk.
func (d *autoDisk) Submit(op *Op) {
	op.begin()
	if op.Kind != Write || op.want == 0 {
		d.accept(op)
		return
	}
	v := d.volumeOf(op.File)
	op.startNs = d.nowNs()
	if op.want > d.inlineMax || !v.quick() {
		d.accept(op)
		return
	}
	if op.Durable {
		d.writeThenSync(op, v)
		return
	}
	if v.noWait == yes {
		d.accept(op)
		return
	}
	if v.noWait == unknown {
		if v.noWait = tryNoWait(op); v.noWait == yes && op.done < op.want {
			d.accept(op)
			return
		}
	}
	if op.done < op.want {
		op.perform()
		v.note(d.nowNs()-op.startNs, d.slowNs)
	}
	op.finish()
	d.finished(op)
}

// writeThenSync writes a small durable append at once and leaves the backend below nothing but its fdatasync: one trip to a kernel worker
// instead of two.
func (d *autoDisk) writeThenSync(op *Op, v *volume) {
	failed := op.performWrite()
	v.note(d.nowNs()-op.startNs, d.slowNs)
	if failed {
		d.finished(op)
		return
	}
	d.accept(op)
}

// finished keeps an op that is done for the next Reap.
func (d *autoDisk) finished(op *Op) {
	op.release()
	op.inline = true
	d.inline++
	d.waiting++
	d.done.push(op)
}

func (d *autoDisk) volumeOf(f *File) *volume {
	v := d.volumes[f.dev]
	if v == nil {
		v = &volume{}
		d.volumes[f.dev] = v
	}
	return v
}

// Flush implements Disk.
func (d *autoDisk) Flush() {
	d.asyncDisk.Flush()
	if d.waiting > 0 {
		raiseWake(d.WakeFD())
	}
}

// Reap implements Disk.
func (d *autoDisk) Reap(dst []*Op) []*Op {
	at := len(dst)
	dst = d.asyncDisk.Reap(dst)
	for _, op := range dst[at:] {
		if op.Kind == Write && !op.Durable && op.want > 0 && op.want <= d.inlineMax {
			// The directory's way back to inline: small writes below are timed too, queueing included.
			d.volumeOf(op.File).note(d.nowNs()-op.startNs, d.slowNs)
		}
	}
	for op := d.done.pop(); op != nil; op = d.done.pop() {
		d.waiting--
		dst = append(dst, op)
	}
	return dst
}

// InFlight implements Disk.
func (d *autoDisk) InFlight() int { return d.asyncDisk.InFlight() + d.waiting }

// Backend implements Disk. Over the portable backend it is that one's name, since the ring is what auto promises.
func (d *autoDisk) Backend() string {
	if d.asyncDisk.Backend() == backendRing {
		return backendAuto
	}
	return backendPortable
}

// Stats implements Disk.
func (d *autoDisk) Stats() Stats {
	s := d.asyncDisk.Stats()
	s.Submitted += d.inline
	s.Completed += d.inline - uint64(d.waiting)
	s.Inline = d.inline
	return s
}

// Close implements Disk.
func (d *autoDisk) Close() {
	for d.done.pop() != nil {
	}
	d.waiting = 0
	d.asyncDisk.Close()
}
