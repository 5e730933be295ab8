package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// countingFile is a file in memory that counts the bytes that are read.
type countingFile struct {
	disk.Content
	b    []byte
	read int
}

func (c *countingFile) ReadAt(b []byte, off int64) (int, error) {
	n := copy(b, c.b[min(off, int64(len(c.b))):])
	if c.read += n; n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// A scan gives every batch, whatever its size is against what is read at a time, and reads no byte twice.
func TestScanReadsEveryByteOnce(t *testing.T) {
	rng := rand.New(rand.NewSource(5))
	f := &countingFile{}
	var want [][]byte
	for range 120 {
		size := []int{10, 1000, 20_000, scanChunk - 200, scanChunk + rng.Intn(scanChunk)}[min(rng.Intn(12), 4-4*rng.Intn(2))]
		bd := batch.NewBuilder(batch.None)
		bd.Add(1, nil, make([]byte, size+rng.Intn(300)))
		want = append(want, bd.Bytes())
		f.b = append(f.b, want[len(want)-1]...)
	}
	var s scanner
	s.reset(disk.NewVirtual(f, "f"), 0, int64(len(f.b)), true)
	for i, w := range want {
		if _, b, _, err := s.next(); err != nil || !bytes.Equal(b, w) {
			t.Fatalf("batch %d: %d bytes of %d: %v", i, len(b), len(w), err)
		}
	}
	if _, _, _, err := s.next(); err != io.EOF || f.read != len(f.b) {
		t.Fatalf("%v, %d bytes read of %d", err, f.read, len(f.b))
	}
	f.b = f.b[:len(f.b)-10]
	s.reset(disk.NewVirtual(f, "f"), 0, int64(len(f.b)+10), true)
	var bad *CorruptError
	var err error
	for err == nil {
		_, _, _, err = s.next()
	}
	if !errors.As(err, &bad) || bad.Pos != int64(len(f.b)+10-len(want[len(want)-1])) {
		t.Fatal("a file that is shorter than it should be:", err)
	}
}

// mixed fills a log with batches that stay whole, go whole, and lose some records, small ones and large ones, plain and compressed, and
// returns the bytes of those that stay whole, by base offset.
func (w *world) mixed(l *Log, rng *rand.Rand, total int64) map[int64][]byte {
	whole := map[int64][]byte{}
	for n := 0; l.SizeBytes() < total; n++ {
		kind, records, size := rng.Intn(3), 1+rng.Intn(40), 10+rng.Intn(200)
		if rng.Intn(10) == 0 {
			records, size = 100+rng.Intn(200), 1000+rng.Intn(1000)
		}
		bd := batch.NewBuilder([]batch.Codec{batch.None, batch.None, batch.None, batch.LZ4, batch.Zstd}[rng.Intn(5)])
		for i := range records {
			key := fmt.Sprintf("once-%d-%d", n, i)
			if kind == 1 || (kind == 2 && i%2 == 0) {
				key = fmt.Sprint("again-", rng.Intn(20))
			}
			bd.Add(w.clk.WallMs()+int64(i), []byte(key), bytes.Repeat([]byte{byte(n)}, size))
		}
		a := w.produce(l, bd.Bytes())
		if kind == 0 {
			whole[a.Base] = bytes.Clone(a.Bytes)
		}
	}
	for i := range 20 { // in the active segment, or in the last one that is cleaned: nothing of the others is the newest
		w.produce(l, single(fmt.Sprint("again-", i)))
	}
	return whole
}

func single(key string) []byte {
	bd := batch.NewBuilder(batch.None)
	bd.Add(1, []byte(key), []byte("last"))
	return bd.Bytes()
}

// What is collected before it is written lands where the indexes say, and a batch that stays whole is the same to the byte.
func TestCleaningWritesWhatItCounted(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 3 << 20, IndexInterval: 4096, Compact: true, Cleaner: true, MinCleanableRatio: 1e-9, DeleteRetentionMs: 1000})
	l := w.log("t")
	rng := rand.New(rand.NewSource(6))
	whole := w.mixed(l, rng, 8<<20)
	want := table(w.keyed(l))
	w.compact(l)
	if l.compaction.Runs != 1 {
		t.Fatalf("%+v", l.compaction)
	}
	if got := table(w.keyed(l)); !maps.Equal(got, want) {
		t.Fatalf("%d keys, want %d", len(got), len(want))
	}
	entries, same := 0, 0
	for _, seg := range l.segments[:len(l.segments)-1] {
		starts := map[int64]batch.Entry{}
		for s := (scanner{f: seg.file, end: seg.size, whole: true}); ; {
			e, b, pos, err := s.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			starts[pos] = e
			if old, ok := whole[e.BaseOffset]; ok {
				if same++; !bytes.Equal(b, old) {
					t.Errorf("the batch at %d stays whole and is another", e.BaseOffset)
				}
			}
		}
		if size, err := seg.file.Size(); err != nil || size != seg.size {
			t.Errorf("segment %d has %d bytes, counted %d: %v", seg.base, size, seg.size, err)
		}
		for i := range seg.offsets.n {
			relative, pos, _, err := seg.offsets.offsetAt(nil, i)
			if e, ok := starts[pos]; err != nil || !ok || e.Last != seg.base+int64(relative) {
				t.Errorf("segment %d, entry %d: no batch that ends with %d at %d: %v", seg.base, i, relative, pos, err)
			}
			entries++
		}
	}
	if entries < 40 || same < 50 {
		t.Errorf("%d index entries, %d batches stay whole: the log is too small to tell", entries, same)
	}
}

// Damage in the batch that the map is full in is noticed, although that batch is not among those that are copied: what it says of its keys
// has removed older records.
func TestDamageWhereTheMapIsFull(t *testing.T) {
	w, l := compacting(t)
	o := l.Options()
	o.DedupeBytes = 24 * mapEntry
	l.SetOptions(o)
	for i := range 60 {
		bd := batch.NewBuilder(batch.None)
		bd.Add(w.clk.WallMs(), fmt.Appendf(nil, "k%d", i), make([]byte, 100))
		w.produce(l, bd.Bytes())
	}
	probe := &cleaner{fs: l.fs, opt: l.opt, segments: l.segments[:len(l.segments)-1], stop: &l.deleted}
	if err := probe.buildMap(); err != nil {
		t.Fatal(err)
	}
	full := probe.keys.latest + 1 // in a segment of its own, or at least not copied but as it is
	for _, seg := range l.segments {
		if seg.base > full || seg.next <= full {
			continue
		}
		for s := (scanner{f: seg.file, end: seg.size}); ; {
			e, _, pos, err := s.next()
			if err != nil {
				t.Fatal(err)
			}
			if e.BaseOffset == full {
				if _, err := seg.file.WriteAt([]byte{0xff}, pos+int64(e.Size)-3); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
	}
	var bad *CorruptError
	if err := probe.buildMap(); !errors.As(err, &bad) || !errors.Is(err, batch.ErrCRC) {
		t.Fatal(err)
	}
}

// namesFS writes down what happens to names, and which files have bytes that are not known to be on the disk.
type namesFS struct {
	disk.FS
	did      []string
	unsynced map[string]bool
}

// syncedFile is a file that says when it is synced.
type syncedFile struct {
	*disk.File
	fs   *namesFS
	name string
}

func (f *syncedFile) WriteAt(b []byte, off int64) (int, error) {
	f.fs.unsynced[f.name] = true
	return f.File.WriteAt(b, off)
}

func (f *syncedFile) Truncate(n int64) error {
	f.fs.unsynced[f.name] = true
	return f.File.Truncate(n)
}

func (f *syncedFile) Sync() error {
	delete(f.fs.unsynced, f.name)
	return f.File.Sync()
}

func (f *namesFS) OpenFile(path string, flag int, perm fs.FileMode) (*disk.File, error) {
	file, err := f.FS.OpenFile(path, flag, perm)
	if err != nil || flag&os.O_CREATE == 0 {
		return file, err
	}
	name := filepath.Base(path)
	f.unsynced[name] = true
	return disk.NewVirtual(&syncedFile{file, f, name}, path), nil
}

func (f *namesFS) Rename(a, b string) error {
	err := f.FS.Rename(a, b)
	if err == nil {
		if f.unsynced[filepath.Base(a)] {
			f.did = append(f.did, "unsynced "+a)
		}
		f.did = append(f.did, filepath.Base(a)+" "+strings.TrimPrefix(filepath.Base(b), filepath.Base(a)))
	}
	return err
}

func (f *namesFS) SyncDir(p string) error {
	f.did = append(f.did, "sync")
	return f.FS.SyncDir(p)
}

// The swap's steps are made for all segments, each set of them durable before the next: whole files, whole logs by name, then no old ones, then
// the names.
func TestSwapSyncsOncePerStep(t *testing.T) {
	w, l := compacting(t)
	o := l.Options()
	o.SegmentBytes = 3000
	l.SetOptions(o)
	for i := range 90 {
		bd := batch.NewBuilder(batch.None)
		bd.Add(w.clk.WallMs(), fmt.Appendf(nil, "k%d", i%40), fmt.Appendf(nil, "%0100d", i))
		w.produce(l, bd.Bytes())
	}
	closed := len(l.segments) - 1
	names := &namesFS{FS: l.fs, unsynced: map[string]bool{}}
	l.fs = names
	w.compact(l)
	if l.compaction.Runs != 1 || closed < 4 {
		t.Fatal(l.compaction, closed)
	}
	phase, revealed, aside := 0, 0, 0
	for _, d := range names.did {
		from, _, _ := strings.Cut(d, " ")
		due := 1
		switch {
		case from == "unsynced":
			t.Error(d)
			continue
		case d == "sync":
			phase++
			continue
		case strings.HasSuffix(from, sufLog+sufSwap):
			due, revealed = 2, revealed+1
		case strings.HasSuffix(from, sufCleaned):
			due = 0
		case strings.HasSuffix(from, sufLog):
			aside++
		}
		if phase != due {
			t.Errorf("%q behind %d syncs, want %d", d, phase, due)
		}
	}
	if phase != 3 || revealed < 3 || aside != closed {
		t.Errorf("%d syncs, %d logs have their names, %d of %d old ones are aside:\n%s", phase, revealed, aside, closed, strings.Join(names.did, "\n"))
	}
}

// A batch whose records are gone stays as long as its producer's sequence goes on from it, and not longer.
func TestEmptyBatchGoesWithItsProducersNext(t *testing.T) {
	w, l := compacting(t)
	put := func(seq int32, key string) {
		bd := batch.NewBuilder(batch.None)
		bd.ProducerID, bd.ProducerEpoch, bd.BaseSequence = 9, 0, seq
		bd.Add(w.clk.WallMs(), []byte(key), []byte("v"))
		w.produce(l, bd.Bytes())
	}
	rest := func() {
		for i := range 30 {
			w.produce(l, single(fmt.Sprint("k", i%3)))
		}
	}
	empties := func() (n int) {
		for b := w.read(l, l.Start(), 1<<20, l.End()); len(b) > 0; {
			e, err := batch.ParseEntry(b)
			if err != nil {
				t.Fatal(err)
			}
			if b = b[e.Size:]; e.Count == 0 && e.ProducerID == 9 {
				n++
			}
		}
		return n
	}
	put(0, "k0")
	rest()
	w.compact(l)
	rest()
	w.compact(l)
	if n := empties(); n != 1 {
		t.Fatalf("%d empty batches while the producer's sequence goes on from it", n)
	}
	put(1, "other")
	rest()
	w.compact(l)
	if n := empties(); n != 0 {
		t.Fatalf("%d empty batches behind the producer's next one", n)
	}
}
