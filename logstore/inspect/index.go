package inspect

import (
	"path/filepath"

	"github.com/pelton-broker/pelton/internal/disk"
)

// Index is what a sparse index file says, offsets made absolute.
type Index struct {
	Path     string
	Base     int64
	Times    bool // a time index, whose entries have no position
	Entries  []IndexEntry
	Reserved int64 // bytes of zeros behind the entries
	Odd      int64 // bytes behind them that are no entry
}

// IndexEntry is one entry.
type IndexEntry struct {
	Timestamp int64 // of time indexes
	Offset    int64
	Position  int64 // of offset indexes
}

// ReadIndex reads an offset or time index.
func ReadIndex(fs disk.FS, path string) (*Index, error) {
	base, _, err := baseOf(path)
	if err != nil {
		return nil, err
	}
	x := &Index{Path: path, Base: base, Times: filepath.Ext(path) == sufTime}
	e := entries{base: base, width: offsetEntry}
	if x.Times {
		e.width = timeEntry
	}
	if e.raw, err = fs.ReadFile(path); err != nil {
		return nil, err
	}
	n := e.n()
	for n > 0 && allZero(e.raw[(n-1)*e.width:n*e.width]) {
		n--
	}
	x.Odd = int64(len(e.raw) % e.width)
	x.Reserved = int64((e.n() - n) * e.width)
	for i := range n {
		one := IndexEntry{Offset: e.offset(i)}
		if x.Times {
			one.Timestamp = e.timestamp(i)
		} else {
			one.Position = e.position(i)
		}
		x.Entries = append(x.Entries, one)
	}
	return x, nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
