package inspect

import (
	"encoding/binary"
	"fmt"
	"path/filepath"

	"github.com/pelton-broker/pelton/logstore"
)

// Rebuild makes both sparse indexes of every segment anew from the logs, with an entry for every interval bytes as index.interval.bytes
// says. A segment with damage is left alone.
func (r *Repair) Rebuild(interval int64) error {
	if !r.DryRun {
		l, err := r.lock()
		if err != nil {
			return err
		}
		defer l.Close()
	}
	names, err := bases(r.FS, r.Dir)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: %w", r.Dir, ErrNotSegment)
	}
	for _, base := range names {
		stem := filepath.Join(r.Dir, logstore.FileName(base, ""))
		x := indexMaker{base: base, interval: interval, most: -1, mostLast: base, lastTime: -1, bad: -1}
		end, err := WalkFile(r.FS, stem+sufLog, x.add)
		if err != nil {
			return err
		}
		if x.bad >= 0 || end.Err != nil {
			r.Say("%s: left alone, its log is damaged", stem+sufLog)
			continue
		}
		x.time()
		r.Say("%s: %d entries, %s: %d entries", stem+sufIndex, len(x.offsets)/offsetEntry, filepath.Base(stem)+sufTime, len(x.times)/timeEntry)
		if r.DryRun {
			continue
		}
		if err := r.FS.WriteFileAtomic(stem+sufIndex, x.offsets); err != nil {
			return err
		}
		if err := r.FS.WriteFileAtomic(stem+sufTime, x.times); err != nil {
			return err
		}
	}
	return nil
}

// indexMaker follows Kafka's rule: before a batch that begins more than interval bytes behind the last indexed one comes an entry.
type indexMaker struct {
	base, interval, since int64
	most, mostLast        int64 // largest timestamp, and the last offset of the batch that has it
	lastTime              int64
	offsets, times        []byte
	bad                   int64
}

func (x *indexMaker) add(b *Batch) bool {
	if !b.Valid {
		x.bad = b.Position
		return false
	}
	if b.MaxTimestamp > x.most {
		x.most, x.mostLast = b.MaxTimestamp, b.Last
	}
	if x.since > x.interval {
		x.offsets = binary.BigEndian.AppendUint32(x.offsets, uint32(b.Last-x.base))
		x.offsets = binary.BigEndian.AppendUint32(x.offsets, uint32(b.Position))
		x.time()
		x.since = 0
	}
	x.since += int64(b.Size)
	return true
}

// time adds an entry unless timestamps have not grown.
func (x *indexMaker) time() {
	if x.most <= x.lastTime {
		return
	}
	x.times = binary.BigEndian.AppendUint64(x.times, uint64(x.most))
	x.times = binary.BigEndian.AppendUint32(x.times, uint32(x.mostLast-x.base))
	x.lastTime = x.most
}
