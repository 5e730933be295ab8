package logstore

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// compacting is a world whose one log is cleaned whenever something is dirty.
func compacting(t testing.TB) (*world, *Log) {
	w := newWorld(t, Options{SegmentBytes: 1500, IndexInterval: 200, Compact: true, Cleaner: true, MinCleanableRatio: 1e-9, DeleteRetentionMs: 1000})
	return w, w.log("t")
}

func (w *world) compact(l *Log) {
	l.Retain(w.clk.WallMs())
	w.turn(l)
}

// keyed is key=value of all records that a reader of the log sees, in order, with its offset.
type keyed struct {
	offset     int64
	key, value string
	null       bool
}

func (w *world) keyed(l *Log) (out []keyed) {
	w.t.Helper()
	last := int64(-1)
	if err := batch.Iterate(w.read(l, l.Start(), 1<<20, l.End()), func(r batch.Record) bool {
		if r.Offset <= last {
			w.t.Fatalf("offset %d behind %d", r.Offset, last)
		}
		if last = r.Offset; !r.Batch.IsControl() {
			out = append(out, keyed{r.Offset, string(r.Key), string(r.Value), r.Value == nil})
		}
		return true
	}); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func table(list []keyed) map[string]keyed {
	m := map[string]keyed{}
	for _, k := range list {
		if m[k.key] = k; k.null {
			delete(m, k.key)
		}
	}
	return m
}

// The last value of every key stays at its offset, whatever is written, cleaned, restarted and cleaned again.
func TestCompactionKeepsTheLastValues(t *testing.T) {
	w, l := compacting(t)
	rng := rand.New(rand.NewSource(3))
	model := map[string]keyed{}
	for round := range 12 {
		for range 40 {
			bd := batch.NewBuilder(batch.Codec(rng.Intn(5)))
			var made []keyed
			for range 1 + rng.Intn(5) {
				k := keyed{key: fmt.Sprint("k", rng.Intn(30)), value: fmt.Sprint("v", rng.Int63()), null: rng.Intn(6) == 0}
				v := []byte(k.value)
				if k.null {
					v, k.value = nil, ""
				}
				bd.Add(w.clk.WallMs(), []byte(k.key), v, batch.RecordHeader{Key: "h", Value: []byte("x")})
				made = append(made, k)
			}
			a := w.produce(l, bd.Bytes())
			for i, k := range made {
				k.offset = a.Base + int64(i)
				if model[k.key] = k; k.null {
					delete(model, k.key)
				}
			}
		}
		before := l.SizeBytes()
		w.compact(l)
		if l.compaction.Runs == 0 || l.SizeBytes() > before/2 {
			t.Fatalf("round %d: %d of %d bytes are left: %+v", round, l.SizeBytes(), before, l.compaction)
		}
		got := w.keyed(l)
		if !maps.Equal(table(got), model) {
			t.Fatalf("round %d:\n got %v\nwant %v", round, table(got), model)
		}
		for from := l.Start(); from < l.End(); from += 7 { // every offset finds what is at or behind it
			i := slices.IndexFunc(got, func(k keyed) bool { return k.offset >= from })
			if one := w.contents(l, from, l.End()); len(one) == 0 && i >= 0 || len(one) > 0 && one[0] != fmt.Sprintf("%d=%s", got[i].offset, got[i].value) {
				t.Fatalf("round %d: from %d", round, from)
			}
		}
		w.clk.Advance(2e9)
		switch round % 3 {
		case 0:
			w.stop()
		case 1:
			w.crash()
		default:
			continue
		}
		w.start()
		l = w.log("t")
	}
}

func TestCompactionRemovesTombstonesAfterTheirTime(t *testing.T) {
	w, l := compacting(t)
	put := func(key string, value []byte) {
		bd := batch.NewBuilder(batch.None)
		bd.Add(w.clk.WallMs(), []byte(key), value)
		w.produce(l, bd.Bytes())
	}
	tombs := func() (n int) {
		for _, k := range w.keyed(l) {
			if k.null {
				n++
			}
		}
		return n
	}
	fillUp := func(key string) {
		for range 30 {
			put(key, make([]byte, 100))
		}
	}
	put("a", []byte("1"))
	put("a", nil)
	fillUp("x")
	w.compact(l)
	if tombs() != 1 {
		t.Fatal("a tombstone must stay for delete.retention.ms after the first cleaning")
	}
	w.clk.Advance(5e8)
	fillUp("y")
	w.compact(l)
	if tombs() != 1 {
		t.Fatal("the tombstone went early")
	}
	w.clk.Advance(6e8)
	fillUp("z")
	w.compact(l)
	if tombs() != 0 {
		t.Fatal("the tombstone stays for ever")
	}
}

// transact writes the batch number seq of one transaction.
func (w *world) transact(l *Log, pid int64, seq int32, keys ...string) {
	bd := batch.NewBuilder(batch.None)
	bd.ProducerID, bd.ProducerEpoch, bd.BaseSequence, bd.Transactional = pid, 0, seq*int32(len(keys)), true
	for _, k := range keys {
		bd.Add(w.clk.WallMs(), []byte(k), fmt.Appendf(nil, "p%d", pid))
	}
	w.produce(l, bd.Bytes())
}

// mark writes a transaction's marker: kind 0 aborts, 1 commits.
func (w *world) mark(l *Log, pid int64, kind int16) {
	w.t.Helper()
	b := batch.BuildMarker(pid, 0, kind, 1, w.clk.WallMs())
	in := &batch.Info{}
	if err := batch.Validate(b, batch.Limits{AllowControl: true}, in); err != nil {
		w.t.Fatal(err)
	}
	a := &Append{Bytes: b, Info: in, Origin: FromCoordinator}
	l.Append(a)
	w.turn(l)
	w.done(l, a)
	l.SetHighWatermark(l.End())
}

// committed is what a read_committed reader sees.
func (w *world) committed(l *Log) (out []string) {
	aborted := l.AbortedIn(l.Start(), l.LastStable(), nil)
	_ = batch.Iterate(w.read(l, l.Start(), 1<<20, l.LastStable()), func(r batch.Record) bool {
		hidden := r.Batch.IsControl()
		for _, x := range aborted {
			hidden = hidden || (r.Batch.IsTransactional() && r.Batch.ProducerID == x.ProducerID && r.Offset >= x.FirstOffset && r.Offset < x.LastOffset)
		}
		if !hidden {
			out = append(out, fmt.Sprintf("%s=%s", r.Key, r.Value))
		}
		return true
	})
	return out
}

// cases C-25 and C-26: keys with a marker's bytes, an aborted transaction over many segments, a map that holds a few keys.
func TestCompactionOfTransactions(t *testing.T) {
	w, l := compacting(t)
	o := l.Options()
	o.DedupeBytes = 40 * mapEntry
	l.SetOptions(o)
	commitKey, abortKey := "\x00\x00\x00\x01", "\x00\x00\x00\x00"
	w.transact(l, 1, 0, commitKey, abortKey, "good")
	w.mark(l, 1, 1)
	for i := range int32(60) {
		w.transact(l, 2, i, "good", commitKey, fmt.Sprint("bad", i))
		w.transact(l, 3, i, fmt.Sprint("mine", i%4))
	}
	w.mark(l, 2, 0)
	w.mark(l, 3, 1)
	w.produce(l, values(batch.None, 1, "end", 4))
	want := map[string]string{commitKey: "p1", abortKey: "p1", "good": "p1", "mine0": "p3", "mine1": "p3", "mine2": "p3", "mine3": "p3", "k": "end-3"}
	check := func(name string) {
		t.Helper()
		seen := map[string]string{}
		for _, kv := range w.committed(l) {
			key, value, _ := strings.Cut(kv, "=")
			if seen[key] = value; value == "p2" {
				t.Fatalf("%s: %q was aborted and is seen", name, kv)
			}
		}
		if !maps.Equal(seen, want) {
			t.Fatalf("%s:\n got %v\nwant %v", name, seen, want)
		}
		if l.LastStable() != l.End() {
			t.Fatalf("%s: last stable offset %d of %d", name, l.LastStable(), l.End())
		}
	}
	for round := range 6 {
		w.compact(l)
		check(fmt.Sprint("round ", round))
		w.clk.Advance(2e9)
		for range 20 {
			w.produce(l, values(batch.None, 1, "more", 5))
		}
		want["k"] = "more-4"
		if round == 2 {
			w.stop()
			w.start()
			l = w.log("t")
		}
		if round == 3 {
			w.crash()
			w.start()
			l = w.log("t")
			l.SetHighWatermark(l.End())
		}
	}
	if l.compaction.Runs < 2 {
		t.Fatalf("%+v", l.compaction)
	}
}

// case C-16: a log that ends with markers whose data is gone can still be read to its end: the position gets there.
func TestCompactionKeepsTheEndReachable(t *testing.T) {
	w, l := compacting(t)
	for i := range int32(30) {
		w.transact(l, 1, i, "k", "k", "k")
		w.mark(l, 1, 1)
	}
	for range 4 {
		w.clk.Advance(1e10)
		w.compact(l)
	}
	for from := l.Start(); from < l.End(); {
		var s Span
		if _, err := l.Read(from, 1, l.End(), true, &s); err != nil || s.Len == 0 {
			t.Fatalf("nothing to read at %d of %d: %v", from, l.End(), err)
		}
		b := make([]byte, s.Len)
		if _, err := s.File.ReadAt(b, s.Pos); err != nil {
			t.Fatal(err)
		}
		s.Release()
		e, err := batch.ParseEntry(b)
		if err != nil || e.Last < from {
			t.Fatalf("%+v %v", e, err)
		}
		from = e.Last + 1
	}
	// The producer's last batch is remembered by its header, so its next sequence number is still known after a start without a snapshot.
	if a := w.push(l, idempotent(1, 0, 500, 1)); a.Err == nil {
		w.turn(l)
		t.Fatalf("a gap was taken: %+v", a)
	}
}

// tripFS fails everything that changes names from a given call on, as if the machine had stopped there.
type tripFS struct {
	disk.FS
	left int
}

var errTripped = errors.New("the machine stopped")

func (f *tripFS) step() error {
	if f.left--; f.left < 0 {
		return errTripped
	}
	return nil
}

func (f *tripFS) Rename(a, b string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Rename(a, b)
}

func (f *tripFS) SyncDir(p string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.SyncDir(p)
}

func (f *tripFS) Remove(p string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Remove(p)
}

func TestCompactionSurvivesACrashAtEveryStep(t *testing.T) {
	for stop := range 60 {
		w, l := compacting(t)
		for i := range 28 {
			bd := batch.NewBuilder(batch.None)
			bd.Add(1, fmt.Appendf(nil, "k%d", i%7), fmt.Appendf(nil, "%d-%0100d", i, i))
			w.produce(l, bd.Bytes())
		}
		want, end := table(w.keyed(l)), l.End()
		l.fs = &tripFS{FS: l.fs, left: stop}
		w.compact(l)
		finished := l.fs.(*tripFS).left >= 0
		w.crash()
		w.start()
		l = w.log("t")
		if got := table(w.keyed(l)); !maps.Equal(got, want) || l.End() != end {
			t.Fatalf("stopped at step %d: end %d, want %d\n got %v\nwant %v", stop, l.End(), end, got, want)
		}
		w.produce(l, values(batch.None, 1, "x", 1))
		w.compact(l)
		if got := table(w.keyed(l)); len(got) != len(want)+1 {
			t.Fatalf("stopped at step %d, cleaned again: %v", stop, got)
		}
		w.crash()
		if finished {
			return
		}
	}
	t.Fatal("the cleaning never got through")
}

// A log whose cleaning fails is left alone, says so, and keeps what it has; its unfinished files go. Other logs are cleaned.
func TestFailedCleaningMarksTheLog(t *testing.T) {
	w, l := compacting(t)
	other := w.log("other")
	put := func(l *Log, n int) {
		for i := range n {
			bd := batch.NewBuilder(batch.None)
			bd.Add(w.clk.WallMs(), fmt.Appendf(nil, "k%d", i%3), make([]byte, 100))
			w.produce(l, bd.Bytes())
		}
	}
	put(l, 60)
	put(other, 60)
	if cause, dirty := l.Uncleanable(); cause != nil || dirty != 0 {
		t.Fatal("before:", cause, dirty)
	}
	damaged := l.segments[2]
	if _, err := damaged.file.WriteAt([]byte{0xff}, damaged.size-3); err != nil {
		t.Fatal(err)
	}
	size, segments := l.SizeBytes(), len(l.segments)
	w.compact(l)
	w.compact(other)
	cause, dirty := l.Uncleanable()
	var bad *CorruptError
	if !errors.As(cause, &bad) || bad.Path != damaged.file.Path() || dirty != size-l.active().size {
		t.Errorf("uncleanable: %v, %d bytes of %d", cause, dirty, size)
	}
	if l.SizeBytes() != size || len(l.segments) != segments || l.compaction.Runs != 0 {
		t.Error("the log has changed")
	}
	for name := range w.files("t") {
		if strings.HasSuffix(name, sufCleaned) {
			t.Error("left behind:", name)
		}
	}
	for _, s := range l.segments {
		if s.refs.Load() != 0 {
			t.Errorf("segment %d is held", s.base)
		}
	}
	if cause, _ := other.Uncleanable(); cause != nil || other.compaction.Runs != 1 {
		t.Errorf("the other log: %v, %d runs", cause, other.compaction.Runs)
	}
	put(l, 20)
	w.compact(l)
	if _, more := l.Uncleanable(); more <= dirty || l.compaction.Runs != 0 {
		t.Errorf("%d bytes are dirty, before %d; %d runs", more, dirty, l.compaction.Runs)
	}
}
