package logstore

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/producer"
)

// opening is one log on its way from files to memory. It blocks, off the shards.
type opening struct {
	l        *Log
	clean    bool
	recovery int64 // everything below was synced
	nowMs    int64
	scan     scanner
	snaps    []int64  // offsets of snapshot files, ascending
	swaps    []string // logs of a cleaning that a crash interrupted behind its point of no return
	from     int64    // where the producers' snapshot ends
	closed   snapshot // at the end of the last closed segment that was scanned
	scanned  int      // place of the first segment that was scanned; len(segments) when none was
	cutAt    *CorruptError
	cutBytes int64
	progress func(done int64) error // its error ends the recovery

	segmentRead func() // a segment was read wholly
}

// load fills the log from its directory.
func (o *opening) load() error {
	if err := o.list(); err != nil {
		return err
	}
	l := o.l
	if len(l.segments) == 0 {
		return o.first(l.start)
	}
	l.start = max(l.start, l.segments[0].base)
	if err := o.loadEpochs(); err != nil {
		return err
	}
	if err := o.loadSegments(); err != nil {
		return err
	}
	l.end = l.active().next
	if l.end < l.start { // the end was lost, and what is left was deleted by request
		return o.restart()
	}
	l.epochs.cutEnd(l.end)
	if err := o.startFromEpochs(); err != nil {
		return err
	}
	l.hw = max(min(l.hw, l.end), l.start)
	if err := o.dropSnapshots(); err != nil {
		return err
	}
	l.producers.HighWatermark(l.hw)
	return o.settle()
}

// startFromEpochs takes a start that was moved by request from the epochs' file, which is saved at once, while its checkpoint is saved now
// and then: when the first epoch is said to begin behind batches that are of that very epoch, they were deleted. Where older batches are
// still there the request is lost, as with Kafka, and the file must not take it up again when those have gone.
func (o *opening) startFromEpochs() error {
	l := o.l
	if len(l.epochs.list) == 0 || l.epochs.list[0].Start <= l.start || l.epochs.list[0].Start > l.end {
		return nil
	}
	for _, seg := range l.segments[l.segmentFor(l.start):] {
		o.scan.reset(seg.file, 0, seg.size, false)
		e, _, _, err := o.scan.next()
		if err == io.EOF {
			continue
		}
		if err != nil {
			return err
		}
		if e.Magic == 2 && e.LeaderEpoch == l.epochs.list[0].Epoch && e.BaseOffset < l.epochs.list[0].Start {
			l.start = l.epochs.list[0].Start
		} else if e.Magic == 2 && e.LeaderEpoch < l.epochs.list[0].Epoch {
			return o.firstEpochs()
		}
		return nil
	}
	return nil
}

// first makes the first segment of an empty log.
func (o *opening) first(base int64) error {
	l := o.l
	seg := newSegment(l.path, base, o.nowMs)
	if err := createSegment(l.fs, seg, l.opt.IndexMaxBytes, 0); err != nil {
		return err
	}
	if !l.work.unborn {
		if err := l.fs.SyncDir(l.path); err != nil {
			return err
		}
	}
	l.segments = []*Segment{seg}
	l.start, l.end, l.hw, l.durable = base, base, base, base
	l.producers = producer.NewTable()
	l.dirty = true
	return nil
}

// restart empties a log whose start lies behind its end.
func (o *opening) restart() error {
	l := o.l
	for _, seg := range l.segments {
		if err := o.discard(seg); err != nil {
			return err
		}
	}
	if err := o.dropSnapshotsAbove(-1); err != nil { // their producers' records are gone
		return err
	}
	l.epochs.list = nil
	return o.first(l.start)
}

// discard removes a segment's files. Nothing of this log was sent since the process began.
func (o *opening) discard(seg *Segment) error {
	seg.close()
	for _, suffix := range segmentSuffixes() {
		if err := o.l.fs.Remove(seg.stem + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// list opens the segments and clears what a stop or a crash left behind: .deleted and .cleaned files, finished swaps, orphaned indexes.
func (o *opening) list() error {
	l := o.l
	entries, err := l.fs.ReadDir(l.path)
	if err != nil {
		return err
	}
	logs, err := o.tidy(entries)
	if err != nil {
		return err
	}
	if logs, err = o.finishSwaps(logs); err != nil {
		return err
	}
	for _, base := range logs {
		seg := newSegment(l.path, base, o.nowMs)
		info, err := l.fs.Stat(seg.stem + sufLog)
		if err != nil {
			return err
		}
		seg.size, seg.createdMs = info.Size(), info.ModTime().UnixMilli()
		if seg.file, err = l.fs.OpenFile(seg.stem+sufLog, os.O_RDWR, filePerm); err != nil {
			return err
		}
		l.segments = append(l.segments, seg)
	}
	return nil
}

// finishSwaps removes the old segments whose records a cleaned one holds, and then gives that one its name: in this order a crash here, a power
// cut too, leaves the swap to the next start.
func (o *opening) finishSwaps(logs []int64) ([]int64, error) {
	for _, name := range o.swaps {
		base, _, _ := parseFileName(name)
		path := filepath.Join(o.l.path, name)
		f, err := o.l.fs.OpenFile(path+sufSwap, os.O_RDONLY, 0)
		if err != nil {
			return nil, err
		}
		size, err := f.Size()
		last := base
		for o.scan.reset(f, 0, size, false); err == nil; {
			var e batch.Entry
			if e, _, _, err = o.scan.next(); err == nil {
				last = e.Last
			}
		}
		if e := f.Close(); err != io.EOF || e != nil {
			return nil, errors.Join(err, e)
		}
		kept := logs[:0]
		for _, x := range logs {
			suffixes := []string{sufLog, sufIndex, sufTime, sufTxn}
			switch {
			case x == base:
				suffixes = []string{sufIndex, sufTime}
				kept = append(kept, x)
			case x < base || x > last:
				suffixes = nil
				kept = append(kept, x)
			}
			for _, suffix := range suffixes {
				if err := o.l.fs.Remove(filepath.Join(o.l.path, fileName(x, suffix))); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return nil, err
				}
			}
		}
		logs = kept
		if err := o.l.fs.SyncDir(o.l.path); err != nil {
			return nil, err
		}
		if err := o.l.fs.Rename(path+sufSwap, path); err != nil {
			return nil, err
		}
		if err := o.l.fs.SyncDir(o.l.path); err != nil {
			return nil, err
		}
	}
	return logs, nil
}

// tidy returns the base offsets of the logs.
func (o *opening) tidy(entries []fs.DirEntry) (logs []int64, err error) {
	l := o.l
	names := map[string]bool{}
	unfinished := int64(math.MaxInt64) // first log of a cleaning that did not get to its point of no return
	for _, e := range entries {
		if base, suffix, ok := parseFileName(strings.TrimSuffix(e.Name(), sufCleaned)); ok && suffix == sufLog && strings.HasSuffix(e.Name(), sufCleaned) {
			unfinished = min(unfinished, base)
		}
	}
	for _, e := range entries {
		name := e.Name()
		full := filepath.Join(l.path, name)
		switch {
		case strings.HasSuffix(name, sufDeleted), strings.HasSuffix(name, sufCleaned), strings.HasSuffix(name, ".tmp"):
			err = l.fs.Remove(full)
		case strings.HasSuffix(name, sufSwap):
			// The cleaner's result was whole when it got this name: it takes the place of the old segment, whose indexes are made anew.
			// But for one of several that Kafka makes of one, while an earlier of them is not whole: the old segment is still there.
			name = strings.TrimSuffix(name, sufSwap)
			if base, suffix, ok := parseFileName(name); ok && suffix == sufLog && base < unfinished {
				names[name] = true
				o.swaps = append(o.swaps, name)
			} else {
				err = l.fs.Remove(full)
			}
		default:
			names[name] = true
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		base, suffix, ok := parseFileName(name)
		switch {
		case !ok:
		case suffix == sufLog:
			logs = append(logs, base)
		case suffix == sufSnapshot:
			o.snaps = append(o.snaps, base)
		case !names[fileName(base, sufLog)]:
			if err := l.fs.Remove(filepath.Join(l.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	sort.Slice(logs, func(i, j int) bool { return logs[i] < logs[j] })
	sort.Slice(o.snaps, func(i, j int) bool { return o.snaps[i] < o.snaps[j] })
	return logs, nil
}

// parseFileName takes Kafka's file names apart; ok is false for any other file.
func parseFileName(name string) (base int64, suffix string, ok bool) {
	if len(name) < 21 {
		return 0, "", false
	}
	base, err := strconv.ParseInt(name[:20], 10, 64)
	if err != nil || base < 0 {
		return 0, "", false
	}
	switch suffix = name[20:]; suffix {
	case sufLog, sufIndex, sufTime, sufTxn, sufSnapshot:
		return base, suffix, true
	}
	return 0, "", false
}

func (o *opening) loadEpochs() error {
	b, err := o.l.fs.ReadFile(filepath.Join(o.l.path, epochFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// A damaged file is made anew from the batches that are scanned; what it knew of older ones is lost, as in Kafka.
	if list, err := decodeEpochs(b); err == nil {
		o.l.epochs.list = list
	} else {
		o.l.epochs.dirty, o.clean = true, false
		o.recovery = 0
	}
	return nil
}

// loadSegments reads indexes where they are to be trusted and scans where not. Producers' state goes along, from the newest snapshot that is
// not newer than the first segment that is scanned, so that no byte is read twice.
func (o *opening) loadSegments() error {
	l := o.l
	trusted := make([]bool, len(l.segments))
	o.scanned = len(l.segments)
	for i, seg := range l.segments {
		last := i == len(l.segments)-1
		if !last {
			seg.next = l.segments[i+1].base
		}
		trusted[i] = (o.clean || (!last && o.wasSettled(seg))) && o.loadIndexes(seg, last) && (!last || o.tail(seg) == nil)
		if !trusted[i] {
			o.scanned = min(o.scanned, i)
		}
	}
	if o.scanned < len(l.segments) {
		if err := o.recoverEpochs(o.scanned); err != nil {
			return err
		}
	}
	if err := o.loadSnapshot(); err != nil {
		return err
	}
	for i := 0; i < len(l.segments); i++ {
		seg := l.segments[i]
		if trusted[i] {
			if i > o.scanned {
				if err := o.epochsBetween(seg); err != nil {
					return err
				}
			}
			if err := o.replay(seg); err != nil {
				return err
			}
			continue
		}
		last := i == len(l.segments)-1
		cut, err := o.rescan(seg, o.deleted(i))
		if err != nil {
			return err
		}
		if o.segmentRead != nil {
			o.segmentRead()
		}
		if !last && !cut && seg.next > l.segments[i+1].base && l.segments[i+1].base < o.recovery {
			return &CorruptError{Path: l.segments[i+1].stem + sufLog, Pos: 0, What: "below the recovery point: the segment before it reaches to offset " + strconv.FormatInt(seg.next, 10)}
		}
		if o.deleted(i) && seg.next < l.segments[i+1].base { // what its producers wrote is not known
			l.producers = producer.NewTable()
		} else if !cut && !last && o.lacksEnd(seg, l.segments[i+1].base) {
			cut, o.cutAt = true, &CorruptError{Path: seg.file.Path(), Pos: seg.size, What: "it ends at offset " + strconv.FormatInt(seg.next, 10) + ", before the next segment begins"}
		}
		if cut || (!last && seg.next > l.segments[i+1].base) {
			return o.dropAfter(i)
		}
		if !last { // compaction may have taken the end of it
			seg.next = l.segments[i+1].base
			o.closed = snapshot{at: seg.next, b: l.producers.EncodeSnapshot()}
		}
	}
	return nil
}

// deleted tells whether all of a segment lies below the log's start. It left the log before the crash, but its names did not yet, and nobody
// synced it any more, although the recovery point went on.
func (o *opening) deleted(i int) bool {
	return i < len(o.l.segments)-1 && o.l.segments[i+1].base <= o.l.start
}

// wasSettled reports whether a closed segment's side files are whole. They are when the recovery point lies behind its end. A point that is
// its very end may have been saved while it was the active one, and its transaction index never written: then the producers' snapshot, which
// is the last thing that is saved of a segment, tells.
func (o *opening) wasSettled(seg *Segment) bool {
	return seg.next < o.recovery || seg.next == o.recovery && slices.Contains(o.snaps, seg.next)
}

// lacksEnd reports whether a segment has lost its last records, that were never synced, while a power cut left the next one. In a log that
// is compacted the end of a segment may be missing rightly.
func (o *opening) lacksEnd(seg *Segment, next int64) bool {
	return seg.next < next && seg.next >= o.recovery && !o.clean && !o.l.opt.Compact && seg.base >= o.l.compaction.Cleaned
}

// dropAfter removes the segments behind a cut: their offsets would leave a hole.
func (o *opening) dropAfter(i int) error {
	l := o.l
	for _, seg := range l.segments[i+1:] {
		o.cutBytes += seg.size
		if err := o.discard(seg); err != nil {
			return err
		}
	}
	l.segments = l.segments[:i+1]
	return nil
}

// loadIndexes reads a segment's side files; false when one is missing or doubtful.
func (o *opening) loadIndexes(seg *Segment, last bool) bool {
	if last && seg.size == 0 { // they can have no entry
		return true
	}
	if b, err := o.l.fs.ReadFile(seg.stem + sufTxn); err == nil {
		if seg.txns, err = decodeTxnIndex(b); err != nil || !last && !within(seg.txns, seg) {
			return false
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for _, x := range []*Index{&seg.offsets, &seg.times} {
		if !o.loadIndex(seg, x, last) {
			return false
		}
	}
	if !last && (seg.times.n == 0 || seg.offsets.n == 0) && o.lacksEntries(seg) {
		return false
	}
	if seg.times.n > 0 {
		ts, relative, _, err := seg.times.timeAt(nil, seg.times.n-1)
		if err != nil || ts < 0 || relative < 0 || ts == 0 && relative == 0 || !growing(&seg.times) || !last && seg.base+int64(relative) >= seg.next {
			return false
		}
		seg.maxTime, seg.maxTimeLast = ts, seg.base+int64(relative)
	}
	if seg.offsets.n > 0 {
		relative, pos, _, err := seg.offsets.offsetAt(nil, seg.offsets.n-1)
		if err != nil || relative <= 0 || pos <= 0 || !growing(&seg.offsets) || pos >= seg.size || seg.base+int64(relative) >= seg.next && !last {
			return false
		}
	}
	seg.settled = !last
	return true
}

// within tells whether the transactions of an index ended in its segment.
func within(txns []AbortedTxn, seg *Segment) bool {
	n := len(txns)
	return n == 0 || txns[0].LastOffset >= seg.base && txns[n-1].LastOffset < seg.next
}

// lacksEntries tells whether an index is empty that cannot be: a batch lies behind the first interval, or the first one has a timestamp.
func (o *opening) lacksEntries(seg *Segment) bool {
	o.scan.ahead = headerRead
	defer func() { o.scan.ahead = 0 }()
	o.scan.reset(seg.file, 0, seg.size, false)
	for {
		e, _, pos, err := o.scan.next()
		if err != nil || pos > int64(o.l.opt.IndexInterval) {
			return err != io.EOF && (err != nil || seg.offsets.n == 0)
		}
		if seg.times.n == 0 && e.MaxTimestamp >= 0 {
			return true
		}
	}
}

// growing looks at the last two entries: reserved room that was never cut is zeros there.
func growing(x *Index) bool {
	if x.n < 2 {
		return true
	}
	var b [2 * timeEntry]byte
	for i := range 2 {
		if _, err := x.entry(nil, x.n-2+i, b[i*x.width:(i+1)*x.width]); err != nil {
			return false
		}
	}
	return sortedIndex(b[:2*x.width], x.width)
}

// loadIndex opens a closed segment's index, or reads the active one's entries into memory: zeros behind them are room that was reserved.
func (o *opening) loadIndex(seg *Segment, x *Index, last bool) bool {
	if last {
		b, err := o.l.fs.ReadFile(x.path)
		if err != nil {
			return false
		}
		x.mem = trimZeros(b, x.width)
		if len(b)%x.width != 0 {
			return false
		}
		if len(x.mem) < len(b) { // room that no clean stop leaves: the next one cuts it
			o.l.dirty = true
		}
		x.n = len(x.mem) / x.width
		return sortedIndex(x.mem, x.width)
	}
	f, err := o.l.fs.OpenFile(x.path, os.O_RDWR, filePerm)
	if err != nil {
		return false
	}
	size, err := f.Size()
	if err != nil || size%int64(x.width) != 0 {
		_ = f.Close()
		return false
	}
	x.inMem, x.file, x.n = false, f, int(size)/x.width
	return true
}

// trimZeros cuts the reserved room: entries behind the first whose second half is zero are none (only the very first batch is at 0, and
// the rule for entries never indexes it).
func trimZeros(b []byte, width int) []byte {
	n := len(b) / width
	n = sort.Search(n, func(i int) bool {
		for _, c := range b[i*width : (i+1)*width] {
			if c != 0 {
				return false
			}
		}
		return true
	})
	return append([]byte(nil), b[:n*width]...)
}

// sortedIndex reports whether both columns of an index in memory grow.
func sortedIndex(b []byte, width int) bool {
	key := func(e []byte) int64 {
		if width == timeEntry {
			return int64(binary.BigEndian.Uint64(e))
		}
		return int64(binary.BigEndian.Uint32(e))<<32 | int64(binary.BigEndian.Uint32(e[4:]))
	}
	for i := width; i < len(b); i += width {
		if key(b[i:]) <= key(b[i-width:]) || int32(binary.BigEndian.Uint32(b[i+width-4:])) < int32(binary.BigEndian.Uint32(b[i-4:])) {
			return false
		}
	}
	return true
}

// tailRead is how much of a segment's end is read at a time: about what lies behind the last index entry.
const tailRead = 16 << 10

// tail reads the headers from the last indexed batch to the end of the active segment: what the indexes do not say.
func (o *opening) tail(seg *Segment) error {
	from, relative := int64(0), int32(0)
	if n := seg.offsets.n; n > 0 {
		relative, from, _, _ = seg.offsets.offsetAt(nil, n-1)
	}
	size := seg.size
	seg.next, seg.sinceIndex = seg.base, 0
	o.scan.ahead = tailRead
	defer func() { o.scan.ahead = 0 }()
	o.scan.reset(seg.file, from, size, false)
	indexed := from > 0
	for {
		e, _, pos, err := o.scan.next()
		if err == io.EOF {
			break
		}
		if err != nil || e.Last < seg.next || pos == from && indexed && e.Last != seg.base+int64(relative) || !indexed && pos > int64(o.l.opt.IndexInterval) {
			return errors.Join(err, errTail)
		}
		if e.MaxTimestamp > seg.maxTime {
			seg.maxTime, seg.maxTimeLast = e.MaxTimestamp, e.Last
		}
		if pos == from && indexed {
			seg.sinceIndex = 0
		}
		seg.sinceIndex += int64(e.Size)
		seg.next = e.Last + 1
	}
	if seg.maxTimeLast >= max(seg.next, seg.base+1) || !within(seg.txns, seg) || seg.times.n == 0 && seg.maxTime >= 0 {
		return errTail
	}
	o.firstTime(seg)
	return nil
}

var errTail = errors.New("logstore: the active segment's end is not what a clean stop leaves")

// firstTime reads what segment.ms counts from.
func (o *opening) firstTime(seg *Segment) {
	o.scan.ahead = headerRead
	defer func() { o.scan.ahead = 0 }()
	o.scan.reset(seg.file, 0, seg.size, false)
	if e, _, _, err := o.scan.next(); err == nil {
		seg.firstTime = e.MaxTimestamp
	}
}
