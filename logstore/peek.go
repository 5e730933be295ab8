package logstore

import (
	"github.com/pelton-broker/pelton/logstore/batch"
)

// Peek lets a lookup by time leave the records of a compressed batch to somebody else, since decompressing them takes longer than a shard's
// turn may. When the lookup returns with Waiting true, Search is to be called, on any goroutine, and then the lookup again.
type Peek struct {
	seg     *Segment
	pos     int64
	bytes   []byte
	ts      int64
	start   int64
	epoch   int32
	found   foundTime
	err     error
	waiting bool
}

// Waiting tells whether a batch waits for Search.
func (p *Peek) Waiting() bool { return p.waiting }

// Search looks at the batch. The decoders are the caller's.
func (p *Peek) Search(records *batch.Iterator) {
	p.found, p.err = searchRecords(records, p.bytes, p.ts, p.start, p.epoch)
	p.bytes, p.waiting = nil, false
}

// knows tells whether the batch at a place has been looked at for that time.
func (p *Peek) knows(seg *Segment, pos, ts int64) bool {
	return p.seg == seg && p.pos == pos && p.ts == ts && !p.waiting
}

// ask leaves a batch to Search.
func (p *Peek) ask(seg *Segment, pos int64, b []byte, ts, start int64, epoch int32) {
	*p = Peek{seg: seg, pos: pos, bytes: b, ts: ts, start: start, epoch: epoch, waiting: true}
}

// searchRecords finds the first record of a batch, at start or behind, whose timestamp is not below ts.
func searchRecords(records *batch.Iterator, b []byte, ts, start int64, epoch int32) (foundTime, error) {
	found := foundTime{-1, -1, -1}
	err := records.Each(b, func(r batch.Record) bool {
		if r.Timestamp < ts || r.Offset < start {
			return true
		}
		found = foundTime{r.Offset, r.Timestamp, epoch}
		return false
	})
	return found, err
}

// decompresses tells whether the records of a batch have to be decompressed; in the formats before 2 that shows inside only.
func decompresses(b []byte) bool {
	h, err := batch.ParseHeader(b)
	return err != nil || h.Codec() != batch.None
}

// LookupTimeBy is LookupTime with somebody who decompresses. The need's file without a length says that p is waiting.
func (l *Log) LookupTimeBy(p *Peek, ts int64) (offset, timestamp int64, leaderEpoch int32, need Need, err error) {
	l.peek = p
	defer func() { l.peek = nil }()
	return l.LookupTime(ts)
}

// MaxTimestampBy is MaxTimestamp likewise.
func (l *Log) MaxTimestampBy(p *Peek) (offset, timestamp int64, leaderEpoch int32, need Need, err error) {
	l.peek = p
	defer func() { l.peek = nil }()
	return l.MaxTimestamp()
}
