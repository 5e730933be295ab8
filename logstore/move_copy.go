package logstore

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
)

// copying is the state of a move's files between jobs.
type copying struct {
	end    int64    // offset behind the last batch that was copied
	txnsTo int64    // transactions whose marker is below it have their entry
	seg    *Segment // of the log: where the last job stopped, to go on without a search
	pos    int64
	scan   scanner
	buf    []byte // the end of the active segment, not written yet

	unsynced int64 // bytes since everything, names too, was made durable
}

// source is a segment of the log as its shard saw it when the job began. A reference keeps its file.
type source struct {
	seg    *Segment
	base   int64
	next   int64
	size   int64
	made   int64
	closed bool
	txns   []AbortedTxn
}

// syncEvery is after how many bytes a crash shall not begin anew.
const syncEvery = 256 << 20

// copyBuffer is how much is gathered before it is written.
const copyBuffer = 1 << 20

// active is the last segment of the move's files, nil before the first.
func (mv *Move) active() *Segment {
	if len(mv.segments) == 0 {
		return nil
	}
	return mv.segments[len(mv.segments)-1]
}

// copyAll brings the move's files up to what the sources hold.
func (mv *Move) copyAll(sources []source, pay func(int64)) error {
	if err := mv.flush(); err != nil {
		return err
	}
	for i := range sources {
		src := &sources[i]
		if src.closed && src.next <= mv.copy.end && len(mv.segments) > 0 && src.base < mv.active().base {
			continue
		}
		if err := mv.enter(src); err != nil {
			return err
		}
		if err := mv.copySegment(src, pay); err != nil {
			return err
		}
		mv.copyTxns(src)
		if src.closed {
			mv.copy.end = max(mv.copy.end, src.next) // compaction may have taken the end of it
			mv.active().next = max(mv.active().next, src.next)
		}
		mv.publish()
	}
	return nil
}

// enter makes the segment of the move that begins where a segment of the log does. The files of a move that Kafka began have other borders:
// its last segment takes what is left of the log's.
func (mv *Move) enter(src *source) error {
	at := mv.active()
	if at != nil && (at.base == src.base || mv.copy.end > src.base) {
		return nil
	}
	if at != nil {
		if err := mv.settle(at, true); err != nil {
			return err
		}
	}
	mv.copy.end = max(mv.copy.end, src.base)
	return mv.newSegment(src.base, src.made)
}

func (mv *Move) newSegment(base, madeMs int64) error {
	seg := newSegment(mv.path, base, madeMs)
	if err := createSegment(mv.m.opt.FS, seg, mv.opt.IndexMaxBytes, 0); err != nil {
		return err
	}
	mv.segments = append(mv.segments, seg)
	return nil
}

// copySegment copies the batches of one segment that are not there yet, each checked. It may end with an error anywhere, and goes on from there.
func (mv *Move) copySegment(src *source, pay func(int64)) error {
	c := &mv.copy
	if c.seg != src.seg {
		pos, err := mv.seek(src)
		if err != nil {
			return err
		}
		c.seg, c.pos = src.seg, pos
	}
	for c.scan.reset(src.seg.file, c.pos, src.size, true); ; {
		e, b, _, err := c.scan.next()
		if err == io.EOF {
			return mv.flush()
		}
		if err == nil && mv.halt() {
			err = errHalted
		}
		if err != nil {
			return errors.Join(err, mv.flush())
		}
		if seg := mv.active(); seg.size > math.MaxInt32-int64(e.Size) || e.Last-seg.base > maxRelative {
			if err := mv.split(); err != nil {
				return err
			}
		}
		seg := mv.active()
		c.buf = append(c.buf, b...)
		seg.note(seg.size, e.Size, e.BaseOffset, e.Last, e.MaxTimestamp, mv.opt.IndexInterval)
		c.end, c.pos = e.Last+1, c.pos+int64(e.Size)
		if n := int64(len(c.buf)); n >= copyBuffer {
			if err := mv.flush(); err != nil {
				return err
			}
			mv.publish()
			pay(n)
		}
	}
}

// errHalted ends a job whose move was stopped.
var errHalted = errors.New("logstore: the move was stopped")

// split begins a segment in the middle of one of the log's.
func (mv *Move) split() error {
	if err := mv.flush(); err != nil {
		return err
	}
	old := mv.active()
	if err := mv.settle(old, false); err != nil {
		return err
	}
	return mv.newSegment(mv.copy.end, old.createdMs)
}

// seek finds the first batch of a segment that is not there yet.
func (mv *Move) seek(src *source) (int64, error) {
	c := &mv.copy
	if c.end <= src.base {
		return 0, nil
	}
	for c.scan.reset(src.seg.file, 0, src.size, false); ; {
		e, _, pos, err := c.scan.next()
		if err == io.EOF {
			return src.size, nil
		}
		if err != nil || e.Last >= c.end {
			return pos, err
		}
	}
}

// flush writes what was gathered. After an error it is tried again.
func (mv *Move) flush() error {
	c := &mv.copy
	if len(c.buf) == 0 {
		return nil
	}
	seg := mv.active()
	if _, err := seg.file.WriteAt(c.buf, seg.size-int64(len(c.buf))); err != nil {
		return err
	}
	c.unsynced += int64(len(c.buf))
	c.buf = c.buf[:0]
	return nil
}

// copyTxns takes the aborted transactions whose markers were copied.
func (mv *Move) copyTxns(src *source) {
	c, seg := &mv.copy, mv.active()
	for _, t := range src.txns {
		if t.LastOffset >= c.txnsTo && t.LastOffset < c.end {
			seg.txns = append(seg.txns, t)
		}
	}
	c.txnsTo = max(c.txnsTo, c.end)
}

// settle makes a segment final: synced, its indexes cut to their entries. With last its end is that of a segment of the log, whose producers'
// snapshot belongs beside it.
func (mv *Move) settle(seg *Segment, last bool) error {
	f := mv.m.opt.FS
	if err := seg.file.Sync(); err != nil {
		return err
	}
	if seg.times.inMem {
		seg.times.addTime(seg.maxTime, int32(seg.maxTimeLast-seg.base))
	}
	for _, x := range []*Index{&seg.offsets, &seg.times} {
		if !x.inMem {
			continue
		}
		if err := writeIndex(f, x); err != nil {
			return err
		}
		x.inMem, x.mem = false, nil
	}
	if len(seg.txns) > 0 {
		if err := f.WriteFileAtomic(seg.stem+sufTxn, encodeTxnIndex(seg.txns)); err != nil {
			return err
		}
	}
	if last {
		if err := mv.copySnapshot(seg.next); err != nil {
			return err
		}
	}
	seg.settled = true
	if mv.copy.unsynced < syncEvery {
		return nil
	}
	return mv.sync()
}

// saveEpochs writes the leader epochs of what was copied, as the log's shard knew them when the job began.
func (mv *Move) saveEpochs(end int64) error {
	c := epochCache{list: slices.Clone(mv.epochs)}
	c.cutEnd(end)
	return mv.m.opt.FS.WriteFileAtomic(filepath.Join(mv.path, epochFile), encodeEpochs(c.list))
}

// sync makes everything that was copied durable.
func (mv *Move) sync() error {
	if mv.active() == nil {
		return nil
	}
	if err := mv.active().file.DataSync(); err != nil {
		return err
	}
	if err := mv.saveEpochs(mv.copy.end); err != nil {
		return err
	}
	mv.copy.unsynced = 0
	if err := mv.m.opt.FS.SyncDir(mv.path); err != nil {
		return err
	}
	mv.published.durable.Store(mv.copy.end)
	return nil
}

// copySnapshot takes the producers' snapshot at an offset if the log has one. It may not have been saved yet, or be gone: then those that a
// later start needs are made from the records.
func (mv *Move) copySnapshot(at int64) error {
	f, name := mv.m.opt.FS, fileName(at, sufSnapshot)
	b, err := f.ReadFile(filepath.Join(mv.from.path, mv.tp.String(), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.WriteFileAtomic(filepath.Join(mv.path, name), b)
}

// publish makes the progress visible to other threads.
func (mv *Move) publish() {
	var size int64
	for _, s := range mv.segments {
		size += s.size
	}
	mv.published.size.Store(size)
	mv.published.end.Store(mv.copy.end)
}

// closeFiles gives the descriptors back.
func (mv *Move) closeFiles() {
	for _, s := range mv.segments {
		s.close()
	}
}

// startOver empties the move's files: the log lost an end that was copied.
func (mv *Move) startOver() error {
	f := mv.m.opt.FS
	for _, s := range slices.Backward(mv.segments) {
		s.close()
		for _, suffix := range segmentSuffixes() {
			if err := f.Remove(s.stem + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	mv.segments, mv.copy = nil, copying{}
	mv.published.durable.Store(0)
	mv.publish()
	return nil
}
