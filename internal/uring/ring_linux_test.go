package uring

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pelton-broker/pelton/internal/uring/mounts"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opener is one implementation of Ring; the file with the build tag giouring adds the second.
type opener struct {
	name string
	open func(Options) (Ring, Probe, error)
}

func openers() []opener { return append([]opener{{"kernel", Open}}, moreOpeners()...) }

// rig is a ring on a locked thread.
type rig struct {
	testing.TB
	Ring
}

func newRig(t testing.TB, open func(Options) (Ring, Probe, error), o Options) *rig {
	t.Helper()
	runtime.LockOSThread()
	r, probe, err := open(o)
	if errors.Is(err, ErrUnavailable) {
		runtime.UnlockOSThread()
		t.Skipf("no ring here: %v (%v)", err, probe.Reasons)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	})
	return &rig{TB: t, Ring: r}
}

// do pushes entries, tags them 1, 2, …, and returns their results in that order.
func (r *rig) do(entries ...Entry) []int32 {
	r.Helper()
	for i, e := range entries {
		if !r.Push(e.With(uint64(i + 1))) {
			r.Fatalf("entry %d of %d was refused", i, len(entries))
		}
	}
	out := make([]int32, len(entries))
	seen := make([]bool, len(entries))
	var buf [4]Completion
	for got := 0; got < len(entries); {
		if err := r.Wait(1); err != nil {
			r.Fatal(err)
		}
		n := r.Reap(buf[:])
		for _, c := range buf[:n] {
			if c.User < 1 || int(c.User) > len(entries) || seen[c.User-1] {
				r.Fatalf("completion %+v is nobody's, or came twice", c)
			}
			seen[c.User-1] = true
			out[c.User-1] = c.Res
		}
		got += n
	}
	if r.InFlight() != 0 {
		r.Fatalf("%d in flight after all completions", r.InFlight())
	}
	return out
}

func (r *rig) want(got []int32, want ...int32) {
	r.Helper()
	for i := range want {
		if got[i] != want[i] {
			r.Fatalf("results %d, want %d", got, want)
		}
	}
}

func tempFile(t testing.TB, dir string) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "file"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestRingOperations is the conformance suite: each operation against this kernel, on every file system and implementation.
func TestRingOperations(t *testing.T) {
	for _, m := range mounts.All() {
		t.Run(m.Name, func(t *testing.T) {
			dir := m.Open(t)
			for _, o := range openers() {
				for name, test := range map[string]func(*rig, *os.File){
					"write-read": opWriteRead, "vector": opVector, "fixed": opFixed, "fsync": opFsync, "fallocate": opFallocate,
					"sync-file-range": opSyncFileRange, "fadvise": opFadvise, "link": opLink, "hard-link": opHardLink, "drain": opDrain,
					"async": opAsync, "fixed-file": opFixedFile, "short-read": opShortRead, "errors": opErrors,
				} {
					t.Run(o.name+"/"+name, func(t *testing.T) {
						test(newRig(t, o.open, Options{Entries: 8}), tempFile(t, dir))
					})
				}
			}
		})
	}
}

func opWriteRead(r *rig, f *os.File) {
	fd := int(f.Fd())
	r.want(r.do(Write(fd, []byte("hello"), 3)), 5)
	b := make([]byte, 8)
	r.want(r.do(Read(fd, b, 0)), 8)
	if string(b) != "\x00\x00\x00hello" {
		r.Fatalf("%q", b)
	}
}

func opVector(r *rig, f *os.File) {
	fd := int(f.Fd())
	var v Vec
	for _, s := range []string{"ab", "", "cde", "f"} {
		v.Add([]byte(s))
	}
	if v.Len() != 3 || v.Bytes() != 6 {
		r.Fatalf("vector of %d pieces, %d bytes", v.Len(), v.Bytes())
	}
	r.want(r.do(Writev(fd, &v, 1)), 6)
	a, b := make([]byte, 3), make([]byte, 10)
	v.Reset()
	v.Add(a)
	v.Add(b)
	r.want(r.do(Readv(fd, &v, 0)), 7)
	if string(a)+string(b[:4]) != "\x00abcdef" {
		r.Fatalf("%q %q", a, b)
	}
}

func opFixed(r *rig, f *os.File) {
	fd := int(f.Fd())
	mem, err := unix.Mmap(-1, 0, 64<<10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	if err := r.RegisterBuffers([][]byte{mem[:4096], mem[8192:]}); err != nil {
		if err == unix.ENOMEM {
			r.Skip("locked memory is limited here")
		}
		r.Fatal(err)
	}
	copy(mem[8200:], "fixed!")
	r.want(r.do(WriteFixed(fd, mem[8200:8206], 0, 1)), 6)
	r.want(r.do(ReadFixed(fd, mem[10:16], 0, 0)), 6)
	if string(mem[10:16]) != "fixed!" {
		r.Fatalf("%q", mem[10:16])
	}
	r.want(r.do(WriteFixed(fd, mem[8200:8206], 0, 0)), -int32(syscall.EFAULT))
	if err := r.UnregisterBuffers(); err != nil {
		r.Fatal(err)
	}
}

func opFsync(r *rig, f *os.File) {
	fd := int(f.Fd())
	r.want(r.do(Write(fd, []byte("x"), 0).Flagged(Link), DataSync(fd).Flagged(Link), Fsync(fd)), 1, 0, 0)
}

func opFallocate(r *rig, f *os.File) {
	fd := int(f.Fd())
	r.want(r.do(Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, 1<<20)), 0)
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		r.Fatalf("keep-size changed the size: %v", info.Size())
	}
	r.want(r.do(Fallocate(fd, 0, 100, 900)), 0)
	if info, err := f.Stat(); err != nil || info.Size() != 1000 {
		r.Fatalf("size %d, want 1000", info.Size())
	}
}

func opSyncFileRange(r *rig, f *os.File) {
	fd := int(f.Fd())
	r.want(r.do(Write(fd, make([]byte, 10_000), 0)), 10_000)
	r.want(r.do(SyncFileRange(fd, 0, 8192, unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)), 0)
	r.want(r.do(SyncFileRange(fd, 0, 8192, 1<<20)), -int32(syscall.EINVAL))
}

func opFadvise(r *rig, f *os.File) {
	fd := int(f.Fd())
	r.want(r.do(Fadvise(fd, 0, 0, unix.FADV_WILLNEED), Fadvise(fd, 0, 4096, unix.FADV_RANDOM)), 0, 0)
	r.want(r.do(Fadvise(fd, 0, 0, 99)), -int32(syscall.EINVAL))
}

// opLink breaks a chain by a short read: what follows must not run.
func opLink(r *rig, f *os.File) {
	fd := int(f.Fd())
	if err := f.Truncate(0); err != nil {
		r.Fatal(err)
	}
	r.want(r.do(Write(fd, []byte("abc"), 0)), 3)
	got := r.do(Read(fd, make([]byte, 10), 0).Flagged(Link), Write(fd, []byte("zzz"), 0).Flagged(Link), DataSync(fd))
	r.want(got, 3, -int32(syscall.ECANCELED), -int32(syscall.ECANCELED))
	b := make([]byte, 3)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "abc" {
		r.Fatalf("a cancelled write reached the file: %q", b)
	}
}

func opHardLink(r *rig, f *os.File) {
	fd := int(f.Fd())
	r.want(r.do(Read(-1, make([]byte, 1), 0).Flagged(HardLink), Write(fd, []byte("go"), 0)), -int32(syscall.EBADF), 2)
}

func opDrain(r *rig, f *os.File) {
	fd := int(f.Fd())
	b := make([]byte, 4)
	r.want(r.do(Write(fd, []byte("1234"), 0).Flagged(Async), Read(fd, b, 0).Flagged(Drain)), 4, 4)
	if string(b) != "1234" {
		r.Fatalf("a drained read overtook the write: %q", b)
	}
}

func opAsync(r *rig, f *os.File) {
	fd := int(f.Fd())
	if err := r.SetWorkers(2, 2); err != nil {
		r.Fatal(err)
	}
	if err := r.SetWorkerCPUs([]int{0}); err != nil {
		r.Fatal(err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	var entries []Entry
	for i := range 8 {
		entries = append(entries, Write(fd, big, int64(i*len(big))).Flagged(Async))
	}
	for _, n := range r.do(entries...) {
		if int(n) != len(big) {
			r.Fatalf("wrote %d of %d", n, len(big))
		}
	}
}

func opFixedFile(r *rig, f *os.File) {
	fd := int32(f.Fd())
	if err := r.RegisterFiles([]int32{-1, fd, -1}); err != nil {
		r.Fatal(err)
	}
	r.want(r.do(Write(1, []byte("one"), 0).Flagged(FixedFile), Write(0, []byte("no"), 0).Flagged(FixedFile)), 3, -int32(syscall.EBADF))
	if err := r.UpdateFiles(0, []int32{fd, -1}); err != nil {
		r.Fatal(err)
	}
	r.want(r.do(Write(0, []byte("two"), 0).Flagged(FixedFile), Write(1, []byte("no"), 0).Flagged(FixedFile)), 3, -int32(syscall.EBADF))
	if err := r.UnregisterFiles(); err != nil {
		r.Fatal(err)
	}
	b := make([]byte, 3)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "two" {
		r.Fatalf("%q", b)
	}
}

func opShortRead(r *rig, f *os.File) {
	fd := int(f.Fd())
	r.want(r.do(Write(fd, []byte("abc"), 0)), 3)
	r.want(r.do(Read(fd, make([]byte, 100), 1), Read(fd, make([]byte, 100), 3)), 2, 0)
}

func opErrors(r *rig, f *os.File) {
	ro, err := os.Open(f.Name())
	if err != nil {
		r.Fatal(err)
	}
	defer ro.Close()
	r.want(r.do(Write(int(ro.Fd()), []byte("x"), 0), Read(-1, make([]byte, 1), 0)), -int32(syscall.EBADF), -int32(syscall.EBADF))
}

func TestRingTimersAndPolls(t *testing.T) {
	for _, o := range openers() {
		t.Run(o.name, func(t *testing.T) {
			r := newRig(t, o.open, Options{Entries: 8})
			r.want(r.do(Nop()), 0)
			soon, never := &Timespec{Nsec: 1000}, &Timespec{Sec: 3600}
			r.want(r.do(Timeout(soon, 0)), -int32(syscall.ETIME))
			r.want(r.do(Timeout(never, 1), Nop()), 0, 0)
			r.want(r.do(Timeout(never, 0), TimeoutRemove(1)), -int32(syscall.ECANCELED), 0)
			fds := make([]int, 2)
			if err := unix.Pipe2(fds, unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) }()
			r.want(r.do(PollAdd(fds[0], unix.POLLIN), PollRemove(1)), -int32(syscall.ECANCELED), 0)
			r.want(r.do(PollAdd(fds[0], unix.POLLIN), Cancel(1)), -int32(syscall.ECANCELED), 0)
			r.want(r.do(PollAdd(fds[0], unix.POLLIN).Flagged(Link), LinkTimeout(soon)), -int32(syscall.ECANCELED), -int32(syscall.ETIME))
			r.want(r.do(Cancel(77)), -int32(syscall.ENOENT))
			if _, err := unix.Write(fds[1], []byte("x")); err != nil {
				t.Fatal(err)
			}
			r.want(r.do(PollAdd(fds[0], unix.POLLIN)), unix.POLLIN)
		})
	}
}

func TestRingEventFD(t *testing.T) {
	for _, o := range openers() {
		t.Run(o.name, func(t *testing.T) {
			r := newRig(t, o.open, Options{Entries: 8})
			fd, err := NewEventFD()
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			if err := r.RegisterEventFD(fd); err != nil {
				t.Fatal(err)
			}
			f := tempFile(t, t.TempDir())
			for range 50 {
				r.Push(Write(int(f.Fd()), []byte("x"), 0).Flagged(Async))
				if err := r.Submit(); err != nil {
					t.Fatal(err)
				}
				var c [1]Completion
				for r.Reap(c[:]) == 0 {
					p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
					if n, err := unix.Poll(p, 20_000); n == 0 && err == nil {
						t.Fatal("completion without a signal")
					}
					DrainEventFD(fd)
				}
			}
		})
	}
}

// TestRingSmallest drives far more operations than the smallest ring holds.
// regression: C-67, more work in flight than the completion queue holds.
func TestRingSmallest(t *testing.T) {
	for _, o := range openers() {
		t.Run(o.name, func(t *testing.T) {
			r := newRig(t, o.open, Options{Entries: 1})
			const total = 100_000
			var buf [3]Completion
			pushed, reaped := 0, 0
			seen := make([]bool, total)
			for reaped < total {
				for pushed < total && r.Push(Nop().With(uint64(pushed))) {
					pushed++
				}
				if pushed < total && r.Space() > 0 {
					t.Fatal("Push refused an entry though there is space")
				}
				if err := r.Submit(); err != nil && !errors.Is(err, ErrBusy) {
					t.Fatal(err)
				}
				for _, c := range buf[:r.Reap(buf[:])] {
					if seen[c.User] {
						t.Fatalf("completion %d twice", c.User)
					}
					seen[c.User] = true
					reaped++
				}
				if r.InFlight() != pushed-reaped || r.InFlight() > r.Probe().CQEntries {
					t.Fatalf("in flight %d, pushed %d, reaped %d, queue of %d", r.InFlight(), pushed, reaped, r.Probe().CQEntries)
				}
			}
			if s := r.Stats(); s.Overflows != 0 {
				t.Fatalf("the cap let the queue overflow: %+v", s)
			}
		})
	}
}

// TestRingDrainsOverflow lifts the cap, so that the kernel has to keep completions back, and still gets every one.
func TestRingDrainsOverflow(t *testing.T) {
	r := newRig(t, Open, Options{Entries: 4, CQEntries: 4})
	r.Ring.(*kernelRing).inFlightMax = 1 << 20
	const total = 64
	for i := range total {
		if !r.Push(Nop().With(uint64(i))) {
			t.Fatal("refused")
		}
		if r.Space() == 0 {
			if err := r.Submit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.Submit(); err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	var buf [3]Completion
	for len(seen) < total {
		n := r.Reap(buf[:])
		if n == 0 {
			t.Fatalf("%d of %d completions, no more to come", len(seen), total)
		}
		for _, c := range buf[:n] {
			seen[c.User] = true
		}
	}
	if r.Stats().Overflows == 0 {
		t.Fatal("the queue did not overflow: the test tests nothing")
	}
}

func TestRingCloseRefusesWhileInFlight(t *testing.T) {
	r := newRig(t, Open, Options{Entries: 8})
	r.Push(Timeout(&Timespec{Sec: 3600}, 0).With(1))
	if err := r.Submit(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); !errors.Is(err, ErrInFlight) {
		t.Fatalf("Close: %v", err)
	}
	r.Push(TimeoutRemove(1).With(2))
	var buf [2]Completion
	for got := 0; got < 2; {
		if err := r.Wait(1); err != nil {
			t.Fatal(err)
		}
		got += r.Reap(buf[:])
	}
}

// TestRingAllowList writes a forbidden operation into the mapped queue, behind Push's back: the kernel must refuse it.
func TestRingAllowList(t *testing.T) {
	r := newRig(t, Open, Options{Entries: 8})
	k := r.Ring.(*kernelRing)
	if !r.Probe().Restricted {
		t.Skipf("the kernel takes no restrictions: %v", r.Probe().Reasons)
	}
	const openat = 18
	r.Push(Nop().With(9))
	(*sqe)(k.sqes).opcode = openat
	if err := r.Wait(1); err != nil {
		t.Fatal(err)
	}
	var c [1]Completion
	if n := r.Reap(c[:]); n != 1 || c[0].Res != -int32(syscall.EACCES) {
		t.Fatalf("completion %+v of a forbidden operation", c[0])
	}
	for _, bad := range []Entry{{Code: openat}, {Code: 200}, {Code: CodeNop, Flags: 1 << 6}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Push took %+v", bad)
				}
			}()
			r.Push(bad)
		}()
	}
}

func TestSetupStepsDown(t *testing.T) {
	// A kernel of 5.10: it knows nothing of the later flags.
	old := func(entries uint32, p *params) (int, error) {
		if p.flags&^(setupCQSize|setupClamp|setupRDisabled|setupSQPoll) != 0 {
			return -1, syscall.EINVAL
		}
		return kernelSetup(entries, p)
	}
	r := newRig(t, func(o Options) (Ring, Probe, error) {
		k, probe, err := open(o, old)
		if err != nil {
			return nil, probe, err
		}
		return k, probe, nil
	}, Options{Entries: 8})
	p := r.Probe()
	if p.SingleIssuer || p.DeferTaskrun || p.CoopTaskrun || p.NoSQArray || len(p.Reasons) != 4 || !strings.Contains(p.Reasons[0], "6.6") {
		t.Fatalf("probe %+v", p)
	}
	f := tempFile(t, t.TempDir())
	opFsync(r, f)
	opLink(r, f)
	opAsync(r, f)
}

func TestSetupEveryStep(t *testing.T) {
	for _, o := range []Options{{Entries: 8}, {Entries: 8, SQPoll: true, SQPollIdleMs: 1}} {
		for _, s := range ladder(o) {
			t.Run(s.name, func(t *testing.T) {
				only := func(entries uint32, p *params) (int, error) {
					if p.flags != s.flags {
						return -1, syscall.EINVAL
					}
					return kernelSetup(entries, p)
				}
				r := newRig(t, func(o Options) (Ring, Probe, error) {
					k, probe, err := open(o, only)
					if err != nil {
						return nil, probe, err
					}
					return k, probe, nil
				}, o)
				f := tempFile(t, t.TempDir())
				opWriteRead(r, f)
				opFsync(r, f)
				opLink(r, f)
			})
		}
	}
}

func TestSetupRefusals(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EPERM, syscall.ENOSYS, syscall.EINVAL, syscall.EMFILE, syscall.ENOMEM} {
		calls := 0
		_, probe, err := open(Options{Entries: 512}, func(uint32, *params) (int, error) { calls++; return -1, errno })
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, errno) || probe.Granted {
			t.Errorf("%v: %v, %+v", errno, err, probe)
		}
		if errno == syscall.EPERM && calls != 1 {
			t.Errorf("EPERM was asked %d times", calls)
		}
	}
	var sizes []uint32
	_, probe, err := open(Options{Entries: 512}, func(n uint32, _ *params) (int, error) {
		sizes = append(sizes, n)
		if n > 128 {
			return -1, syscall.ENOMEM
		}
		return -1, syscall.EPERM
	})
	if err == nil || len(sizes) != 3 || len(probe.Reasons) != 2 {
		t.Errorf("sizes %d, reasons %q, %v", sizes, probe.Reasons, err)
	}
}

func TestRingSubmitIsOneEnter(t *testing.T) {
	r := newRig(t, Open, Options{Entries: 64})
	before := r.Stats().Enters
	for range 64 {
		r.Push(Nop())
	}
	if err := r.Submit(); err != nil {
		t.Fatal(err)
	}
	buf := make([]Completion, 100)
	if n := r.Reap(buf); n != 64 || r.Stats().Enters != before+1 {
		t.Fatalf("%d completions in %d enters", n, r.Stats().Enters-before)
	}
	if err := r.Submit(); err != nil || r.Stats().Enters != before+1 {
		t.Fatal("a Submit of nothing entered the kernel")
	}
}

func TestRingSteadyStateAllocatesNothing(t *testing.T) {
	for _, o := range openers() {
		t.Run(o.name, func(t *testing.T) {
			r := newRig(t, o.open, Options{Entries: 8})
			f := tempFile(t, t.TempDir())
			fd, b, buf := int(f.Fd()), make([]byte, 100), make([]Completion, 8)
			v := &Vec{}
			round := func() {
				v.Reset()
				v.Add(b)
				v.Add(b)
				r.Push(Write(fd, b, 0).Flagged(Link))
				r.Push(DataSync(-1))
				r.Push(Writev(fd, v, 0))
				for got := 0; got < 3; {
					if err := r.Wait(1); err != nil {
						t.Fatal(err)
					}
					got += r.Reap(buf)
				}
			}
			round()
			if n := testing.AllocsPerRun(100, round); n != 0 {
				t.Fatalf("%v allocations", n)
			}
		})
	}
}
