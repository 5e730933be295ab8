package logstore

import (
	"encoding/binary"
	"io"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/invariant"
)

// Entry sizes of Kafka's two sparse indexes. Offset index: relative offset (int32) of the last record of a batch, position (int32) of
// that batch. Time index: largest timestamp so far (int64), relative offset (int32) of the last record of the batch that has it.
const (
	offsetEntry = 8
	timeEntry   = 12
)

// Index is one sparse index of one segment: while the segment is active its entries are in memory and the file is preallocated zeros;
// closed, the file has exactly the entries and is read through the page cache.
type Index struct {
	path  string
	width int // bytes of an entry
	mem   []byte
	n     int        // entries
	file  *disk.File // closed: open for reading
	inMem bool
	room  [timeEntry]byte // the entry read last: a local one would go to the heap through disk.Disk
}

func newIndex(path string, width int) Index { return Index{path: path, width: width, inMem: true} }

// add appends an entry; the segment is active.
func (x *Index) add(entry []byte) {
	if invariant.Enabled && (!x.inMem || len(entry) != x.width) {
		invariant.Broken("index: entry added to a closed index", x.path, x.n)
	}
	x.mem = append(x.mem, entry...)
	x.n++
}

// entry reads entry i into dst, which has the entry's width. A need means: bring that into the cache and come again.
func (x *Index) entry(d disk.Disk, i int, dst []byte) (Need, error) {
	off := int64(i * x.width)
	if x.inMem {
		copy(dst, x.mem[off:])
		return Need{}, nil
	}
	if d == nil {
		if _, err := x.file.ReadAt(dst, off); err != nil && err != io.EOF {
			return Need{}, err
		}
		return Need{}, nil
	}
	n, err := d.ReadNow(x.file, dst, off)
	if n == len(dst) {
		return Need{}, nil
	}
	if err == disk.ErrWouldBlock {
		page := off &^ (headerRead - 1)
		return Need{File: x.file, Pos: page, Len: headerRead}, nil
	}
	return Need{}, &CorruptError{Path: x.path, Pos: off, What: "index ends early", Err: err}
}

// search returns the greatest i whose entry is not above the wanted one, -1 when all are. above judges one entry.
func (x *Index) search(d disk.Disk, above func(entry []byte, want int64) bool, want int64) (int, Need, error) {
	e := x.room[:x.width]
	low, high := 0, x.n // the answer is in [low-1, high-1]
	for low < high {
		mid := int(uint(low+high) >> 1)
		if need, err := x.entry(d, mid, e); err != nil || need.File != nil {
			return 0, need, err
		}
		if above(e, want) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low - 1, Need{}, nil
}

func offsetAbove(e []byte, want int64) bool { return int64(int32(binary.BigEndian.Uint32(e))) > want }
func positionAbove(e []byte, want int64) bool {
	return int64(int32(binary.BigEndian.Uint32(e[4:]))) > want
}
func timeAbove(e []byte, want int64) bool   { return int64(binary.BigEndian.Uint64(e)) > want }
func timeAtLeast(e []byte, want int64) bool { return int64(binary.BigEndian.Uint64(e)) >= want }

// addOffset appends to an offset index.
func (x *Index) addOffset(relative int32, pos int64) {
	var e [offsetEntry]byte
	binary.BigEndian.PutUint32(e[:], uint32(relative))
	binary.BigEndian.PutUint32(e[4:], uint32(pos))
	x.add(e[:])
}

// addTime appends to a time index unless the timestamp is not above the last one.
func (x *Index) addTime(ts int64, relative int32) {
	last := int64(-1)
	if x.n > 0 {
		last = int64(binary.BigEndian.Uint64(x.mem[(x.n-1)*timeEntry:]))
	}
	if ts <= last {
		return
	}
	var e [timeEntry]byte
	binary.BigEndian.PutUint64(e[:], uint64(ts))
	binary.BigEndian.PutUint32(e[8:], uint32(relative))
	x.add(e[:])
}

// offsetAt decodes entry i of an offset index.
func (x *Index) offsetAt(d disk.Disk, i int) (relative int32, pos int64, need Need, err error) {
	e := x.room[:offsetEntry]
	need, err = x.entry(d, i, e)
	return int32(binary.BigEndian.Uint32(e)), int64(int32(binary.BigEndian.Uint32(e[4:]))), need, err
}

// timeAt decodes entry i of a time index.
func (x *Index) timeAt(d disk.Disk, i int) (ts int64, relative int32, need Need, err error) {
	e := x.room[:timeEntry]
	need, err = x.entry(d, i, e)
	return int64(binary.BigEndian.Uint64(e)), int32(binary.BigEndian.Uint32(e[8:])), need, err
}

// maxEntries is how many entries a file of most bytes has room for.
func maxEntries(most int32, width int) int { return int(most) / width }
