package logstore

import (
	"io"
	"os"
	"slices"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// cleaner rewrites closed segments so that of every key the last value stays. It runs off the shards on files that do not change, and
// knows Kafka's rules: offsets stay, order stays, tombstones and markers go after their time, aborted records go, and a batch that must be
// found (the last one of an active producer, the last one of all) stays as a header even when it is empty.
type cleaner struct {
	fs       disk.FS
	opt      Options
	nowMs    int64
	segments []*Segment // to clean, in order
	dirty    int64      // first offset that was never cleaned
	lastOf   map[int64]lastBatch
	aborted  []AbortedTxn // of the whole log: a marker may be in a segment that is not cleaned
	records  batch.Iterator
	scan     scanner
	stop     *atomic.Bool // the log was deleted
	throttle *throttle
	keys     *offsetMap
	upTo     int64 // found: everything below is clean now
	made     []cleanedGroup

	// Kept from batch to batch, so that a cleaning makes no garbage: which records of the batch stay, what they become, and what is not
	// written yet.
	sieve   batch.Sieve
	hashes  hashes
	found   uint64 // of no meaning: see offsetMap.find
	builder batch.Builder
	out     []byte
}

// writeChunk is how much a cleaning collects before it writes: small batches share a system call.
const writeChunk = 256 << 10

// lastBatch is a producer's newest batch.
type lastBatch struct {
	offset int64 // of its last record; -1 when its newest batch is a marker
	epoch  int16
}

// cleanedGroup is what takes the place of some segments.
type cleanedGroup struct {
	seg  *Segment
	olds []*Segment
}

// run does it all; files have the suffix .cleaned afterwards.
func (c *cleaner) run() error {
	c.sieve.Codecs = c.records.Codecs
	defer c.sieve.Release()
	if err := c.buildMap(); err != nil {
		return err
	}
	c.upTo = c.keys.latest + 1
	n := len(c.segments)
	for n > 0 && c.segments[n-1].base >= c.upTo {
		n--
	}
	txns := newTxnTrack(c.aborted, c.segments[0].base)
	for rest := c.segments[:n]; len(rest) > 0; {
		group := c.group(rest)
		seg, err := c.rewrite(group, txns, len(group) == len(rest))
		if err != nil {
			return err
		}
		c.made = append(c.made, cleanedGroup{seg, group})
		rest = rest[len(group):]
	}
	return c.makeDurable()
}

// discard removes the files of a run that failed: the log may never be cleaned again, and a start would remove them anyway. What cannot be
// removed is left to that start.
func (c *cleaner) discard() {
	for _, g := range c.made {
		g.seg.close()
	}
	c.made = nil
	for _, s := range c.segments {
		for _, suffix := range []string{sufLog, sufIndex, sufTime, sufTxn} {
			_ = c.fs.Remove(s.stem + suffix + sufCleaned)
		}
	}
}

// buildMap notes the last offset of every key of the dirty part, as far as there is room. It does not look at checksums: rewrite reads every
// batch again whose keys are here, and a cleaning with a damaged one ends before anything is swapped. For the one batch that the map is full
// in, which may lie behind what is rewritten, mapBatch does look.
func (c *cleaner) buildMap() error {
	var bytes, offsets int64
	for _, s := range c.segments {
		if s.next > c.dirty {
			bytes, offsets = bytes+s.size, offsets+s.next-max(s.base, c.dirty)
		}
	}
	c.keys = newOffsetMap(c.opt.DedupeBytes, min(uint64(bytes)/minRecord, uint64(offsets))+1)
	c.keys.latest = c.dirty - 1
	txns := newTxnTrack(c.aborted, c.firstDirty())
	c.scan.trusting = true
	defer func() { c.scan.trusting = false }()
	for _, seg := range c.segments {
		if seg.next <= c.dirty {
			continue
		}
		c.scan.reset(seg.file, 0, seg.size, true)
		for {
			e, b, pos, err := c.scan.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			if c.stop.Load() {
				return ErrClosed
			}
			c.spend(e.Size)
			full, err := c.mapBatch(txns, &e, b)
			if (full || err != nil) && !batch.CheckEntryCRC(b) {
				return &CorruptError{Path: seg.file.Path(), Pos: pos, What: damaged, Err: batch.ErrCRC}
			}
			if full || err != nil {
				return err
			}
		}
		c.keys.latest = max(c.keys.latest, seg.next-1)
	}
	return nil
}

// spend accounts for bytes that were read or written.
func (c *cleaner) spend(n int) { c.throttle.spend(int64(n), c.opt.CleanerBytesPerSecond, c.stop.Load) }

// firstDirty is where the reading of the dirty part begins.
func (c *cleaner) firstDirty() int64 {
	for _, s := range c.segments {
		if s.next > c.dirty {
			return s.base
		}
	}
	return c.dirty
}

// minRecord is the least that a record with a key takes, to size the map.
const minRecord = 8

func (c *cleaner) mapBatch(txns *txnTrack, e *batch.Entry, b []byte) (full bool, err error) {
	if e.Magic == 2 && e.IsControl() {
		txns.marker(e, b, &c.records)
		return false, nil
	}
	if txns.data(e) { // aborted: its keys say nothing
		return false, nil
	}
	if e.Magic == 2 {
		err = c.sieve.Keys(b, func(group []batch.KeyOf) bool {
			c.found += c.keys.find(group, &c.hashes)
			for i := range group {
				full = full || (group[i].Offset >= c.dirty && group[i].Key != nil && !c.keys.put(c.hashes[i], group[i].Offset))
			}
			return !full
		})
	} else {
		err = c.records.Each(b, func(r batch.Record) bool {
			full = r.Offset >= c.dirty && r.Key != nil && !c.keys.put(xxh3.Hash128(r.Key), r.Offset)
			return !full
		})
	}
	if !full && err == nil {
		c.keys.latest = max(c.keys.latest, e.Last)
	}
	return full, err
}

// group takes as many leading segments as fit into one by their present sizes.
func (c *cleaner) group(rest []*Segment) []*Segment {
	size, n := int64(0), 0
	offsets, times := 0, 0
	for n < len(rest) {
		s := rest[n]
		size, offsets, times = size+s.size, offsets+s.offsets.n, times+s.times.n
		if n > 0 && (size > int64(c.opt.SegmentBytes) || s.next-1-rest[0].base > maxRelative ||
			offsets > maxEntries(c.opt.IndexMaxBytes, offsetEntry) || times > maxEntries(c.opt.IndexMaxBytes, timeEntry)) {
			break
		}
		n++
	}
	return rest[:n]
}

// rewrite makes the segment that takes the place of group.
func (c *cleaner) rewrite(group []*Segment, txns *txnTrack, last bool) (seg *Segment, err error) {
	first := group[0]
	seg = &Segment{base: first.base, stem: first.stem, next: first.base, maxTime: batch.NoTimestamp, maxTimeLast: first.base, firstTime: batch.NoTimestamp}
	seg.createdMs = group[len(group)-1].createdMs
	seg.offsets = newIndex(first.stem+sufIndex+sufCleaned, offsetEntry)
	seg.times = newIndex(first.stem+sufTime+sufCleaned, timeEntry)
	if seg.file, err = c.fs.OpenFile(seg.stem+sufLog+sufCleaned, os.O_CREATE|os.O_TRUNC|os.O_RDWR, filePerm); err != nil {
		return nil, err
	}
	txns.cleaned = nil
	end := group[len(group)-1].next
	c.out = c.out[:0]
	for _, old := range group {
		if err := c.copySegment(seg, old, txns, last, end); err != nil {
			_ = seg.file.Close()
			return nil, err
		}
	}
	if err := c.write(seg); err != nil {
		_ = seg.file.Close()
		return nil, err
	}
	seg.next, seg.txns, seg.settled = end, slices.Clone(txns.cleaned), true
	seg.times.addTime(seg.maxTime, int32(seg.maxTimeLast-seg.base))
	err = seg.file.StartWriteback()
	for _, x := range []*Index{&seg.offsets, &seg.times} {
		if err == nil {
			err = putIndex(c.fs, x)
		}
		if err == nil {
			err = x.file.StartWriteback()
		}
		x.inMem, x.mem = false, nil
	}
	if err != nil {
		seg.close()
		return nil, err
	}
	return seg, nil
}

// makeDurable waits until everything that was made is on the disk. The kernel has been writing it since it was made, so the first sync finds
// most of it done, and takes the names and sizes of all these files along.
func (c *cleaner) makeDurable() error {
	for _, g := range c.made {
		for _, f := range []*disk.File{g.seg.file, g.seg.offsets.file, g.seg.times.file} {
			if err := f.Sync(); err != nil {
				return err
			}
		}
		if len(g.seg.txns) > 0 {
			if err := c.fs.WriteFileAtomic(g.seg.stem+sufTxn+sufCleaned, encodeTxnIndex(g.seg.txns)); err != nil {
				return err
			}
		}
	}
	return nil
}

// copySegment appends what stays of old to seg.
func (c *cleaner) copySegment(seg, old *Segment, txns *txnTrack, last bool, end int64) error {
	c.scan.reset(old.file, 0, old.size, true)
	for {
		e, b, pos, err := c.scan.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if c.stop.Load() {
			return ErrClosed
		}
		c.spend(e.Size)
		isLast := last && old.next == end && pos+int64(e.Size) == old.size
		from := len(c.out)
		if err := c.filter(&e, b, txns, isLast, old); err != nil {
			return err
		}
		for kept := c.out[from:]; len(kept) > 0; { // formats 0 and 1 may give several messages
			k, err := batch.ParseEntry(kept)
			if err != nil {
				return err
			}
			c.spend(k.Size)
			seg.note(seg.size, k.Size, k.BaseOffset, k.Last, k.MaxTimestamp, c.opt.IndexInterval)
			kept = kept[k.Size:]
		}
		if len(c.out) >= writeChunk {
			if err := c.write(seg); err != nil {
				return err
			}
		}
	}
}

// write appends what was collected to the file of seg, which has counted it already.
func (c *cleaner) write(seg *Segment) error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := seg.file.WriteAt(c.out, seg.size-int64(len(c.out)))
	c.out = c.out[:0]
	return err
}

// filter collects what stays of one batch: all of it as it is, a new one, or nothing.
func (c *cleaner) filter(e *batch.Entry, b []byte, txns *txnTrack, isLast bool, seg *Segment) error {
	if e.Magic < 2 {
		kept, err := c.records.FilterLegacy(b, func(r *batch.Record) bool {
			k := batch.KeyOf{Offset: r.Offset, Key: r.Key, Null: r.Value == nil}
			return c.keeps(e, &k, xxh3.Hash128(r.Key), seg)
		})
		c.out = append(c.out, kept...)
		return err
	}
	gone, emptyTxn := false, false
	if e.IsControl() {
		// A marker goes when nothing of its transaction is left and it was marked so long enough ago.
		emptyTxn = txns.marker(e, b, &c.records)
		gone = emptyTxn && e.HasDeleteHorizon() && e.FirstTimestamp <= c.nowMs
	} else {
		gone = txns.data(e)
	}
	stay, tombstones := int(e.Count), false
	if !gone && !e.IsControl() {
		var err error
		stay, err = c.sieve.Sift(b, func(group []batch.KeyOf) {
			c.found += c.keys.find(group, &c.hashes)
			for i := range group {
				r := &group[i]
				r.Keep = c.keeps(e, r, c.hashes[i], seg)
				tombstones = tombstones || (r.Keep && r.Null)
			}
		})
		if err != nil {
			return err
		}
	}
	horizon := (tombstones || emptyTxn) && !e.HasDeleteHorizon()
	switch {
	case !gone && stay > 0 && stay == int(e.Count) && !horizon:
		c.out = append(c.out, b...)
	case !gone && stay > 0:
		return c.rebuild(e, b, horizon)
	case isLast || c.isLastOfProducer(e):
		c.out = append(c.out, batch.Emptied(e.Header)...)
	}
	return nil
}

// rebuild makes a batch of the records that stay, by what c.sieve remembers.
func (c *cleaner) rebuild(e *batch.Entry, b []byte, horizon bool) (err error) {
	bd := &c.builder
	bd.Reset()
	bd.Codec, bd.Codecs = e.Codec(), c.records.Codecs
	bd.BaseOffset, bd.LeaderEpoch, bd.ProducerID, bd.ProducerEpoch, bd.BaseSequence = e.BaseOffset, e.LeaderEpoch, e.ProducerID, e.ProducerEpoch, e.BaseSequence
	bd.Transactional, bd.Control, bd.LogAppendTime, bd.LastDelta = e.IsTransactional(), e.IsControl(), e.IsLogAppendTime(), e.LastOffsetDelta
	bd.DeleteHorizon = 0
	if e.HasDeleteHorizon() {
		bd.DeleteHorizon = e.FirstTimestamp
	} else if horizon {
		bd.DeleteHorizon = c.nowMs + c.opt.DeleteRetentionMs
	}
	if e.IsControl() {
		err = c.records.Each(b, func(r batch.Record) bool {
			bd.Copy(&r)
			return true
		})
	} else {
		err = c.sieve.Copy(bd)
	}
	if err == nil {
		c.out, err = bd.Append(c.out)
	}
	return err
}

// keeps decides over one record, whose key has this hash.
func (c *cleaner) keeps(e *batch.Entry, r *batch.KeyOf, hash xxh3.Uint128, seg *Segment) bool {
	if r.Offset > c.keys.latest {
		return true
	}
	if r.Key == nil || r.Offset < c.keys.get(hash) {
		return false
	}
	if !r.Null {
		return true
	}
	switch {
	case e.Magic < 2: // no horizon in the format: the age of the segment counts
		return seg.createdMs > c.nowMs-c.opt.DeleteRetentionMs
	case e.HasDeleteHorizon():
		return c.nowMs < e.FirstTimestamp
	default:
		return true
	}
}

// isLastOfProducer reports whether an active producer's sequence numbers go on from this batch.
func (c *cleaner) isLastOfProducer(e *batch.Entry) bool {
	last, ok := c.lastOf[e.ProducerID]
	if !ok || e.ProducerID < 0 {
		return false
	}
	if last.offset >= 0 {
		return e.Last == last.offset
	}
	return e.IsControl() && e.ProducerEpoch == last.epoch
}
