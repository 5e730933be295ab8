package logstore

import (
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// LookupTime finds the first record in log order whose timestamp is not below ts: its offset, its own timestamp and its batch's epoch.
// Offset and timestamp are -1 when there is none.
func (l *Log) LookupTime(ts int64) (offset, timestamp int64, leaderEpoch int32, need Need, err error) {
	if err := l.readable(); err != nil {
		return -1, -1, -1, Need{}, err
	}
	for _, seg := range l.segments {
		if seg.maxTime < ts || seg.next <= l.start || seg.size == 0 {
			continue
		}
		found, need, err := l.searchTime(seg, ts)
		if err != nil || need.File != nil || found.Offset >= 0 {
			return found.Offset, found.Timestamp, found.epoch, need, err
		}
	}
	return -1, -1, -1, Need{}, nil
}

// MaxTimestamp finds the first record with the largest timestamp of the log. Offset and timestamp are -1 on an empty log.
func (l *Log) MaxTimestamp() (offset, timestamp int64, leaderEpoch int32, need Need, err error) {
	if err := l.readable(); err != nil {
		return -1, -1, -1, Need{}, err
	}
	var best *Segment
	for _, seg := range l.segments {
		if seg.size > 0 && seg.next > l.start && (best == nil || seg.maxTime > best.maxTime) {
			best = seg
		}
	}
	if best == nil || best.maxTime < 0 {
		return -1, -1, -1, Need{}, nil
	}
	found, need, err := l.searchTime(best, best.maxTime)
	return found.Offset, found.Timestamp, found.epoch, need, err
}

// foundTime is a record found by its timestamp; Offset -1 when none was.
type foundTime struct {
	Offset, Timestamp int64
	epoch             int32
}

// searchTime looks in one segment: the time index gives an offset before which nothing is late enough, the offset index its place, and
// from there batches are looked at by their max timestamps.
func (l *Log) searchTime(seg *Segment, ts int64) (foundTime, Need, error) {
	none := foundTime{-1, -1, -1}
	from := l.start
	i, need, err := seg.times.search(l.disk, timeAtLeast, ts)
	if err != nil || need.File != nil {
		return none, need, l.indexFailed(err)
	}
	if i >= 0 {
		_, relative, need, err := seg.times.timeAt(l.disk, i)
		if err != nil || need.File != nil {
			return none, need, l.indexFailed(err)
		}
		from = max(from, seg.base+int64(relative))
	}
	pos, _, need, err := l.position(seg, min(from, seg.next-1))
	for err == nil && need.File == nil && pos < seg.size {
		var e batch.Entry
		e, need, err = l.entryAt(seg, pos)
		if err != nil || need.File != nil {
			break
		}
		if e.MaxTimestamp >= ts && e.Last >= l.start {
			found, need, err := l.searchBatch(seg, pos, &e, ts)
			if err != nil || need.File != nil || found.Offset >= 0 {
				return found, need, err
			}
		}
		pos += int64(e.Size)
	}
	return none, need, err
}

// searchBatch looks at the records of one batch.
func (l *Log) searchBatch(seg *Segment, pos int64, e *batch.Entry, ts int64) (foundTime, Need, error) {
	found := foundTime{-1, -1, -1}
	if p := l.peek; p != nil && p.knows(seg, pos, ts) {
		if p.err != nil {
			return found, Need{}, l.readFailed(seg, pos, p.err)
		}
		return p.found, Need{}, nil
	}
	b := make([]byte, e.Size)
	n, err := l.disk.ReadNow(seg.file, b, pos)
	if n < len(b) {
		if err == disk.ErrWouldBlock || err == nil {
			return found, Need{File: seg.file, Pos: pos, Len: len(b)}, nil
		}
		return found, Need{}, l.readFailed(seg, pos, err)
	}
	if l.peek != nil && decompresses(b) {
		l.peek.ask(seg, pos, b, ts, l.start, e.LeaderEpoch)
		return found, Need{File: seg.file}, nil
	}
	found, err = searchRecords(l.records, b, ts, l.start, e.LeaderEpoch)
	if err != nil {
		return found, Need{}, l.readFailed(seg, pos, err)
	}
	return found, Need{}, nil
}

// SegmentStarts lists, newest first, the offsets at which segments begin whose files were last written at ts, in milliseconds, or before; the
// log's end counts as one more segment, written now, unless the active one is empty. -1 lists all, -2 the first one. Version 0 of ListOffsets
// asks this.
func (l *Log) SegmentStarts(ts int64) ([]int64, error) {
	if err := l.readable(); err != nil {
		return nil, err
	}
	var starts []int64
	if l.active().size > 0 && (ts == -1 || (ts >= 0 && l.nowMs <= ts)) {
		starts = append(starts, l.end)
	}
	for i := len(l.segments) - 1; i >= 0; i-- {
		seg := l.segments[i]
		if ts == -2 && i > 0 {
			continue
		}
		if ts != -2 && ts != -1 && len(starts) == 0 {
			written, err := seg.file.ModTimeMs()
			if err != nil {
				l.Fail(err)
				return nil, ErrOffline
			}
			if written > ts {
				continue
			}
		}
		starts = append(starts, max(seg.base, l.start))
	}
	return starts, nil
}
