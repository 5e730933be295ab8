package logstore

import (
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// headerRead is how many bytes a header walk reads at a time: many small batches, or the head of one.
const headerRead = 4096

// recentBytes is how far behind the end a span counts as recent.
const recentBytes = 1 << 20

// Span is a piece of one segment: whole batches. It holds the file until Release, on the same shard.
type Span struct {
	File *disk.File
	Pos  int64
	Len  int64
	Base int64 // an offset at or below the first batch's last one: what the reader asked for

	FirstLen int64 // size of the first batch
	Recent   bool  // written a moment ago by this process: it need not be asked whether it is in the page cache

	seg *Segment
}

// Release gives the file back. A zero span may be released too.
func (s *Span) Release() {
	if s.seg == nil {
		return
	}
	if s.seg.refs.Add(-1) < 0 {
		invariant.Broken("logstore: span released twice", s.seg.base)
	}
	s.seg = nil
}

// Need is a range that must come into the page cache (or be read) before the call that returned it can go on; then call again.
type Need struct {
	File *disk.File
	Pos  int64
	Len  int
}

// cursor says that the first batch whose last offset is not below offset starts at pos.
type cursor struct {
	seg    *Segment
	offset int64
	pos    int64
	first  int32 // size of that batch
}

// cursorCount is how many places a log remembers: readers go on where they, or the writer, stopped.
const cursorCount = 16

type cursors struct {
	ring [cursorCount]cursor
	at   int
}

func (c *cursors) add(seg *Segment, offset, pos int64, first int32) {
	c.ring[c.at] = cursor{seg, offset, pos, first}
	c.at = (c.at + 1) % cursorCount
}

func (c *cursors) find(seg *Segment, offset int64) *cursor {
	for i := range c.ring {
		if k := &c.ring[i]; k.offset == offset && k.seg == seg {
			return k
		}
	}
	return nil
}

// drop forgets what points into a segment that leaves the log.
func (c *cursors) drop(seg *Segment) {
	for i := range c.ring {
		if c.ring[i].seg == seg {
			c.ring[i] = cursor{}
		}
	}
}

// window is the last header read: bytes below a segment's size never change, so it stays right.
type window struct {
	seg *Segment
	off int64
	b   []byte
}

// entryAt parses the entry at pos of seg, which is below seg.size.
func (l *Log) entryAt(seg *Segment, pos int64) (batch.Entry, Need, error) {
	e, need, err := l.peekEntry(seg, pos)
	if err != nil {
		return e, Need{}, l.readFailed(seg, pos, err)
	}
	return e, need, nil
}

// peekEntry is entryAt that does not judge what it cannot read.
func (l *Log) peekEntry(seg *Segment, pos int64) (batch.Entry, Need, error) {
	w := &l.window
	least := int(min(batch.HeaderSize, seg.size-pos))
	if w.seg != seg || pos < w.off || pos+int64(least) > w.off+int64(len(w.b)) {
		if cap(w.b) == 0 {
			w.b = make([]byte, headerRead)
		}
		b := w.b[:min(headerRead, seg.size-pos)]
		n, err := l.disk.ReadNow(seg.file, b, pos)
		if n < least {
			w.seg, w.b = nil, w.b[:0]
			if err == disk.ErrWouldBlock || err == nil {
				return batch.Entry{}, Need{File: seg.file, Pos: pos, Len: len(b)}, nil
			}
			return batch.Entry{}, Need{}, err
		}
		w.seg, w.off, w.b = seg, pos, b[:n]
	}
	e, err := batch.ParseEntry(w.b[pos-w.off:])
	if err == nil && int64(e.Size) > seg.size-pos {
		err = batch.ErrTruncated
	}
	return e, Need{}, err
}

// readFailed takes the directory offline for what a read below the end must never meet: an I/O error, or bytes that are no batch.
func (l *Log) readFailed(seg *Segment, pos int64, err error) error {
	bad := &CorruptError{Path: seg.file.Path(), Pos: pos, What: "cannot be read below the log's end", Err: err}
	if isIO(err) {
		l.Fail(err)
	} else {
		l.damage = bad
	}
	return ErrOffline
}

// seek finds the first batch at or behind pos whose last offset is not below offset. at == seg.size means that there is none.
func (l *Log) seek(seg *Segment, pos, offset int64) (at int64, e batch.Entry, need Need, err error) {
	for pos < seg.size {
		e, need, err = l.entryAt(seg, pos)
		if err != nil || need.File != nil || e.Last >= offset {
			return pos, e, need, err
		}
		pos += int64(e.Size)
	}
	return seg.size, e, Need{}, nil
}

// position is seek from the nearest place known, with the size of the batch there. For the offset behind the segment it is its size.
func (l *Log) position(seg *Segment, offset int64) (pos int64, first int32, need Need, err error) {
	if offset >= seg.next {
		return seg.size, 0, Need{}, nil
	}
	if k := l.cursors.find(seg, offset); k != nil {
		return k.pos, k.first, Need{}, nil
	}
	from, need, err := l.indexed(seg, offset)
	if err != nil || need.File != nil {
		return 0, 0, need, err
	}
	at, e, need, err := l.seek(seg, from, offset)
	if err == nil && need.File == nil {
		l.cursors.add(seg, offset, at, int32(e.Size))
	}
	return at, int32(e.Size), need, err
}

// indexed is a batch's position from which a walk finds offset: the one that the index names, as long as what is there is a batch that does
// not begin behind offset. Files of an index carry no checksum: a rotten entry, which would skip what is acknowledged, costs a walk from the
// segment's start instead.
func (l *Log) indexed(seg *Segment, offset int64) (from int64, need Need, err error) {
	if offset <= seg.base {
		return 0, Need{}, nil
	}
	i, need, err := seg.offsets.search(l.disk, offsetAbove, offset-seg.base)
	if err == nil && need.File == nil && i >= 0 {
		_, from, need, err = seg.offsets.offsetAt(l.disk, i)
	}
	if err != nil || need.File != nil {
		return 0, need, l.indexFailed(err)
	}
	if from == 0 {
		return 0, Need{}, nil
	}
	ok, need, err := l.believes(seg, from, offset)
	if !ok {
		from = 0
	}
	return from, need, err
}

// believes tells whether a batch is at pos that does not begin behind offset, and counts it when not.
func (l *Log) believes(seg *Segment, pos, offset int64) (ok bool, need Need, err error) {
	if pos > 0 && pos < seg.size {
		e, need, err := l.peekEntry(seg, pos)
		if need.File != nil {
			return false, need, nil
		}
		if isIO(err) {
			return false, Need{}, l.readFailed(seg, pos, err)
		}
		first := e.BaseOffset
		if first < 0 { // only the records tell it
			first = e.Last
		}
		if err == nil && first <= offset {
			return true, Need{}, nil
		}
	}
	l.published.doubts.Add(1)
	return false, Need{}, nil
}

// indexFailed is readFailed for an index.
func (l *Log) indexFailed(err error) error {
	switch {
	case err == nil:
		return nil
	case isIO(err):
		l.Fail(err)
	default:
		l.damage = err
	}
	return ErrOffline
}

// Read finds whole batches from the one that holds offset from on, at most maxBytes of them, none with an offset at or above upTo, in one
// segment. With minOne the first batch may be larger than maxBytes. out.Len is 0 when there is nothing. A need means: bring that into the
// cache and call again. The span must be released; its own bytes may be cold (Disk.Cached tells).
func (l *Log) Read(from int64, maxBytes int32, upTo int64, minOne bool, out *Span) (need Need, err error) {
	*out = Span{}
	if err := l.readable(); err != nil {
		return Need{}, err
	}
	if from < l.start || from > l.end {
		return Need{}, ErrOffsetOutOfRange
	}
	upTo = min(upTo, l.end)
	for i := l.segmentFor(from); i < len(l.segments) && from < upTo; i++ {
		seg := l.segments[i]
		pos, first, need, err := l.position(seg, from)
		if err != nil || need.File != nil {
			return need, err
		}
		if pos == seg.size { // a compacted segment whose end is gone, or an empty one
			continue
		}
		limit, _, need, err := l.position(seg, upTo)
		if err != nil || need.File != nil {
			return need, err
		}
		if limit <= pos {
			return Need{}, nil
		}
		end, need, err := l.cut(seg, pos, limit, int64(first), int64(maxBytes), minOne)
		if err != nil || need.File != nil || end == pos {
			return need, err
		}
		seg.refs.Add(1)
		*out = Span{File: seg.file, Pos: pos, Len: end - pos, Base: from, FirstLen: int64(first), seg: seg}
		out.Recent = seg == l.write.recentSeg && pos >= max(l.write.recentFrom, seg.size-recentBytes)
		return Need{}, nil
	}
	return Need{}, nil
}

// readable is usable, and the log undamaged.
func (l *Log) readable() error {
	if err := l.usable(); err != nil {
		return err
	}
	if l.damage != nil {
		return ErrOffline
	}
	return nil
}

// cut finds where a piece of at most most bytes from pos on ends: at limit, else at an indexed batch, else by a walk. first is the size of the
// batch at pos.
func (l *Log) cut(seg *Segment, pos, limit, first, most int64, minOne bool) (int64, Need, error) {
	if limit-pos <= most {
		return limit, Need{}, nil
	}
	i, need, err := seg.offsets.search(l.disk, positionAbove, pos+max(most, 0))
	if err != nil || need.File != nil {
		return 0, need, l.indexFailed(err)
	}
	if i >= 0 {
		relative, at, need, err := seg.offsets.offsetAt(l.disk, i)
		if err != nil || need.File != nil {
			return 0, need, l.indexFailed(err)
		}
		if at >= pos+first && at <= limit {
			ok, need, err := l.believes(seg, at, seg.base+int64(relative))
			if ok || err != nil || need.File != nil {
				return at, need, err
			}
		}
	}
	end := pos
	for end < limit {
		e, need, err := l.entryAt(seg, end)
		if err != nil || need.File != nil {
			return 0, need, err
		}
		if end+int64(e.Size)-pos > most && (end > pos || !minOne) {
			break
		}
		end += int64(e.Size)
		if end-pos > most { // one batch larger than asked for
			break
		}
	}
	return end, Need{}, nil
}
