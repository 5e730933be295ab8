package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pelton-broker/pelton/internal/uring/mounts"
)

// TestDiskBehaviour is the suite that every backend passes on every file system.
func TestDiskBehaviour(t *testing.T) {
	for _, m := range mounts.All() {
		t.Run(m.Name, func(t *testing.T) {
			dir := m.Open(t)
			for _, b := range backends() {
				t.Run(b.name, func(t *testing.T) { behaviour(t, dir, b.o) })
			}
		})
	}
}

func behaviour(t *testing.T, dir string, o Options) {
	for name, test := range map[string]func(*testing.T, *rig, *File){
		"write": writesWhole, "write-durable": writesDurable, "write-vector": writesVector, "write-many-pieces": writesManyPieces,
		"write-empty": writesEmpty, "read": reads, "sync": syncs, "sync-fails": reportsFailedSync, "nop": nops, "read-ahead": readsAhead, "errors": reportsErrors,
		"many-in-flight": manyInFlight, "reuse": reuses, "close-in-flight": func(t *testing.T, _ *rig, f *File) { closesInFlight(t, o, f) },
		"read-now": readsNow,
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t, dir)
			r := newRig(t, o)
			test(t, r, f)
			if n := r.d.InFlight(); n != 0 {
				t.Fatalf("%d in flight at the end", n)
			}
		})
	}
}

func mustDo(t *testing.T, op *Op, n int) {
	t.Helper()
	if op.Err != nil || op.N != n {
		t.Fatalf("%v: n %d, err %v; want %d", op.Kind, op.N, op.Err, n)
	}
}

func writesWhole(t *testing.T, r *rig, f *File) {
	var want []byte
	for i, n := range []int{1, 4096, 100_000, 3 << 20} {
		b := randomBytes(n, int64(i))
		op := &Op{Kind: Write, File: f, Bufs: [][]byte{b}, Off: int64(len(want)), Owner: t}
		if got := r.run(op); got[0] != op || op.Owner != any(t) {
			t.Fatal("another op came back")
		}
		mustDo(t, op, n)
		want = append(want, b...)
	}
	wantContents(t, f, want)
}

func writesDurable(t *testing.T, r *rig, f *File) {
	b := randomBytes(70_000, 1)
	op := &Op{Kind: Write, File: f, Bufs: [][]byte{b[:1], b[1:50_000], b[50_000:]}, Durable: true}
	r.run(op)
	mustDo(t, op, len(b))
	wantContents(t, f, b)
}

func writesVector(t *testing.T, r *rig, f *File) {
	b := randomBytes(5000, 2)
	op := &Op{Kind: Write, File: f, Bufs: [][]byte{nil, b[:7], {}, b[7:4000], b[4000:], nil}, Off: 3}
	r.run(op)
	mustDo(t, op, len(b))
	wantContents(t, f, append(make([]byte, 3), b...))
}

// writesManyPieces passes IOV_MAX, so that one operation takes several calls and the fdatasync belongs to the last.
func writesManyPieces(t *testing.T, r *rig, f *File) {
	b := randomBytes(2500*3, 3)
	for _, durable := range []bool{false, true} {
		op := &Op{Kind: Write, File: f, Durable: durable}
		for i := 0; i < len(b); i += 3 {
			op.Bufs = append(op.Bufs, b[i:i+3])
		}
		r.run(op)
		mustDo(t, op, len(b))
		wantContents(t, f, b)
	}
}

func writesEmpty(t *testing.T, r *rig, f *File) {
	for _, durable := range []bool{false, true} {
		op := &Op{Kind: Write, File: f, Durable: durable}
		r.run(op)
		mustDo(t, op, 0)
	}
	wantContents(t, f, nil)
}

func reads(t *testing.T, r *rig, f *File) {
	b := randomBytes(10_000, 4)
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ off, n, want int }{{0, 10_000, 10_000}, {5, 100, 100}, {9_000, 5_000, 1_000}, {10_000, 10, 0}, {0, 0, 0}} {
		into := make([]byte, c.n)
		op := &Op{Kind: Read, File: f, Bufs: [][]byte{into}, Off: int64(c.off)}
		r.run(op)
		mustDo(t, op, c.want)
		if !bytes.Equal(into[:c.want], b[c.off:c.off+c.want]) {
			t.Fatalf("wrong bytes at %d", c.off)
		}
	}
}

func syncs(t *testing.T, r *rig, f *File) {
	op := &Op{Kind: Sync, File: f}
	r.run(op)
	mustDo(t, op, 0)
}

// reportsFailedSync uses the null device, which takes every write and cannot sync: who skips the fdatasync does not notice.
func reportsFailedSync(t *testing.T, r *rig, _ *File) {
	null, err := OS().OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []*Op{
		{Kind: Sync, File: null},
		{Kind: Write, File: null, Bufs: [][]byte{[]byte("hello")}, Durable: true},
		{Kind: Write, File: null, Bufs: [][]byte{[]byte("hel"), []byte("lo")}, Durable: true},
	} {
		r.run(op)
		var as *Error
		if !errors.As(op.Err, &as) || as.Op != "fdatasync" || !errors.Is(op.Err, syscall.EINVAL) {
			t.Errorf("%v of %d pieces: n %d, err %v", op.Kind, len(op.Bufs), op.N, op.Err)
		}
	}
	op := &Op{Kind: Write, File: null, Bufs: [][]byte{[]byte("hello")}}
	r.run(op)
	mustDo(t, op, 5)
	if err := null.Close(); err != nil {
		t.Fatal(err)
	}
}

func nops(t *testing.T, r *rig, _ *File) {
	op := &Op{Kind: Nop}
	r.run(op)
	mustDo(t, op, 0)
}

func readsAhead(t *testing.T, r *rig, f *File) {
	const size = 3<<20 + 100
	if _, err := f.WriteAt(randomBytes(size, 5), 0); err != nil {
		t.Fatal(err)
	}
	evict(t, f)
	op := &Op{Kind: ReadAhead, File: f, Off: 4096, ReadLen: 2 << 20}
	r.d.Submit(op)
	r.d.Flush()
	if r.d.Cached(f, 4096, 2<<20) {
		t.Fatal("a range counts as cached before its ReadAhead was reaped")
	}
	r.got = r.got[:0]
	r.drain(1)
	mustDo(t, op, 2<<20)
	if !r.d.Cached(f, 4096, 2<<20) {
		t.Fatal("range is not cached after its ReadAhead")
	}
	tail := &Op{Kind: ReadAhead, File: f, Off: size - 50, ReadLen: 4096}
	r.run(tail)
	mustDo(t, tail, 50)
	if !r.d.Cached(f, size-50, 4096) {
		t.Fatal("a range that passes the end of the file never counts as cached")
	}
	for _, empty := range []*Op{{Kind: ReadAhead, File: f, Off: size, ReadLen: 10}, {Kind: ReadAhead, File: f}} {
		r.run(empty)
		mustDo(t, empty, 0)
	}
}

// evict throws a file out of the page cache, where the file system has anything below it.
func evict(t *testing.T, f *File) {
	t.Helper()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := f.DropCache(0, 0); err != nil {
		t.Fatal(err)
	}
}

func readsNow(t *testing.T, r *rig, f *File) {
	b := randomBytes(300_000, 6)
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	into := make([]byte, 1000)
	if n, err := r.d.ReadNow(f, into, 500); n != 1000 || err != nil || !bytes.Equal(into, b[500:1500]) {
		t.Fatalf("cached bytes: %d, %v", n, err)
	}
	if n, err := r.d.ReadNow(f, into, int64(len(b)-10)); n != 10 || err != io.EOF || !bytes.Equal(into[:10], b[len(b)-10:]) {
		t.Fatalf("at the end: %d, %v", n, err)
	}
	if !r.d.Cached(f, 0, int64(len(b))) || !r.d.Cached(f, 7, 0) {
		t.Fatal("what was just written is not cached")
	}
	evict(t, f)
	if r.d.Cached(f, 100_000, 1000) {
		t.Logf("file system keeps its pages: no cold case here")
		return
	}
	// The attempt starts a read of its own, and a quick device may be done with it before the kernel looks again.
	if n, err := r.d.ReadNow(f, into, 100_000); err != nil && (n != 0 || !errors.Is(err, ErrWouldBlock)) {
		t.Fatalf("evicted bytes: %d, %v", n, err)
	}
	op := &Op{Kind: ReadAhead, File: f, Off: 100_000, ReadLen: 1000}
	r.run(op)
	if n, err := r.d.ReadNow(f, into, 100_000); n != 1000 || err != nil || !bytes.Equal(into, b[100_000:101_000]) {
		t.Fatalf("after ReadAhead: %d, %v", n, err)
	}
}

func reportsErrors(t *testing.T, r *rig, f *File) {
	if err := os.WriteFile(f.Path(), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ro, err := OS().OpenFile(f.Path(), os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, durable := range []bool{false, true} {
		op := &Op{Kind: Write, File: ro, Bufs: [][]byte{[]byte("hello")}, Durable: durable}
		r.run(op)
		var as *Error
		if !errors.As(op.Err, &as) || as.Op != "write" || as.Path != ro.Path() || !errors.Is(op.Err, syscall.EBADF) || op.N != 0 {
			t.Fatalf("write to a read-only file: n %d, err %v", op.N, op.Err)
		}
	}
	wo, err := OS().OpenFile(f.Path(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	op := &Op{Kind: Read, File: wo, Bufs: [][]byte{make([]byte, 1)}}
	r.run(op)
	if !errors.Is(op.Err, syscall.EBADF) {
		t.Fatalf("read of a write-only file: %v", op.Err)
	}
	if err := errors.Join(ro.Close(), wo.Close()); err != nil {
		t.Fatal(err)
	}
	if err := ro.Close(); !errors.Is(err, ErrClosed) {
		t.Fatalf("second close: %v", err)
	}
}

// manyInFlight submits far more than the smallest ring holds, over several files, half of it durable: every op comes back once.
// regression: C-67, completions lost when more was in flight than the completion queue holds.
func manyInFlight(t *testing.T, r *rig, f *File) {
	const files, perFile, size = 8, 60, 700
	want := map[*File][]byte{}
	var fs []*File
	for i := range files {
		g, err := OS().OpenFile(fmt.Sprintf("%s-%d", f.Path(), i), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		fs = append(fs, g)
		want[g] = randomBytes(perFile*size, int64(i))
	}
	waiting := map[*Op]bool{}
	for i := range perFile {
		for j, g := range fs {
			op := &Op{Kind: Write, File: g, Bufs: [][]byte{want[g][i*size : (i+1)*size]}, Off: int64(i * size), Durable: i%10 == 0 && j%4 == 0}
			waiting[op] = true
			r.d.Submit(op)
		}
		if i%7 == 0 {
			r.d.Flush()
		}
	}
	if n := r.d.InFlight(); n != files*perFile {
		t.Fatalf("%d in flight, want %d", n, files*perFile)
	}
	r.got = r.got[:0]
	r.drain(files * perFile)
	for _, op := range r.got {
		if !waiting[op] {
			t.Fatal("an op came back twice")
		}
		delete(waiting, op)
		mustDo(t, op, size)
	}
	for _, g := range fs {
		wantContents(t, g, want[g])
	}
	if s := r.d.Stats(); s.Overflows != 0 || s.Submitted != s.Completed {
		t.Fatalf("stats %+v", s)
	}
}

// reuses runs one Op through every kind in random order, checking that nothing of its last use shows.
func reuses(t *testing.T, r *rig, f *File) {
	rnd := rand.New(rand.NewSource(1))
	var model []byte
	op := &Op{}
	for i := range 120 {
		op.Kind, op.File, op.Durable, op.Off = Kind(rnd.Intn(5)), f, rnd.Intn(4) == 0, 0
		switch op.Kind {
		case Write:
			b := randomBytes(1+rnd.Intn(3000), int64(i))
			cut := rnd.Intn(len(b))
			op.Bufs, op.Off = append(op.Bufs[:0], b[:cut], b[cut:]), int64(len(model))
			if rnd.Intn(2) == 0 {
				op.Bufs = append(op.Bufs[:0], b)
			}
			r.run(op)
			mustDo(t, op, len(b))
			model = append(model, b...)
		case Read:
			into := make([]byte, len(model))
			op.Bufs = append(op.Bufs[:0], into)
			r.run(op)
			mustDo(t, op, len(model))
			if !bytes.Equal(into, model) {
				t.Fatalf("step %d: read differs", i)
			}
		case ReadAhead:
			op.ReadLen = len(model)
			r.run(op)
			mustDo(t, op, len(model))
		default:
			r.run(op)
			mustDo(t, op, 0)
		}
	}
	wantContents(t, f, model)
}

// closesInFlight closes with work in every stage: all of it must have reached the file.
func closesInFlight(t *testing.T, o Options, f *File) {
	d, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	b := randomBytes(40*5000, 7)
	for i := range 40 {
		d.Submit(&Op{Kind: Write, File: f, Bufs: [][]byte{b[i*5000 : (i+1)*5000]}, Off: int64(i * 5000), Durable: i%3 == 0})
		if i == 20 {
			d.Flush()
		}
	}
	d.Close()
	wantContents(t, f, b)
	f.busy = false
}

// TestRingLosesNoWakeUp alternates entries that complete while they are submitted with such that a kernel worker completes, one at a time, each
// awaited on WakeFD. The rig fails when a wake-up does not come.
func TestRingLosesNoWakeUp(t *testing.T) {
	f := open(t, t.TempDir())
	r := newRig(t, Options{Backend: "uring"})
	b := make([]byte, 3000)
	op := &Op{File: f}
	rnd := rand.New(rand.NewSource(2))
	for i := range 20_000 {
		op.Kind, op.Bufs, op.Off, op.ReadLen = Kind(rnd.Intn(5)), [][]byte{b[:1+rnd.Intn(len(b))]}, int64(i%50*len(b)), 1+rnd.Intn(50*len(b))
		op.Durable = rnd.Intn(30) == 0
		if op.Kind == Sync && rnd.Intn(20) != 0 {
			continue
		}
		r.run(op)
		if op.Err != nil {
			t.Fatal(op.Err)
		}
	}
}

func TestDiskRunsOutOfSpace(t *testing.T) {
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			f := open(t, mounts.SmallTmpfs(t, 1<<20))
			r := newRig(t, b.o)
			op := &Op{Kind: Write, File: f, Bufs: [][]byte{make([]byte, 700<<10), make([]byte, 700<<10)}, Durable: true}
			r.run(op)
			if !errors.Is(op.Err, syscall.ENOSPC) || op.N == 0 || op.N > 1<<20 {
				t.Fatalf("n %d, err %v; want ENOSPC after what fitted", op.N, op.Err)
			}
			small := &Op{Kind: Write, File: f, Bufs: [][]byte{make([]byte, 10_000)}, Off: 1 << 20}
			r.run(small)
			if !errors.Is(small.Err, syscall.ENOSPC) {
				t.Fatalf("small append: %v", small.Err)
			}
			if err := f.Truncate(0); err != nil {
				t.Fatal(err)
			}
			small.Off = 0
			r.run(small)
			mustDo(t, small, 10_000)
		})
	}
}

// TestDiskContinuesShortWrites uses the file size limit of the process, which makes the kernel write short and then fail.
func TestDiskContinuesShortWrites(t *testing.T) {
	const limit = 100_000
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			limitFileSize(t, limit)
			f := open(t, t.TempDir())
			r := newRig(t, b.o)
			for _, durable := range []bool{false, true} {
				op := &Op{Kind: Write, File: f, Bufs: [][]byte{make([]byte, 60_000), make([]byte, 60_000)}, Durable: durable}
				r.run(op)
				if !errors.Is(op.Err, syscall.EFBIG) || op.N != limit {
					t.Fatalf("durable %v: n %d, err %v; want %d and EFBIG", durable, op.N, op.Err, limit)
				}
			}
			if s := r.d.Stats(); b.name == "uring" && s.Continued != 2 {
				t.Fatalf("%d continued, want 2", s.Continued)
			}
		})
	}
}

func limitFileSize(t *testing.T, n uint64) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	now := old
	now.Cur = n
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDiskSteadyStateAllocatesNothing(t *testing.T) {
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			dir := t.TempDir()
			r := newRig(t, b.o)
			var ops []*Op
			for i := range 4 {
				f, err := OS().OpenFile(filepath.Join(dir, fmt.Sprint(i)), os.O_RDWR|os.O_CREATE, 0o600)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				small, big := make([]byte, 100), make([]byte, 90<<10)
				ops = append(ops, &Op{Kind: Write, File: f, Bufs: [][]byte{small}},
					&Op{Kind: Write, File: f, Bufs: [][]byte{small, small, small}},
					&Op{Kind: Write, File: f, Bufs: [][]byte{big, small}, Durable: i == 0},
					&Op{Kind: Read, File: f, Bufs: [][]byte{small}},
					&Op{Kind: ReadAhead, File: f, ReadLen: 150_000})
			}
			round := func() {
				r.run(ops...)
				for _, op := range r.got {
					if op.Err != nil {
						t.Fatal(op.Err)
					}
				}
				r.d.Cached(ops[0].File, 0, 1000)
				_, _ = r.d.ReadNow(ops[0].File, ops[0].Bufs[0], 0)
			}
			for range 5 {
				round()
			}
			if n := testing.AllocsPerRun(50, round); n != 0 {
				t.Fatalf("%v allocations per round of %d operations", n, len(ops))
			}
		})
	}
}
