package inspect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
)

// Choice is what is done about damaged records. There is no default: each loses something else.
type Choice string

// The choices.
const (
	Truncate Choice = "truncate" // the log ends before the damage: everything behind it is given up
	Skip     Choice = "skip"     // the damaged batches are taken out: their offsets become a hole, what is behind them stays
)

// Repair mends a partition's directory.
type Repair struct {
	FS  disk.FS
	Dir string
	// Say gets a line for each thing that is done; with DryRun, that would be.
	Say    func(format string, args ...any)
	DryRun bool
}

// lock takes the log directory, which a running broker has.
func (r *Repair) lock() (io.Closer, error) {
	path := filepath.Join(filepath.Dir(filepath.Clean(r.Dir)), logstore.LockFile)
	l, err := r.FS.Lock(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; stop the broker first", path, err)
	}
	return l, nil
}

// Damaged lists the places that a choice is about, in order.
func (r *Repair) Damaged() ([]Finding, error) {
	report, err := Verify(r.FS, r.Dir)
	if err != nil {
		return nil, err
	}
	var out []Finding
	for _, f := range report.Findings {
		if f.Grade == Damage && filepath.Ext(f.Path) == sufLog {
			out = append(out, f)
		}
	}
	return out, nil
}

// Run carries a choice out. Every log that it replaces or gives up stays beside it under the suffix .damaged. The indexes of the segments
// that were touched are removed: a start makes them anew, as it does with the producers' state.
func (r *Repair) Run(c Choice) error {
	if !r.DryRun {
		l, err := r.lock()
		if err != nil {
			return err
		}
		defer l.Close()
	}
	bad, err := r.Damaged()
	if err != nil {
		return err
	}
	if len(bad) == 0 {
		return fmt.Errorf("%s: %w", r.Dir, ErrSound)
	}
	// First: a start that finds fewer of them reads an older one and the log.
	if err := r.forgetSnapshots(bad[0].Offset); err != nil {
		return err
	}
	var end int64
	if c == Truncate {
		end, err = r.truncate(bad[0])
	} else {
		end, err = r.skip(bad)
	}
	if err != nil {
		return err
	}
	return r.lowerCheckpoints(end)
}

// truncate ends the log before the first damage, and returns its new end.
func (r *Repair) truncate(at Finding) (end int64, err error) {
	names, err := bases(r.FS, r.Dir)
	if err != nil {
		return 0, err
	}
	base, _, err := baseOf(at.Path)
	if err != nil {
		return 0, err
	}
	for i := len(names) - 1; i >= 0 && names[i] > base; i-- { // from the end, so that a crash leaves no hole
		if err := r.putAside(names[i]); err != nil {
			return 0, err
		}
	}
	r.Say("%s: cut at byte %d; the log ends at offset %d", at.Path, at.Position, at.Offset)
	return at.Offset, r.rewrite(at.Path, base, [][2]int64{{0, at.Position}})
}

// skip takes the damaged batches out of their segments, and returns the log's end.
func (r *Repair) skip(bad []Finding) (end int64, err error) {
	byPath := map[string]map[int64]bool{}
	var order []string
	for _, f := range bad {
		if byPath[f.Path] == nil {
			byPath[f.Path] = map[int64]bool{}
			order = append(order, f.Path)
		}
		byPath[f.Path][f.Position] = true
	}
	for _, path := range order {
		base, _, err := baseOf(path)
		if err != nil {
			return 0, err
		}
		keep, next, err := r.sound(path, byPath[path])
		if err != nil {
			return 0, err
		}
		if err := r.rewrite(path, base, keep); err != nil {
			return 0, err
		}
		end = max(end, next)
	}
	report, err := Verify(r.FS, r.Dir)
	if err != nil {
		return 0, err
	}
	return max(end, report.End), nil
}

// sound finds the pieces of a log without the damaged batches. Where no batch's head can be read the next one is searched byte by byte.
func (r *Repair) sound(path string, bad map[int64]bool) (keep [][2]int64, next int64, err error) {
	f, size, err := open(r.FS, path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	pos := int64(0)
	base, _, _ := baseOf(path)
	next = base
	for pos < size {
		end, err := Walk(f, pos, size, func(b *Batch) bool {
			if bad[b.Position] || b.Last < next {
				r.Say("%s: the batch at byte %d, %d bytes, offsets %s%d, is taken out", path, b.Position, b.Size, fromBase(b), b.Last)
				return true
			}
			keep = append(keep, [2]int64{b.Position, b.Position + int64(b.Size)})
			next = b.Last + 1
			return true
		})
		if err != nil {
			return nil, 0, err
		}
		if end.Trailing() == 0 {
			break
		}
		if pos, err = r.resume(f, end.Position+1, size, next); err != nil {
			return nil, 0, err
		}
		r.Say("%s: bytes %d to %d hold no batch that can be read", path, end.Position, pos)
	}
	return keep, next, nil
}

// resume searches for the next whole batch with a right checksum and an offset that goes on; size when there is none.
func (r *Repair) resume(f io.ReaderAt, from, size, next int64) (int64, error) {
	w := window{f: f, size: size}
	for pos := from; pos < size; pos++ {
		found := false
		head, err := w.at(pos, int(min(17, size-pos)))
		if err != nil {
			return 0, err
		}
		if len(head) < 17 || head[16] > 2 || head[0] != 0 { // most places fail here
			continue
		}
		if _, err := Walk(f, pos, size, func(b *Batch) bool { found = b.Valid && b.Last >= next; return false }); err != nil {
			return 0, err
		}
		if found {
			return pos, nil
		}
	}
	return size, nil
}

// rewrite replaces a log by pieces of it; the old one is copied to .damaged. Its indexes go, since their positions are wrong now. At every
// moment the log is there under its name, the old one or the new one: without it the partition would start with a hole, or empty.
func (r *Repair) rewrite(path string, base int64, keep [][2]int64) error {
	if r.DryRun {
		return nil
	}
	old, size, err := open(r.FS, path)
	if err != nil {
		return err
	}
	defer old.Close()
	made := path + ".mended"
	if err := r.copyTo(made, old, keep); err != nil {
		return err
	}
	aside := made + ".old" // an unfinished copy must not look like one of a repair that came to its end
	if err := r.copyTo(aside, old, [][2]int64{{0, size}}); err != nil {
		return err
	}
	kept, err := r.freeName(path)
	if err != nil {
		return err
	}
	if err := r.FS.Rename(aside, kept); err != nil {
		return err
	}
	stem := filepath.Join(r.Dir, logstore.FileName(base, ""))
	for _, suffix := range []string{sufIndex, sufTime, sufTxn} {
		if err := r.FS.Remove(stem + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := r.FS.SyncDir(r.Dir); err != nil { // indexes of the old log must not come back beside the new one
		return err
	}
	if err := r.FS.Rename(made, path); err != nil {
		return err
	}
	return r.FS.SyncDir(r.Dir)
}

// copyTo writes pieces of a file to another one, durably.
func (r *Repair) copyTo(path string, from io.ReaderAt, pieces [][2]int64) error {
	f, err := r.FS.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err = copyPieces(f, from, pieces); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func copyPieces(to io.WriterAt, from io.ReaderAt, keep [][2]int64) error {
	at := int64(0)
	buf := make([]byte, chunk)
	for _, k := range keep {
		for pos := k[0]; pos < k[1]; {
			n := min(int64(len(buf)), k[1]-pos)
			if _, err := from.ReadAt(buf[:n], pos); err != nil && err != io.EOF {
				return err
			}
			if _, err := to.WriteAt(buf[:n], at); err != nil {
				return err
			}
			pos, at = pos+n, at+n
		}
	}
	return nil
}

// putAside renames a whole segment out of the log.
func (r *Repair) putAside(base int64) error {
	stem := filepath.Join(r.Dir, logstore.FileName(base, ""))
	r.Say("%s: given up; it stays as %s*.damaged", stem+sufLog, filepath.Base(stem)+sufLog)
	if r.DryRun {
		return nil
	}
	if err := r.setAside(stem + sufLog); err != nil {
		return err
	}
	for _, suffix := range []string{sufIndex, sufTime, sufTxn} {
		if err := r.FS.Remove(stem + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return r.FS.SyncDir(r.Dir)
}

// setAside renames a log so that no broker sees it.
func (r *Repair) setAside(path string) error {
	name, err := r.freeName(path)
	if err != nil {
		return err
	}
	return r.FS.Rename(path, name)
}

// freeName is where a log is kept. What an earlier repair has put there stays: it may be the only copy of what was lost.
func (r *Repair) freeName(path string) (string, error) {
	name := path + ".damaged"
	for n := 2; ; n++ {
		_, err := r.FS.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s.%d.damaged", path, n)
	}
}

// forgetSnapshots removes the producers' snapshots behind the damage: a start reads an older one and the log.
func (r *Repair) forgetSnapshots(from int64) error {
	entries, err := r.FS.ReadDir(r.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if at, suffix, ok := logstore.ParseFileName(e.Name()); ok && suffix == sufSnapshot && at > from {
			r.Say("%s: removed; the producers' state is read from the log at the next start", filepath.Join(r.Dir, e.Name()))
			if r.DryRun {
				continue
			}
			if err := r.FS.Remove(filepath.Join(r.Dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// lowerCheckpoints makes the directory's checkpoints true again: nothing behind the end is vouched for.
func (r *Repair) lowerCheckpoints(end int64) error {
	tp, ok := logstore.ParsePartitionDir(filepath.Base(filepath.Clean(r.Dir)))
	if !ok {
		return nil
	}
	for _, name := range logstore.CheckpointFiles() {
		path := filepath.Join(filepath.Dir(filepath.Clean(r.Dir)), name)
		b, err := r.FS.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		m, err := logstore.DecodeOffsets(b)
		if at, there := m[tp]; err != nil || !there || at <= end {
			continue
		}
		r.Say("%s: %s is lowered from %d to %d", path, tp, m[tp], end)
		if m[tp] = end; r.DryRun {
			continue
		}
		if err := r.FS.WriteFileAtomic(path, logstore.EncodeOffsets(m)); err != nil {
			return err
		}
	}
	return nil
}
