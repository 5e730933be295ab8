package logstore

import (
	"errors"
	"io"
)

// recoverEpochs finds where leader epochs began that the epochs' file does not know of, in the first n segments, which are not scanned: the
// file is saved behind the appends, and a power cut may leave an older one while the records are safe. Without this an epoch would seem to
// begin at the first batch that is scanned, and a follower would be told a wrong end of the one before.
func (o *opening) recoverEpochs(n int) error {
	l := o.l
	if n == 0 {
		return nil
	}
	known := l.epochs.latest()
	if last, err := o.lastEpoch(l.segments[n-1]); err != nil || last <= known {
		return err
	}
	from := n - 1
	for from > 0 {
		o.scan.reset(l.segments[from].file, 0, l.segments[from].size, false)
		e, _, _, err := o.scan.next()
		if err != nil && err != io.EOF {
			return err
		}
		if err == nil && e.LeaderEpoch <= known {
			break
		}
		from--
	}
	for _, seg := range l.segments[from:n] {
		if err := o.learnEpochs(seg); err != nil {
			return err
		}
	}
	return nil
}

// epochsBetween is recoverEpochs for one segment that is not scanned but lies behind one that was, as behind one that a cleaning left half swapped.
func (o *opening) epochsBetween(seg *Segment) error {
	if last, err := o.lastEpoch(seg); err != nil || last <= o.l.epochs.latest() {
		return err
	}
	return o.learnEpochs(seg)
}

// learnEpochs assigns the epochs of a segment's batches.
func (o *opening) learnEpochs(seg *Segment) error {
	o.scan.reset(seg.file, 0, seg.size, false)
	for {
		e, _, _, err := o.scan.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Magic == 2 {
			o.l.epochs.assign(e.LeaderEpoch, e.BaseOffset)
		}
	}
}

// firstEpochs puts the epochs of the batches that lie before the first one that the file knows in front of it.
func (o *opening) firstEpochs() error {
	l := o.l
	later := l.epochs.list
	var found epochCache
scan:
	for _, seg := range l.segments[l.segmentFor(l.start):] {
		o.scan.reset(seg.file, 0, seg.size, false)
		for {
			e, _, _, err := o.scan.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			if e.BaseOffset >= later[0].Start {
				break scan
			}
			if e.Magic == 2 {
				found.assign(e.LeaderEpoch, max(e.BaseOffset, l.start))
			}
		}
	}
	for _, x := range later {
		found.assign(x.Epoch, x.Start)
	}
	l.epochs.list, l.epochs.dirty = found.list, true
	l.work.saveEpochs(l)
	return nil
}

// lastEpoch is the leader epoch of a segment's last batch, -1 without one: a walk from the last indexed batch on, or from the start when the
// index names a place where no batch begins.
func (o *opening) lastEpoch(seg *Segment) (int32, error) {
	pos := int64(0)
	if n := seg.offsets.n; n > 0 {
		var err error
		if _, pos, _, err = seg.offsets.offsetAt(nil, n-1); err != nil {
			return -1, err
		}
	}
	last, err := o.lastEpochFrom(seg, pos)
	var bad *CorruptError
	if pos > 0 && errors.As(err, &bad) {
		return o.lastEpochFrom(seg, 0)
	}
	return last, err
}

func (o *opening) lastEpochFrom(seg *Segment, pos int64) (int32, error) {
	last := int32(-1)
	o.scan.reset(seg.file, pos, seg.size, false)
	for {
		e, _, _, err := o.scan.next()
		if err == io.EOF {
			return last, nil
		}
		if err != nil {
			return -1, err
		}
		last = e.LeaderEpoch
	}
}
