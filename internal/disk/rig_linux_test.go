package disk

import (
	"bytes"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/pelton-broker/pelton/internal/uring"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend is one way to open a Disk; the behaviour suite runs over all of them.
type backend struct {
	name string
	o    Options
}

func backends() []backend {
	return append([]backend{
		{"uring", Options{Backend: "uring"}},
		{"uring-smallest", Options{Backend: "uring", Entries: 2}},
		{"uring-sqpoll", Options{Backend: "uring", SQPoll: true}},
		{"uring-not-deferred", Options{Backend: "uring", NoDeferTaskrun: true}},
		{"portable", Options{Backend: "portable"}},
		{"portable-one-worker", Options{Backend: "portable", Workers: 1}},
		{"auto", Options{Backend: "auto"}},
		{"auto-without-ring", Options{Backend: "auto", OpenRing: refuse(unix.EPERM)}},
	}, moreBackends()...)
}

// refuse stands for a kernel, or a filter in front of it, that gives no ring.
func refuse(errno error) func(uring.Options) (uring.Ring, uring.Probe, error) {
	return func(uring.Options) (uring.Ring, uring.Probe, error) {
		return nil, uring.Probe{}, &os.SyscallError{Syscall: "io_uring_setup", Err: errno}
	}
}

// rig is a Disk on a locked thread.
type rig struct {
	t    testing.TB
	d    Disk
	got  []*Op
	poll [1]unix.PollFd
}

func newRig(t testing.TB, o Options) *rig {
	t.Helper()
	runtime.LockOSThread()
	d, probe, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Backend == "uring" && o.OpenRing == nil && d.Backend() != "uring" {
		d.Close()
		runtime.UnlockOSThread()
		t.Skipf("no ring here: %v", probe)
	}
	r := &rig{t: t, d: d}
	r.poll[0] = unix.PollFd{Fd: int32(d.WakeFD()), Events: unix.POLLIN}
	t.Cleanup(func() {
		d.Close()
		runtime.UnlockOSThread()
	})
	return r
}

// run submits ops and returns them all in order of completion, sleeping on WakeFD as a loop does.
func (r *rig) run(ops ...*Op) []*Op {
	r.t.Helper()
	for _, op := range ops {
		r.d.Submit(op)
	}
	r.got = r.got[:0]
	r.drain(len(ops))
	return r.got
}

// drain does turns until n ops have come.
func (r *rig) drain(n int) {
	r.t.Helper()
	for {
		r.got = r.d.Reap(r.got)
		if len(r.got) >= n {
			return
		}
		r.d.Flush()
		r.sleep()
	}
}

// sleep waits on WakeFD. A completion without a wake-up would hang a loop for ever; here it fails.
func (r *rig) sleep() {
	r.t.Helper()
	for {
		n, err := unix.Poll(r.poll[:], 20_000)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			r.t.Fatalf("no wake-up with %d in flight (%v)", r.d.InFlight(), err)
		}
		r.d.ResetWake()
		return
	}
}

func open(t testing.TB, dir string) *File {
	t.Helper()
	f, err := OS().OpenFile(filepath.Join(dir, "file"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func randomBytes(n int, seed int64) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(seed)).Read(b)
	return b
}

func contents(t testing.TB, f *File) []byte {
	t.Helper()
	b, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wantContents(t testing.TB, f *File, want []byte) {
	t.Helper()
	if got := contents(t, f); !bytes.Equal(got, want) {
		at := 0
		for at < len(got) && at < len(want) && got[at] == want[at] {
			at++
		}
		t.Fatalf("file has %d bytes, want %d; first difference at %d", len(got), len(want), at)
	}
}
