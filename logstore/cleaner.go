package logstore

import (
	"io"
	"os"
	"slices"
	"sync/atomic"

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

	// Kept from batch to batch, so that a cleaning makes no garbage: which records of the batch stay, what they become, and its bytes.
	keep    []bool
	builder batch.Builder
	out     []byte
}

// cleanChunk is how much a cleaning reads at a time. A batch that its chunk ends in is read again: the chunk must be large against a batch.
const cleanChunk = 4 << 20

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
	c.scan.ahead = cleanChunk
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
	return nil
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

// buildMap notes the last offset of every key of the dirty part, as far as there is room.
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
	for _, seg := range c.segments {
		if seg.next <= c.dirty {
			continue
		}
		c.scan.reset(seg.file, 0, seg.size, true)
		for {
			e, b, _, err := c.scan.next()
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
			if full, err := c.mapBatch(txns, &e, b); full || err != nil {
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
	err = c.records.Each(b, func(r batch.Record) bool {
		if r.Offset >= c.dirty && r.Key != nil && !c.keys.put(r.Key, r.Offset) {
			full = true
		}
		return !full
	})
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
	for _, old := range group {
		if err := c.copySegment(seg, old, txns, last, end); err != nil {
			_ = seg.file.Close()
			return nil, err
		}
	}
	seg.next, seg.txns, seg.settled = end, slices.Clone(txns.cleaned), true
	seg.times.addTime(seg.maxTime, int32(seg.maxTimeLast-seg.base))
	if err = seg.file.Sync(); err == nil {
		for _, x := range []*Index{&seg.offsets, &seg.times} {
			if err == nil {
				err = writeIndex(c.fs, x)
			}
			x.inMem, x.mem = false, nil
		}
	}
	if err == nil && len(seg.txns) > 0 {
		err = c.fs.WriteFileAtomic(seg.stem+sufTxn+sufCleaned, encodeTxnIndex(seg.txns))
	}
	if err != nil {
		seg.close()
		return nil, err
	}
	return seg, nil
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
		kept, err := c.filter(&e, b, txns, isLast, old)
		if err != nil {
			return err
		}
		for len(kept) > 0 { // formats 0 and 1 may give several messages
			k, err := batch.ParseEntry(kept)
			if err != nil {
				return err
			}
			if _, err := seg.file.WriteAt(kept[:k.Size], seg.size); err != nil {
				return err
			}
			c.spend(k.Size)
			seg.note(seg.size, k.Size, k.BaseOffset, k.Last, k.MaxTimestamp, c.opt.IndexInterval)
			kept = kept[k.Size:]
		}
	}
}

// filter returns what stays of one batch: all of it as it is, a new one, or nothing.
func (c *cleaner) filter(e *batch.Entry, b []byte, txns *txnTrack, isLast bool, seg *Segment) ([]byte, error) {
	if e.Magic < 2 {
		return c.records.FilterLegacy(b, func(r *batch.Record) bool { return c.keeps(e, r, seg) })
	}
	gone, emptyTxn := false, false
	if e.IsControl() {
		// A marker goes when nothing of its transaction is left and it was marked so long enough ago.
		emptyTxn = txns.marker(e, b, &c.records)
		gone = emptyTxn && e.HasDeleteHorizon() && e.FirstTimestamp <= c.nowMs
	} else {
		gone = txns.data(e)
	}
	all, tombstones := true, false
	c.keep = c.keep[:0]
	if !gone && !e.IsControl() {
		err := c.records.Each(b, func(r batch.Record) bool {
			keep := c.keeps(e, &r, seg)
			c.keep = append(c.keep, keep)
			all = all && keep
			tombstones = tombstones || (keep && r.Value == nil)
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	horizon := (tombstones || emptyTxn) && !e.HasDeleteHorizon()
	if !gone && all && !horizon {
		return b, nil
	}
	kept, err := c.rebuild(e, b, gone, horizon)
	if err != nil || kept != nil {
		return kept, err
	}
	if isLast || c.isLastOfProducer(e) {
		return batch.Emptied(e.Header), nil
	}
	return nil, nil
}

// rebuild makes a batch of the records that stay, by what c.keep says of each; nil when none does. It is valid until the next call.
func (c *cleaner) rebuild(e *batch.Entry, b []byte, gone, horizon bool) ([]byte, error) {
	if gone || (!e.IsControl() && !slices.Contains(c.keep, true)) {
		return nil, nil
	}
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
	n := 0
	err := c.records.Each(b, func(r batch.Record) bool {
		if e.IsControl() || c.keep[n] {
			bd.Copy(&r)
		}
		n++
		return true
	})
	if err != nil || bd.Count() == 0 {
		return nil, err
	}
	c.out, err = bd.Append(c.out[:0])
	return c.out, err
}

// keeps decides over one record.
func (c *cleaner) keeps(e *batch.Entry, r *batch.Record, seg *Segment) bool {
	if r.Offset > c.keys.latest {
		return true
	}
	if r.Key == nil || r.Offset < c.keys.get(r.Key) {
		return false
	}
	if r.Value != nil {
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
