package logstore

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/producer"
)

// loadSnapshot takes the newest right snapshot. When segments are scanned it must not be newer than the first of them, since the
// transaction indexes of scanned segments are made here too. One that is older than the first segment does not count: of producers that wrote
// between the two it would tell an old sequence, and of those nothing is better. Kafka removes it as stray.
func (o *opening) loadSnapshot() error {
	l := o.l
	l.producers = producer.NewTable()
	limit := l.active().next
	if o.scanned < len(l.segments) {
		limit = l.segments[o.scanned].base
	}
	for i := len(o.snaps) - 1; i >= 0 && o.snaps[i] >= l.segments[0].base; i-- {
		if o.snaps[i] > limit {
			continue
		}
		b, err := l.fs.ReadFile(filepath.Join(l.path, fileName(o.snaps[i], sufSnapshot)))
		if err != nil {
			return err
		}
		if t, err := producer.DecodeSnapshot(b, o.nowMs); err == nil {
			l.producers, o.from = t, o.snaps[i]
			return nil
		}
	}
	o.from = l.segments[0].base
	if o.clean && len(o.snaps) == 0 { // formats 0 and 1, or nothing was ever produced with an id
		o.from = limit
	}
	return nil
}

// dropSnapshots removes those that are newer than the log.
func (o *opening) dropSnapshots() error { return o.dropSnapshotsAbove(o.l.end) }

// dropSnapshotsAbove removes the snapshots of what the log does not hold; -1 removes all.
func (o *opening) dropSnapshotsAbove(end int64) error {
	for _, at := range o.snaps {
		if at <= end {
			continue
		}
		if err := o.l.fs.Remove(filepath.Join(o.l.path, fileName(at, sufSnapshot))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// replay reads the headers of a trusted segment's batches, as far as the snapshot does not know them, into the producers' table.
func (o *opening) replay(seg *Segment) error {
	if seg.next <= o.from {
		return nil
	}
	pos := int64(0)
	if o.from > seg.base && seg.offsets.n > 0 {
		k, _, err := seg.offsets.search(nil, offsetAbove, o.from-seg.base)
		if err != nil {
			return err
		}
		if k >= 0 {
			_, pos, _, _ = seg.offsets.offsetAt(nil, k)
		}
	}
	o.scan.reset(seg.file, pos, seg.size, false)
	for {
		e, b, _, err := o.scan.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := o.replayBatch(seg, &e, b); err != nil {
			return err
		}
	}
}

// replayBatch does for the producers' table what an append of the batch did.
func (o *opening) replayBatch(seg *Segment, e *batch.Entry, b []byte) error {
	l := o.l
	if e.Magic < 2 || e.ProducerID < 0 || e.Last < o.from {
		return nil
	}
	if !e.IsControl() {
		l.producers.Add(e.ProducerID, e.ProducerEpoch, producer.Batch{
			FirstSeq: e.BaseSequence, LastSeq: e.LastSequence(), LastOffset: e.Last, OffsetDelta: e.LastOffsetDelta, Timestamp: e.MaxTimestamp,
		}, e.IsTransactional(), o.nowMs)
		return nil
	}
	if len(b) < e.Size {
		b = make([]byte, e.Size)
		if _, err := seg.file.ReadAt(b, o.scan.pos-int64(e.Size)); err != nil {
			return err
		}
	}
	target := seg
	if !seg.scanned { // its index was read from its file
		target = &Segment{}
	}
	applyMarker(l.producers, target, b[:e.Size], l.records, o.nowMs)
	return nil
}
