package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/producer"
)

// Grade says how bad a finding is.
type Grade string

// The grades.
const (
	Damage Grade = "damage" // records cannot be read, or are read wrongly
	Stale  Grade = "stale"  // a start mends it: an index to be made anew, a torn tail
	Note   Grade = "note"   // harmless, but good to know
)

// Finding is one thing that a check found.
type Finding struct {
	Grade    Grade  `json:"grade"`
	Path     string `json:"path"`
	Position int64  `json:"position"` // -1 without one
	Offset   int64  `json:"offset"`   // the next one that could be read; -1 without one
	What     string `json:"what"`
}

// Report is what a check of one partition says.
type Report struct {
	Path          string    `json:"path"`
	Segments      int       `json:"segments"`
	Bytes         int64     `json:"bytes"`
	Batches       int64     `json:"batches"`
	Records       int64     `json:"records"`
	First         int64     `json:"first_offset"` // base of the first segment
	End           int64     `json:"end_offset"`   // behind the last record that can be read
	RecoveryPoint int64     `json:"recovery_point"`
	Findings      []Finding `json:"findings"`
}

// Worst is the worst grade found, "" for none.
func (r *Report) Worst() Grade {
	worst := Grade("")
	for _, f := range r.Findings {
		if f.Grade == Damage || worst == "" || (f.Grade == Stale && worst == Note) {
			worst = f.Grade
		}
	}
	return worst
}

// segment is what the check of a log learned of it.
type segment struct {
	base, next, size, whole int64
	stem                    string
	starts                  map[int64][2]int64 // position: base (or -1) and last offset of the batch there
	maxTime                 []timeOf
	broken                  bool
	timed                   bool // some batch has a timestamp
}

// timeOf is a batch's last offset and largest timestamp.
type timeOf struct{ last, ts int64 }

// verifier checks one partition.
type verifier struct {
	fs     disk.FS
	it     batch.Iterator
	report *Report
	epochs []logstore.EpochStart // as the batches say
	dead   bool                  // behind damage: offsets are not compared any more
}

// Verify checks every file of a partition's directory against the others. The recovery point is looked up in the directory above; damage
// behind it is what a crash leaves, damage below it is not.
func Verify(f disk.FS, dir string) (*Report, error) {
	v := &verifier{fs: f, report: &Report{Path: dir, RecoveryPoint: recoveryPoint(f, dir), Findings: []Finding{}}}
	entries, err := f.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var bases []int64
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
		if base, suffix, ok := logstore.ParseFileName(e.Name()); ok && suffix == sufLog {
			bases = append(bases, base)
		}
	}
	sort.Slice(bases, func(i, j int) bool { return bases[i] < bases[j] })
	if len(bases) == 0 {
		v.add(Note, dir, -1, -1, "no segment")
		return v.report, nil
	}
	v.report.First, v.report.End = bases[0], bases[0]
	for i, base := range bases {
		s := &segment{base: base, next: base, stem: filepath.Join(dir, logstore.FileName(base, "")), starts: map[int64][2]int64{}}
		last := i == len(bases)-1
		if err := v.segment(s, last); err != nil {
			return nil, err
		}
		if err := errors.Join(v.offsetIndex(s, last), v.timeIndex(s, last), v.txnIndex(s)); err != nil {
			return nil, err
		}
	}
	for _, e := range entries {
		if err := v.other(dir, e.Name(), names); err != nil {
			return nil, err
		}
	}
	return v.report, nil
}

// recoveryPoint is the partition's in the checkpoint beside it, -1 when that says nothing.
func recoveryPoint(f disk.FS, dir string) int64 {
	tp, ok := logstore.ParsePartitionDir(filepath.Base(dir))
	b, err := f.ReadFile(filepath.Join(filepath.Dir(dir), logstore.RecoveryFile))
	if !ok || err != nil {
		return -1
	}
	m, err := logstore.DecodeOffsets(b)
	if at, found := m[tp]; err == nil && found {
		return at
	}
	return -1
}

func (v *verifier) add(g Grade, path string, pos, offset int64, format string, args ...any) {
	v.report.Findings = append(v.report.Findings, Finding{g, path, pos, offset, fmt.Sprintf(format, args...)})
}

// segment reads one log.
func (v *verifier) segment(s *segment, last bool) error {
	path := s.stem + sufLog
	r := v.report
	if s.base < r.End && !v.dead {
		v.add(Damage, path, 0, r.End, "the segment begins at offset %d, but the one before it reaches to %d", s.base, r.End)
	}
	end, err := WalkFile(v.fs, path, func(b *Batch) bool { v.batch(path, s, b); return true })
	if err != nil {
		return err
	}
	s.size, s.whole = end.Size, end.Position
	r.Segments, r.Bytes = r.Segments+1, r.Bytes+end.Size
	r.End = max(r.End, s.next)
	if end.Trailing() == 0 {
		return nil
	}
	zeros, err := v.zeroTail(path, end)
	if err != nil {
		return err
	}
	switch {
	case last && zeros:
		v.add(Note, path, end.Position, s.next, "%d bytes of zeros behind the last batch are reserved room", end.Trailing())
	case last && s.next >= r.RecoveryPoint:
		v.add(Stale, path, end.Position, s.next, "a torn tail of %d bytes behind the last whole batch; a start cuts it", end.Trailing())
	default:
		s.broken, v.dead = true, true
		v.add(Damage, path, end.Position, s.next, "%d bytes cannot be read as batches%s%s", end.Trailing(), because(end.Err), v.below(s.next))
	}
	return nil
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return " (" + err.Error() + ")"
}

func (v *verifier) below(offset int64) string {
	if offset < v.report.RecoveryPoint {
		return fmt.Sprintf(", below the recovery point %d: a start takes the partition offline", v.report.RecoveryPoint)
	}
	return ""
}

// zeroTail reports whether everything behind the batches is zeros.
func (v *verifier) zeroTail(path string, end End) (bool, error) {
	f, size, err := open(v.fs, path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	w := window{f: f, size: size}
	for pos := end.Position; pos < size; {
		n := int(min(chunk, size-pos))
		b, err := w.at(pos, n)
		if err != nil {
			return false, err
		}
		if !allZero(b) {
			return false, nil
		}
		pos += int64(n)
	}
	return true, nil
}

// batch checks one batch against its own content and what came before.
func (v *verifier) batch(path string, s *segment, b *Batch) {
	r := v.report
	r.Batches++
	fault := ""
	switch {
	case !b.Valid:
		fault = "the checksum is wrong"
	case b.Last < s.next && !v.dead, b.BaseOffset >= 0 && b.BaseOffset < s.next && !v.dead:
		fault = fmt.Sprintf("offsets go backwards: the batch has %d to %d, %d was expected", b.BaseOffset, b.Last, s.next)
	default:
		fault = v.records(b)
	}
	if fault != "" {
		s.broken = true
		v.add(Damage, path, b.Position, s.next, "%s%s", fault, v.below(s.next))
	}
	s.starts[b.Position] = [2]int64{b.BaseOffset, b.Last}
	s.timed = s.timed || b.MaxTimestamp >= 0
	s.maxTime = append(s.maxTime, timeOf{b.Last, b.MaxTimestamp})
	if b.Magic == 2 && b.LeaderEpoch >= 0 && (len(v.epochs) == 0 || v.epochs[len(v.epochs)-1].Epoch < b.LeaderEpoch) {
		v.epochs = append(v.epochs, logstore.EpochStart{Epoch: b.LeaderEpoch, Start: b.BaseOffset})
	}
	if b.Last >= s.next {
		s.next = b.Last + 1
	}
}

// records checks the records of a batch; "" when nothing is wrong.
func (v *verifier) records(b *Batch) string {
	n, before := int32(0), int64(-1)
	fault := ""
	err := Records(&v.it, b, func(r *Record) bool {
		n++
		v.report.Records++
		switch {
		case r.Offset <= before:
			fault = fmt.Sprintf("record %d of the batch has offset %d, the one before it %d", n, r.Offset, before)
		case r.Offset > b.Last || (b.BaseOffset >= 0 && r.Offset < b.BaseOffset):
			fault = fmt.Sprintf("a record has offset %d, outside its batch's %d to %d", r.Offset, b.BaseOffset, b.Last)
		case r.Legacy && !r.Valid:
			fault = fmt.Sprintf("the checksum of the message at offset %d is wrong", r.Offset)
		}
		before = r.Offset
		return fault == ""
	})
	switch {
	case err != nil:
		return "its records cannot be read: " + err.Error()
	case fault == "" && b.Magic == 2 && n != b.Count:
		return fmt.Sprintf("the batch promises %d records and has %d", b.Count, n)
	}
	return fault
}

// other checks the files that are no segments' or stand beside them.
func (v *verifier) other(dir, name string, names map[string]bool) error {
	path := filepath.Join(dir, name)
	base, suffix, ok := logstore.ParseFileName(name)
	switch {
	case ok && suffix == sufSnapshot:
		return v.snapshot(path, base)
	case ok && suffix != sufLog && !names[logstore.FileName(base, sufLog)]:
		v.add(Stale, path, -1, -1, "no log belongs to it; a start removes it")
	case name == logstore.EpochFile:
		return v.epochFile(path)
	case name == logstore.PartitionFile:
		b, err := v.fs.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := logstore.DecodePartition(b); err != nil && len(b) > 0 {
			v.add(Damage, path, -1, -1, "%v", err)
		}
	case strings.HasSuffix(name, ".deleted"), strings.HasSuffix(name, ".cleaned"):
		v.add(Note, path, -1, -1, "left by the cleaner or retention; a start removes it")
	case strings.HasSuffix(name, ".swap"):
		v.add(Stale, path, -1, -1, "the cleaner was interrupted; a start finishes its work")
	}
	return nil
}

func (v *verifier) snapshot(path string, at int64) error {
	b, err := v.fs.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := producer.ReadSnapshot(b); err != nil {
		v.add(Stale, path, -1, -1, "%v; a start reads an older one and the log", err)
	} else if at > v.report.End {
		v.add(Stale, path, -1, -1, "it is newer than the log, which ends at %d; a start removes it", v.report.End)
	}
	return nil
}

// epochFile compares leader-epoch-checkpoint with the batches.
func (v *verifier) epochFile(path string) error {
	b, err := v.fs.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(b) == 0) {
		return nil
	}
	if err != nil {
		return err
	}
	list, err := logstore.DecodeEpochs(b)
	if err != nil {
		v.add(Stale, path, -1, -1, "%v; a start makes it anew", err)
		return nil
	}
	starts := map[int32]int64{}
	for _, e := range list {
		starts[e.Epoch] = e.Start
	}
	for _, e := range v.epochs {
		if at, ok := starts[e.Epoch]; ok && at > e.Start && e.Start >= list[0].Start {
			v.add(Damage, path, -1, e.Start, "epoch %d is said to begin at %d, but a batch at %d has it", e.Epoch, at, e.Start)
		}
	}
	return nil
}
