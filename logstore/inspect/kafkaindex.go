package inspect

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// Sizes of index entries.
const (
	offsetEntry = 8
	timeEntry   = 12
)

// entries are the whole entries of an index file, reserved room at its end included.
type entries struct {
	base  int64
	width int
	raw   []byte
}

func (d *KafkaDump) readEntries(path string, base int64, width int) (entries, error) {
	raw, err := d.FS.ReadFile(path)
	return entries{base, width, raw}, err
}

func (e *entries) n() int { return len(e.raw) / e.width }

func (e *entries) offset(i int) int64 {
	at := i * e.width
	if e.width == timeEntry {
		at += 8
	}
	return e.base + int64(int32(binary.BigEndian.Uint32(e.raw[at:])))
}

func (e *entries) position(i int) int64 {
	return int64(int32(binary.BigEndian.Uint32(e.raw[i*e.width+4:])))
}
func (e *entries) timestamp(i int) int64 { return int64(binary.BigEndian.Uint64(e.raw[i*e.width:])) }

// lookup is the position to read from for an offset, found as Kafka finds it, also where room behind the entries was never cut off.
func (e *entries) lookup(offset int64) int64 {
	low, high := 0, e.n()-1
	if high < 0 || offset < e.offset(0) {
		return 0
	}
	for low < high {
		mid := int(uint(low+high+1) >> 1)
		switch at := e.offset(mid); {
		case at > offset:
			high = mid - 1
		case at < offset:
			low = mid
		default:
			return e.position(mid)
		}
	}
	return e.position(low)
}

// sane is the check that decides at a start whether an index is made anew.
func (e *entries) sane(path string) error {
	name, _ := filepath.Abs(path)
	n := e.n()
	kind := "index"
	if e.width == timeEntry {
		kind = "time index"
		if n > 0 && e.timestamp(n-1) < e.timestamp(0) {
			return fmt.Errorf("corrupt time index found, time index file (%s) has non-zero size but the last timestamp is %d which is less than the first timestamp %d", name, e.timestamp(n-1), e.timestamp(0))
		}
	}
	if n > 0 && e.offset(n-1) < e.base {
		return fmt.Errorf("corrupt %s found, %s file (%s) has non-zero size but the last offset is %d which is less than the base offset %d", kind, kind, name, e.offset(n-1), e.base)
	}
	if len(e.raw)%e.width != 0 {
		return fmt.Errorf("%s file %s is corrupt, found %d bytes which is neither positive nor a multiple of %d", kind, name, len(e.raw), e.width)
	}
	return nil
}

// index prints an offset index and compares it with its log.
func (d *KafkaDump) index(path string) error {
	base, stem, err := baseOf(path)
	if err != nil {
		return err
	}
	x, err := d.readEntries(path, base, offsetEntry)
	if err != nil {
		return err
	}
	if x.n() == 0 {
		_, err = fmt.Fprintf(d.out, "%s is empty.\n", path)
		return err
	}
	if d.SanityOnly {
		return d.sane(&x, path)
	}
	f, size, err := open(d.FS, stem+sufLog)
	if err != nil {
		return err
	}
	defer f.Close()
	name, _ := filepath.Abs(path)
	for i := range x.n() {
		offset, pos := x.offset(i), x.position(i)
		if offset == base && i > 0 { // room that a crash left uncut
			return nil
		}
		last, found := int64(0), false
		if _, err := Walk(f, pos, min(size, pos+d.maxMessage()), func(b *Batch) bool { last, found = b.Last, true; return false }); err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s: no batch begins at position %d, which entry %d names", path, pos, i)
		}
		if last != offset {
			d.indexes[name] = append(d.indexes[name], [2]int64{offset, last})
		}
		if !d.VerifyOnly {
			fmt.Fprintf(d.out, "offset: %d position: %d\n", offset, pos)
		}
	}
	return nil
}

func (d *KafkaDump) maxMessage() int64 {
	if d.MaxMessage <= 0 {
		return 5 << 20
	}
	return d.MaxMessage
}

func (d *KafkaDump) sane(x *entries, path string) error {
	if err := x.sane(path); err != nil {
		return err
	}
	_, err := fmt.Fprintf(d.out, "%s passed sanity check.\n", path)
	return err
}

// timeIndex prints a time index and compares it with its log.
func (d *KafkaDump) timeIndex(path string) error {
	base, stem, err := baseOf(path)
	if err != nil {
		return err
	}
	x, err := d.readEntries(path, base, timeEntry)
	if err != nil {
		return err
	}
	if d.SanityOnly {
		return d.sane(&x, path)
	}
	offsets, err := d.readEntries(stem+sufIndex, base, offsetEntry)
	if err != nil {
		return err
	}
	f, size, err := open(d.FS, stem+sufLog)
	if err != nil {
		return err
	}
	defer f.Close()
	before := batch.NoTimestamp
	for i := range x.n() {
		ts, offset := x.timestamp(i), x.offset(i)
		if offset == base && i > 0 {
			return nil
		}
		last, most, found := int64(-1), batch.NoTimestamp, false
		var bad error
		_, err := Walk(f, offsets.lookup(offset), size, func(b *Batch) bool {
			if b.Last < offset {
				return true
			}
			last, found = b.Last, b.Last == offset
			if found {
				bad = Records(&d.it, b, func(r *Record) bool { most = max(most, r.Timestamp); return true })
			}
			return false
		})
		if err == nil {
			err = bad
		}
		if err != nil {
			return fmt.Errorf("%s: %w", stem+sufLog, err)
		}
		d.compareTime(path, found, [4]int64{offset, last, ts, most}, before)
		if !d.VerifyOnly {
			fmt.Fprintf(d.out, "timestamp: %d offset: %d\n", ts, offset)
		}
		before = ts
	}
	return nil
}

// compareTime notes what an entry {offset, last offset of the batch found, timestamp, largest timestamp of the batch} has wrong.
func (d *KafkaDump) compareTime(path string, found bool, e [4]int64, before int64) {
	name, _ := filepath.Abs(path)
	if !found {
		d.times.missing[name] = append(d.times.missing[name], [2]int64{e[0], e[1]})
		return
	}
	if e[2] != e[3] {
		d.times.mismatch[name] = append(d.times.mismatch[name], [2]int64{e[2], e[3]})
	}
	if before >= e[2] && before < math.MaxInt64 {
		d.times.order[name] = append(d.times.order[name], [2]int64{e[2], before})
	}
}

// raftControl names a control record that is no transaction marker.
func raftControl(kind int16, _ []byte) string {
	names := map[int16]string{2: "LEADER_CHANGE", 3: "SNAPSHOT_HEADER", 4: "SNAPSHOT_FOOTER", 5: "KRAFT_VERSION", 6: "KRAFT_VOTERS"}
	name, ok := names[kind]
	if !ok {
		name = "UNKNOWN"
	}
	return fmt.Sprintf(" controlType: %s(%d)", name, kind)
}
