package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sort"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// Step is one step of a lookup as a broker does it.
type Step struct {
	Stage string `json:"stage"` // names, time index, offset index, scan, record
	Text  string `json:"text"`
}

// Lookup is the way to a record: the segments' names are bisected, then the sparse index of the one that was found, then the log is read
// from the place that the index names.
type Lookup struct {
	Steps    []Step `json:"steps"`
	Log      string `json:"log"`
	Position int64  `json:"position"` // of the batch
	Size     int    `json:"size"`
	Base     int64  `json:"base_offset"`
	Last     int64  `json:"last_offset"`
	Offset   int64  `json:"offset"` // of the record, the next one when the one asked for was compacted away
	Time     int64  `json:"timestamp"`
	Record   int    `json:"record"` // its number in the batch, from 0

	fs  disk.FS
	dir string
	it  batch.Iterator
}

func (l *Lookup) step(stage, format string, args ...any) {
	l.Steps = append(l.Steps, Step{stage, fmt.Sprintf(format, args...)})
}

// bases are the base offsets of a directory's segments, sorted.
func bases(f disk.FS, dir string) ([]int64, error) {
	entries, err := f.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, e := range entries {
		if base, suffix, ok := logstore.ParseFileName(e.Name()); ok && suffix == sufLog {
			out = append(out, base)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out, nil
}

// FindOffset looks for a record by its offset.
func FindOffset(f disk.FS, dir string, offset int64) (*Lookup, error) {
	l := &Lookup{fs: f, dir: dir, Position: -1, Offset: -1}
	names, err := bases(f, dir)
	if err != nil {
		return l, err
	}
	if len(names) == 0 || offset < names[0] {
		l.step("names", "no segment begins at or below offset %d", offset)
		return l, fmt.Errorf("offset %d: %w: it lies before the log's first segment", offset, ErrNotThere)
	}
	for i := l.bisectNames(names, offset); i < len(names); i++ {
		found, err := l.inSegment(names[i], offset, func(r *Record) bool { return r.Offset >= offset })
		if found || err != nil {
			return l, err
		}
		if i+1 < len(names) {
			l.step("names", "the segment ends before offset %d: on to the next, %s", offset, logstore.FileName(names[i+1], sufLog))
		}
	}
	return l, fmt.Errorf("offset %d: %w: it lies behind the log's end", offset, ErrNotThere)
}

// bisectNames finds the last segment whose name is not above the offset.
func (l *Lookup) bisectNames(names []int64, offset int64) int {
	low, high := 0, len(names)
	for low < high {
		mid := int(uint(low+high) >> 1)
		if names[mid] > offset {
			l.step("names", "%s is number %d of %d: above %d, go left", logstore.FileName(names[mid], sufLog), mid+1, len(names), offset)
			high = mid
		} else {
			l.step("names", "%s is number %d of %d: not above %d, go right", logstore.FileName(names[mid], sufLog), mid+1, len(names), offset)
			low = mid + 1
		}
	}
	i := low - 1
	l.step("names", "the segment is %s", logstore.FileName(names[i], sufLog))
	return i
}

// inSegment finds the first record of a segment from offset on that is wanted.
func (l *Lookup) inSegment(base, offset int64, wanted func(*Record) bool) (bool, error) {
	stem := filepath.Join(l.dir, logstore.FileName(base, ""))
	from, err := l.bisectIndex(stem+sufIndex, base, offset)
	if err != nil {
		return false, err
	}
	f, size, err := open(l.fs, stem+sufLog)
	if err != nil {
		return false, err
	}
	defer f.Close()
	l.Log = stem + sufLog
	done := false
	var bad error
	_, err = Walk(f, from, size, func(b *Batch) bool {
		if b.Last < offset {
			l.step("scan", "position %d: %d bytes, offsets up to %d: skip", b.Position, b.Size, b.Last)
			return true
		}
		l.step("scan", "position %d: %d bytes, offsets %s%d: look inside", b.Position, b.Size, fromBase(b), b.Last)
		done, bad = l.inBatch(b, wanted)
		return bad == nil && !done
	})
	if err == nil {
		err = bad
	}
	return done, err
}

func fromBase(b *Batch) string {
	if b.BaseOffset < 0 {
		return "up to "
	}
	return fmt.Sprintf("%d to ", b.BaseOffset)
}

func (l *Lookup) inBatch(b *Batch, wanted func(*Record) bool) (bool, error) {
	n, done := 0, false
	err := Records(&l.it, b, func(r *Record) bool {
		if !wanted(r) {
			n++
			return true
		}
		l.Position, l.Size, l.Base, l.Last = b.Position, b.Size, b.BaseOffset, b.Last
		l.Offset, l.Time, l.Record, done = r.Offset, r.Timestamp, n, true
		l.step("record", "record %d of the batch has offset %d and timestamp %d", n, r.Offset, r.Timestamp)
		return false
	})
	if err == nil && !done {
		l.step("record", "none of the batch's %d records is wanted: on", n)
	}
	return done, err
}

// bisectIndex finds the position of the last entry that is not above the offset; 0 without one.
func (l *Lookup) bisectIndex(path string, base, offset int64) (int64, error) {
	x, err := ReadIndex(l.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		l.step("offset index", "there is no %s: read from position 0", filepath.Base(path))
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	low, high := 0, len(x.Entries)
	for low < high {
		mid := int(uint(low+high) >> 1)
		e := x.Entries[mid]
		way := "not above, go right"
		if e.Offset > offset {
			way, high = "above, go left", mid
		} else {
			low = mid + 1
		}
		l.step("offset index", "entry %d of %d: relative offset %d is %d, position %d: %s", mid, len(x.Entries), e.Offset-base, e.Offset, e.Position, way)
	}
	if low == 0 {
		l.step("offset index", "no entry of %d is at or below %d: read from position 0", len(x.Entries), offset)
		return 0, nil
	}
	l.step("offset index", "entry %d: read from position %d", low-1, x.Entries[low-1].Position)
	return x.Entries[low-1].Position, nil
}

// FindTime looks for the first record whose timestamp is not below ts.
func FindTime(f disk.FS, dir string, ts int64) (*Lookup, error) {
	l := &Lookup{fs: f, dir: dir, Position: -1, Offset: -1}
	names, err := bases(f, dir)
	if err != nil {
		return l, err
	}
	for i, base := range names {
		from, late, err := l.timeIndex(base, ts, i == len(names)-1)
		if err != nil {
			return l, err
		}
		if !late {
			continue
		}
		found, err := l.inSegment(base, from, func(r *Record) bool { return r.Timestamp >= ts })
		if found || err != nil {
			return l, err
		}
	}
	return l, fmt.Errorf("timestamp %d: %w: every record is older", ts, ErrNotThere)
}

// timeIndex finds the offset to read from; late is false when the whole segment is older.
func (l *Lookup) timeIndex(base, ts int64, last bool) (from int64, late bool, err error) {
	name := logstore.FileName(base, sufTime)
	x, err := ReadIndex(l.fs, filepath.Join(l.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		l.step("time index", "there is no %s: read the segment from its beginning", name)
		return base, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	n := len(x.Entries)
	if n > 0 && !last && x.Entries[n-1].Timestamp < ts {
		l.step("names", "%s: the largest timestamp is %d, below %d: skip", name, x.Entries[n-1].Timestamp, ts)
		return 0, false, nil
	}
	i := sort.Search(n, func(i int) bool { return x.Entries[i].Timestamp >= ts })
	if i == 0 {
		l.step("time index", "%s: no entry of %d is below %d: from offset %d on", name, n, ts, base)
		return base, true, nil
	}
	e := x.Entries[i-1]
	l.step("time index", "%s: entry %d of %d says that timestamps up to offset %d reach %d: from there on", name, i-1, n, e.Offset, e.Timestamp)
	return e.Offset, true, nil
}
