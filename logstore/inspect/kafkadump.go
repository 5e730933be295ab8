package inspect

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strings"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/producer"
)

// KafkaDump prints files as DumpLogSegments of Kafka 3.9 does, line for line.
type KafkaDump struct {
	FS           disk.FS
	Out, Err     io.Writer
	Parse        Parser // of keys and values; nil prints none
	Deep         bool
	SkipMetadata bool
	MaxBytes     int64 // of each log, 0 = all
	MaxMessage   int64 // how much is looked at behind an index entry
	VerifyOnly   bool
	SanityOnly   bool

	out     *bufio.Writer
	it      batch.Iterator
	indexes pairs
	gaps    pairs
	times   timeFaults
}

// pairs are the two offsets of each fault by file.
type pairs map[string][][2]int64

func (p pairs) print(w io.Writer, head, line string) {
	files := make([]string, 0, len(p))
	for f := range p {
		files = append(files, f)
	}
	sort.Strings(files)
	for _, f := range files {
		fmt.Fprintf(w, head, f)
		for i := len(p[f]) - 1; i >= 0; i-- { // Kafka's list grows at its head
			fmt.Fprintf(w, line, p[f][i][0], p[f][i][1])
		}
	}
}

// timeFaults are what a time index has wrong.
type timeFaults struct{ mismatch, order, missing pairs }

func (t *timeFaults) print(w io.Writer) {
	t.mismatch.print(w, "Found timestamp mismatch in :%s\n", "  Index timestamp: %d, log timestamp: %d\n")
	t.order.print(w, "Found out of order timestamp in :%s\n", "  Index timestamp: %d, Previously indexed timestamp: %d\n")
	t.missing.print(w, "The following indexed offsets are not found in the log.\n%.0s", "Indexed offset: %d, found log offset: %d\n")
}

// Run prints the files in turn, and what they have wrong behind them.
func (d *KafkaDump) Run(files []string) error {
	d.out = bufio.NewWriterSize(d.Out, 64<<10)
	d.indexes, d.gaps = pairs{}, pairs{}
	d.times = timeFaults{pairs{}, pairs{}, pairs{}}
	for _, f := range files {
		fmt.Fprintf(d.out, "Dumping %s\n", f)
		err := d.one(f)
		if e := d.out.Flush(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	d.indexes.print(d.Err, "Mismatches in :%s\n", "  Index offset: %d, log offset: %d\n")
	d.times.print(d.Err)
	d.gaps.print(d.Err, "Non-consecutive offsets in %s\n", "  %d is followed by %d\n")
	return nil
}

func (d *KafkaDump) one(path string) error {
	switch filepath.Ext(path) {
	case sufLog, ".checkpoint":
		return d.log(path)
	case sufIndex:
		return d.index(path)
	case sufTime:
		return d.timeIndex(path)
	case sufSnapshot:
		return d.snapshot(path)
	case sufTxn:
		return d.txnIndex(path)
	}
	_, err := fmt.Fprintf(d.Err, "Ignoring unknown file %s\n", path)
	return err
}

// Suffixes of the files that are looked into.
const (
	sufLog      = ".log"
	sufIndex    = ".index"
	sufTime     = ".timeindex"
	sufTxn      = ".txnindex"
	sufSnapshot = ".snapshot"
)

// baseOf is the offset that a file's name begins with, and its path without the suffix.
func baseOf(path string) (base int64, stem string, err error) {
	name := filepath.Base(path)
	head, _, _ := strings.Cut(name, ".")
	if _, err := fmt.Sscanf(head, "%d", &base); err != nil || base < 0 {
		return 0, "", fmt.Errorf("%s: %w", path, ErrName)
	}
	return base, filepath.Join(filepath.Dir(path), head), nil
}

func (d *KafkaDump) log(path string) error {
	if err := d.title(path); err != nil {
		return err
	}
	f, size, err := open(d.FS, path)
	if err != nil {
		return err
	}
	defer f.Close()
	limit := size
	if d.MaxBytes > 0 {
		limit = min(size, d.MaxBytes)
	}
	last := int64(-1)
	var bad error
	end, err := Walk(f, 0, limit, func(b *Batch) bool {
		d.batch(b)
		if d.Deep {
			bad = d.records(path, b, &last)
		}
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	if err == nil && end.Err != nil {
		err = fmt.Errorf("no batch can be read at position %d of %s: %w", end.Position, path, end.Err)
	}
	if err == nil && d.MaxBytes == 0 && end.Trailing() > 0 {
		fmt.Fprintf(d.out, "Found %d invalid bytes at the end of %s\n", end.Trailing(), filepath.Base(path))
	}
	return err
}

// title says what a log begins with.
func (d *KafkaDump) title(path string) error {
	name := filepath.Base(path)
	switch {
	case name == "bootstrap.checkpoint":
		_, err := fmt.Fprintln(d.out, "KRaft bootstrap snapshot")
		return err
	case strings.HasSuffix(name, ".checkpoint"):
		var offset, epoch int64
		if _, err := fmt.Sscanf(name, "%d-%d.checkpoint", &offset, &epoch); err != nil {
			return fmt.Errorf("%s: %w", path, ErrName)
		}
		_, err := fmt.Fprintf(d.out, "Snapshot end offset: %d, epoch: %d\n", offset, epoch)
		return err
	}
	base, _, err := baseOf(path)
	if err == nil {
		_, err = fmt.Fprintf(d.out, "Log starting offset: %d\n", base)
	}
	return err
}

// TimestampType names a batch's as Kafka does.
func TimestampType(h *batch.Header) string {
	switch {
	case h.Magic == 0:
		return "NoTimestampType"
	case h.IsLogAppendTime():
		return "LogAppendTime"
	}
	return "CreateTime"
}

func (d *KafkaDump) batch(b *Batch) {
	if b.Magic == 2 {
		horizon := "OptionalLong.empty"
		if b.HasDeleteHorizon() {
			horizon = fmt.Sprintf("OptionalLong[%d]", b.FirstTimestamp)
		}
		fmt.Fprintf(d.out, "baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s",
			b.BaseOffset, b.Last, b.Count, b.BaseSequence, b.LastSequence(), b.ProducerID, b.ProducerEpoch, b.LeaderEpoch, b.IsTransactional(), b.IsControl(), horizon)
	} else {
		fmt.Fprintf(d.out, "offset: %d", b.Last)
	}
	fmt.Fprintf(d.out, " position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %t\n",
		b.Position, TimestampType(&b.Header), b.MaxTimestamp, b.Size, b.Magic, b.Codec(), b.CRC, b.Valid)
}

func (d *KafkaDump) records(path string, b *Batch, last *int64) error {
	var failed error
	err := Records(&d.it, b, func(r *Record) bool {
		if *last != -1 && r.Offset != *last+1 {
			name, _ := filepath.Abs(path)
			d.gaps[name] = append(d.gaps[name], [2]int64{*last, r.Offset})
		}
		*last = r.Offset
		failed = d.record(b, r)
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("the batch at position %d of %s: %w", b.Position, path, err)
	}
	return nil
}

func (d *KafkaDump) record(b *Batch, r *Record) error {
	prefix := "| "
	if !d.SkipMetadata {
		fmt.Fprintf(d.out, "%soffset: %d %s: %d keySize: %d valueSize: %d", prefix, r.Offset, TimestampType(&b.Header), r.Timestamp, fieldSize(r.Key), fieldSize(r.Value))
		prefix = " "
		if b.Magic == 2 {
			keys := []string{}
			for _, h := range r.DecodeHeaders() {
				keys = append(keys, h.Key)
			}
			fmt.Fprintf(d.out, " sequence: %d headerKeys: [%s]", r.Sequence, strings.Join(keys, ","))
		}
		if r.Legacy {
			fmt.Fprintf(d.out, " isValid: %t crc: %d}", r.Valid, r.CRC)
		}
		if b.Magic == 2 && b.IsControl() {
			d.marker(r)
		}
	}
	if d.Parse != nil && !(b.Magic == 2 && b.IsControl()) {
		key, value, err := d.Parse(&r.Record)
		if err != nil {
			return err
		}
		if key != nil {
			fmt.Fprintf(d.out, "%skey: %s", prefix, *key)
		}
		if value != nil {
			fmt.Fprintf(d.out, " payload: %s", *value)
		}
	}
	return d.out.WriteByte('\n')
}

func fieldSize(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

// marker prints what a control record says.
func (d *KafkaDump) marker(r *Record) {
	kind, ok := r.Marker()
	switch {
	case ok && kind == 0:
		fmt.Fprintf(d.out, " endTxnMarker: ABORT coordinatorEpoch: %d", r.CoordinatorEpoch())
	case ok && kind == 1:
		fmt.Fprintf(d.out, " endTxnMarker: COMMIT coordinatorEpoch: %d", r.CoordinatorEpoch())
	default:
		fmt.Fprint(d.out, raftControl(kind, r.Value))
	}
}

func (d *KafkaDump) snapshot(path string) error {
	raw, err := d.FS.ReadFile(path)
	if err != nil {
		return err
	}
	list, err := producer.ReadSnapshot(raw)
	if err != nil {
		_, err = fmt.Fprintf(d.Err, "Snapshot %s is damaged\n", path)
		return err
	}
	for i := range list {
		e := &list[i]
		fmt.Fprintf(d.out, "producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %s lastTimestamp: %d ",
			e.ProducerID, e.Epoch, e.CoordinatorEpoch, optional(e.TxnFirst), e.Timestamp)
		if e.LastOffset >= 0 {
			fmt.Fprintf(d.out, "firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d", e.Last().FirstSeq, e.LastSequence, e.LastOffset, e.OffsetDelta, e.Timestamp)
		}
		fmt.Fprintln(d.out)
	}
	return nil
}

// optional prints a number that may be missing as Java does.
func optional(n int64) string {
	if n < 0 {
		return "OptionalLong.empty"
	}
	return fmt.Sprintf("OptionalLong[%d]", n)
}

func (d *KafkaDump) txnIndex(path string) error {
	raw, err := d.FS.ReadFile(path)
	if err != nil {
		return err
	}
	list, err := logstore.DecodeTxnIndex(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, x := range list {
		fmt.Fprintf(d.out, "version: 0 producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d\n", x.ProducerID, x.FirstOffset, x.LastOffset, x.LastStable)
	}
	return nil
}
