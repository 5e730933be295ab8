package logstore

import (
	"fmt"
	"math"
	"path/filepath"
	"sync/atomic"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// Suffixes of Kafka's files.
const (
	sufLog      = ".log"
	sufIndex    = ".index"
	sufTime     = ".timeindex"
	sufTxn      = ".txnindex"
	sufSnapshot = ".snapshot"
	sufDeleted  = ".deleted"
	sufCleaned  = ".cleaned"
	sufSwap     = ".swap"
)

// fileName is Kafka's name for an offset: twenty digits.
func fileName(offset int64, suffix string) string { return fmt.Sprintf("%020d%s", offset, suffix) }

// Segment is one file of the log with its indexes. Its bytes below size are never changed, so they may be sent by reference.
type Segment struct {
	base int64
	stem string // path without suffix
	file *disk.File
	size int64 // bytes that readers may see

	offsets Index
	times   Index
	txns    []AbortedTxn // of transactions whose marker is in this segment, by LastOffset

	next        int64 // offset behind the last record
	maxTime     int64 // largest timestamp, -1 without one
	maxTimeLast int64 // last offset of the batch that has it
	firstTime   int64 // largest timestamp of the first batch, -1 before: what segment.ms counts from
	createdMs   int64
	sinceIndex  int64 // bytes behind the last indexed batch's start

	refs      atomic.Int32 // spans in use; changed by the shard, read by the manager before it closes a removed log
	condemned bool         // renamed to .deleted, or about to be
	scanned   bool         // read wholly at the start: its indexes were made anew
	settled   bool         // fsynced, with its indexes written and trimmed
}

func newSegment(dir string, base, nowMs int64) *Segment {
	stem := filepath.Join(dir, fileName(base, ""))
	return &Segment{
		base: base, stem: stem, next: base, maxTime: batch.NoTimestamp, maxTimeLast: base, firstTime: batch.NoTimestamp, createdMs: nowMs,
		offsets: newIndex(stem+sufIndex, offsetEntry), times: newIndex(stem+sufTime, timeEntry),
	}
}

// note accounts for one batch that was written at pos: Kafka's rule for when an entry is due is the distance from the last one.
func (s *Segment) note(pos int64, size int, base, last, maxTime int64, interval int32) {
	if s.firstTime < 0 {
		s.firstTime = maxTime
	}
	if maxTime > s.maxTime {
		s.maxTime, s.maxTimeLast = maxTime, last
	}
	if s.sinceIndex > int64(interval) {
		s.offsets.addOffset(int32(last-s.base), pos)
		s.times.addTime(s.maxTime, int32(s.maxTimeLast-s.base))
		s.sinceIndex = 0
	}
	s.sinceIndex += int64(size)
	s.size = pos + int64(size)
	s.next = last + 1
}

// full reports whether a set of n bytes with this last offset and timestamp asks for a new segment.
func (s *Segment) full(o *Options, n int64, last, nowMs, maxTime int64) bool {
	if s.size > int64(o.SegmentBytes)-n {
		return true
	}
	if s.offsets.n >= maxEntries(o.IndexMaxBytes, offsetEntry) || s.times.n >= maxEntries(o.IndexMaxBytes, timeEntry)-1 {
		return true
	}
	if last-s.base > math.MaxInt32 {
		return true
	}
	waited := nowMs - s.createdMs
	if s.firstTime >= 0 && maxTime >= 0 {
		waited = maxTime - s.firstTime
	}
	return s.size > 0 && waited > o.SegmentMs-o.SegmentJitterMs
}

// newest is what retention by time looks at: the largest timestamp, or the file's age when its records have none.
func (s *Segment) newest() int64 {
	if s.maxTime >= 0 {
		return s.maxTime
	}
	return s.createdMs
}

// close gives the segment's descriptors back.
func (s *Segment) close() {
	for _, f := range []*disk.File{s.file, s.offsets.file, s.times.file} {
		if f != nil {
			_ = f.Close() // nothing was written that a sync did not cover, or the files are being removed
		}
	}
}
