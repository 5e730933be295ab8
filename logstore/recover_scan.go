package logstore

import (
	"errors"
	"io"
	"path/filepath"
	"strconv"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// rescan reads a whole segment with checksums, in one pass with the producers' state, and makes its indexes anew. A fault beyond
// the recovery point is the torn end of a crash: the file is cut there. Below it, acknowledged data is damaged: that is never cut silently.
// A segment that is deleted may be torn anywhere.
func (o *opening) rescan(seg *Segment, deleted bool) (cut bool, err error) {
	l := o.l
	size := seg.size
	for _, x := range []*Index{&seg.offsets, &seg.times} {
		if x.file != nil {
			_ = x.file.Close()
		}
		*x = newIndex(x.path, x.width)
	}
	seg.txns, seg.settled, seg.scanned = nil, false, true
	seg.next, seg.size, seg.sinceIndex = seg.base, 0, 0
	seg.maxTime, seg.maxTimeLast, seg.firstTime = batch.NoTimestamp, seg.base, batch.NoTimestamp
	o.scan.reset(seg.file, 0, size, true)
	for {
		e, b, pos, err := o.scan.next()
		if err == nil && (e.Last < seg.next || e.Last-seg.base > maxRelative || (e.BaseOffset >= 0 && e.BaseOffset < seg.next)) {
			o.scan.pos = pos
			err = o.scan.fault("offsets go backwards", nil)
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil && deleted && errors.As(err, new(*CorruptError)) {
			return false, nil
		}
		if err != nil {
			return true, o.cut(seg, size, err)
		}
		seg.note(pos, e.Size, e.BaseOffset, e.Last, e.MaxTimestamp, l.opt.IndexInterval)
		if e.Magic == 2 {
			l.epochs.assign(e.LeaderEpoch, e.BaseOffset)
			if err := o.replayBatch(seg, &e, b); err != nil {
				return false, err
			}
		}
		if o.progress != nil {
			if err := o.progress(int64(e.Size)); err != nil {
				return false, err
			}
		}
	}
}

// cut shortens a segment to its last whole batch. At start no byte of it was sent by this process, so it may be cut in place.
func (o *opening) cut(seg *Segment, size int64, fault error) error {
	var bad *CorruptError
	if !errors.As(fault, &bad) {
		return fault
	}
	if seg.next < o.recovery {
		return &CorruptError{Path: bad.Path, Pos: bad.Pos, What: "below the recovery point, at offset " + strconv.FormatInt(seg.next, 10) + ": " + bad.What, Err: bad.Err}
	}
	o.cutAt, o.cutBytes = bad, size-seg.size
	return seg.file.Truncate(seg.size)
}

// settle makes what was recovered durable before anybody reads it: a second crash must not take back what was served.
func (o *opening) settle() error {
	l := o.l
	if o.scanned < len(l.segments) {
		l.dirty = true
	}
	for i := o.scanned; i < len(l.segments); i++ {
		seg := l.segments[i]
		if !seg.scanned {
			continue
		}
		if err := seg.file.Sync(); err != nil {
			return err
		}
		if i == len(l.segments)-1 {
			break
		}
		seg.times.addTime(seg.maxTime, int32(seg.maxTimeLast-seg.base))
		for _, x := range []*Index{&seg.offsets, &seg.times} {
			if err := writeIndex(l.fs, x); err != nil {
				return err
			}
			x.inMem, x.mem = false, nil
		}
		if len(seg.txns) > 0 {
			if err := l.fs.WriteFileAtomic(seg.stem+sufTxn, encodeTxnIndex(seg.txns)); err != nil {
				return err
			}
		}
		seg.settled = true
	}
	if o.closed.b != nil { // as the settling of a segment does: the segment may go, and what its producers wrote must still be known
		if err := l.saveSnapshot(o.closed); err != nil {
			return err
		}
	}
	if l.epochs.dirty {
		l.epochs.dirty = false
		if err := l.fs.WriteFileAtomic(filepath.Join(l.path, epochFile), encodeEpochs(l.epochs.list)); err != nil {
			return err
		}
	} else if l.dirty { // a killed process may not have synced the names of its newest segments
		if err := l.fs.SyncDir(l.path); err != nil {
			return err
		}
	}
	l.durable = l.end
	return nil
}
