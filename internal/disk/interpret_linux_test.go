package disk

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/pelton-broker/pelton/internal/uring"
	"pgregory.net/rapid"
)

// fakeRing answers entries from a script of results, in order of submission; it records what it was asked.
type fakeRing struct {
	uring.Ring // calls that no test needs
	entries    int
	queued     []uring.Entry
	asked      []uring.Entry
	out        []uring.Completion
	script     func(e uring.Entry) int32
	busy       int // Submits to refuse
	enters     uint64
}

func (r *fakeRing) Probe() uring.Probe {
	return uring.Probe{Granted: true, Impl: "fake", Entries: r.entries, CQEntries: 2 * r.entries, Ops: ^uint64(0)}
}

func (r *fakeRing) Space() int {
	return min(r.entries-len(r.queued), 2*r.entries-len(r.queued)-len(r.out))
}

func (r *fakeRing) Push(e uring.Entry) bool {
	if r.Space() <= 0 {
		return false
	}
	r.queued = append(r.queued, e)
	return true
}

func (r *fakeRing) Submit() error {
	if len(r.queued) == 0 {
		return nil
	}
	r.enters++
	if r.busy > 0 {
		r.busy--
		return uring.ErrBusy
	}
	broken := false
	for _, e := range r.queued {
		r.asked = append(r.asked, e)
		res := -int32(syscall.ECANCELED)
		if !broken {
			res = r.script(e)
		}
		// The kernel's rule: anything but a full result breaks the chain behind it.
		broken = e.Flags&uring.Link != 0 && (broken || res < int32(e.Len))
		r.out = append(r.out, uring.Completion{User: e.User, Res: res})
	}
	r.queued = r.queued[:0]
	return nil
}

func (r *fakeRing) Wait(int) error { return r.Submit() }

func (r *fakeRing) Reap(dst []uring.Completion) int {
	n := copy(dst, r.out)
	r.out = append(r.out[:0], r.out[n:]...)
	return n
}

func (r *fakeRing) RegisterEventFD(int) error { return nil }
func (r *fakeRing) SetWorkers(int, int) error { return nil }
func (r *fakeRing) Stats() uring.Stats        { return uring.Stats{Enters: r.enters} }
func (r *fakeRing) Close() error              { return nil }

// list plays the results one after the other; after the last everything succeeds in full.
func list(results ...int32) func(uring.Entry) int32 {
	return func(e uring.Entry) int32 {
		if len(results) == 0 {
			return int32(e.Len)
		}
		res := results[0]
		results = results[1:]
		return res
	}
}

func openFake(t *testing.T, ring *fakeRing) Disk {
	t.Helper()
	d, probe, err := Open(Options{Backend: "uring", OpenRing: func(uring.Options) (uring.Ring, uring.Probe, error) {
		return ring, ring.Probe(), nil
	}})
	if err != nil || d.Backend() != "uring" {
		t.Fatalf("%v %v", probe, err)
	}
	t.Cleanup(d.Close)
	return d
}

// turns runs an op to its end on a scripted ring.
func turns(t interface {
	Helper()
	Fatal(...any)
}, d Disk, op *Op) {
	t.Helper()
	d.Submit(op)
	var got []*Op
	for range 300 {
		d.Flush()
		if got = d.Reap(got); len(got) > 0 {
			return
		}
	}
	t.Fatal("the op never came back")
}

const (
	canceled = -int32(syscall.ECANCELED)
	again    = -int32(syscall.EAGAIN)
	intr     = -int32(syscall.EINTR)
	eio      = -int32(syscall.EIO)
	nospc    = -int32(syscall.ENOSPC)
)

func TestDiskUnderstandsCompletions(t *testing.T) {
	const size = 100
	for name, c := range map[string]struct {
		kind    Kind
		durable bool
		script  []int32
		n       int
		err     error
		call    string // that failed
		writes  int    // entries of each kind that the kernel saw
		syncs   int
	}{
		"write whole":                      {kind: Write, n: size, writes: 1},
		"write short":                      {kind: Write, script: []int32{40}, n: size, writes: 2},
		"write short thrice":               {kind: Write, script: []int32{1, 2, 3}, n: size, writes: 4},
		"write cancelled":                  {kind: Write, script: []int32{canceled}, n: size, writes: 2},
		"write interrupted":                {kind: Write, script: []int32{intr, again}, n: size, writes: 3},
		"write no space":                   {kind: Write, script: []int32{nospc}, err: syscall.ENOSPC, call: "write", writes: 1},
		"write short then no space":        {kind: Write, script: []int32{60, nospc}, n: 60, err: syscall.ENOSPC, call: "write", writes: 2},
		"write takes nothing for ever":     {kind: Write, script: make([]int32, 200), err: ErrNoProgress, call: "write", writes: stallsMax + 1},
		"durable whole":                    {kind: Write, durable: true, script: []int32{size, 0}, n: size, writes: 1, syncs: 1},
		"durable short, sync cancelled":    {kind: Write, durable: true, script: []int32{40}, n: size, writes: 2, syncs: 2},
		"durable cancelled":                {kind: Write, durable: true, script: []int32{canceled}, n: size, writes: 2, syncs: 2},
		"durable, only the sync cancelled": {kind: Write, durable: true, script: []int32{size, canceled}, n: size, writes: 1, syncs: 2},
		"durable write fails":              {kind: Write, durable: true, script: []int32{eio}, err: syscall.EIO, call: "write", writes: 1, syncs: 1},
		"durable sync fails":               {kind: Write, durable: true, script: []int32{size, eio}, n: size, err: syscall.EIO, call: "fdatasync", writes: 1, syncs: 1},
		"durable sync has no space":        {kind: Write, durable: true, script: []int32{size, nospc}, n: size, err: syscall.ENOSPC, call: "fdatasync", writes: 1, syncs: 1},
		"durable sync interrupted":         {kind: Write, durable: true, script: []int32{size, intr}, n: size, err: syscall.EINTR, call: "fdatasync", writes: 1, syncs: 1},
		"durable sync fails later":         {kind: Write, durable: true, script: []int32{30, 70, eio}, n: size, err: syscall.EIO, call: "fdatasync", writes: 2, syncs: 2},
		"sync fails":                       {kind: Sync, script: []int32{eio}, err: syscall.EIO, call: "fdatasync", syncs: 1},
		"sync cancelled":                   {kind: Sync, script: []int32{canceled}, syncs: 2},
		"read short then end":              {kind: Read, script: []int32{30, 0}, n: 30},
		"read fails":                       {kind: Read, script: []int32{eio}, err: syscall.EIO, call: "read"},
	} {
		t.Run(name, func(t *testing.T) {
			ring := &fakeRing{entries: 8, script: list(c.script...)}
			d := openFake(t, ring)
			op := &Op{Kind: c.kind, File: NewFile(-1, "log"), Durable: c.durable}
			if c.kind != Sync {
				op.Bufs = [][]byte{make([]byte, size)}
			}
			turns(t, d, op)
			if op.N != c.n || !errors.Is(op.Err, c.err) || (c.err == nil) != (op.Err == nil) {
				t.Fatalf("n %d, err %v; want %d, %v", op.N, op.Err, c.n, c.err)
			}
			if c.call != "" && !strings.HasPrefix(op.Err.Error(), c.call+" log: ") {
				t.Fatalf("error %q does not name %s", op.Err, c.call)
			}
			writes, syncs := 0, 0
			for _, e := range ring.asked {
				switch e.Code {
				case uring.CodeWrite:
					writes++
				case uring.CodeFsync:
					syncs++
				}
			}
			if writes != c.writes || syncs != c.syncs {
				t.Fatalf("%d writes and %d syncs, want %d and %d", writes, syncs, c.writes, c.syncs)
			}
		})
	}
}

// TestDiskChainsModel scripts random results for durable appends and checks against a model of the file: an op that succeeded has every byte
// written and an fdatasync that started after the last of them; no byte is skipped or written twice in a row; a failed fdatasync is the last call.
func TestDiskChainsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 3000).Draw(rt, "size")
		written, synced, syncFailed := 0, 0, false
		ring := &fakeRing{entries: 1 << rapid.IntRange(1, 3).Draw(rt, "entries")}
		ring.script = func(e uring.Entry) int32 {
			if syncFailed {
				rt.Fatal("a call after a failed fdatasync")
			}
			odd := rapid.SampledFrom([]int32{0, 0, 0, 1, canceled, intr, again, eio}).Draw(rt, "odd")
			if e.Code == uring.CodeFsync {
				switch odd {
				case 0, 1:
					synced = written
					return 0
				case canceled:
					return odd
				}
				syncFailed = true
				return eio
			}
			if int(e.Off) != written {
				rt.Fatalf("write at %d, want %d", e.Off, written)
			}
			if odd < 0 {
				return odd
			}
			n := size - written
			if odd == 1 {
				n = rapid.IntRange(0, n).Draw(rt, "short")
			}
			written += n
			return int32(n)
		}
		// entries of a vector count pieces, so the fake's rule for breaking chains needs one buffer.
		wake, err := newWake()
		if err != nil {
			rt.Fatal(err)
		}
		defer closeWake(wake)
		d := newRingDisk(ring, wake)
		op := &Op{Kind: Write, File: NewFile(-1, "log"), Bufs: [][]byte{make([]byte, size)}, Durable: true}
		turns(rt, d, op)
		if op.N != written {
			rt.Fatalf("N %d, file has %d", op.N, written)
		}
		if op.Err == nil && (written != size || synced != size || syncFailed) {
			rt.Fatalf("success with %d written, %d synced of %d", written, synced, size)
		}
	})
}

func TestDiskKeepsEntriesOfABusyKernel(t *testing.T) {
	ring := &fakeRing{entries: 4, script: list(), busy: 3}
	d := openFake(t, ring)
	op := &Op{Kind: Write, File: NewFile(-1, "log"), Bufs: [][]byte{make([]byte, 10)}}
	turns(t, d, op)
	if op.Err != nil || op.N != 10 || len(ring.asked) != 1 || ring.enters != 4 {
		t.Fatalf("n %d, err %v, %d entries in %d enters", op.N, op.Err, len(ring.asked), ring.enters)
	}
}

func TestDiskSubmitsOncePerFlush(t *testing.T) {
	ring := &fakeRing{entries: 64, script: list()}
	d := openFake(t, ring)
	f := NewFile(-1, "log")
	for range 20 {
		d.Submit(&Op{Kind: Sync, File: f})
		d.Submit(&Op{Kind: Write, File: f, Bufs: [][]byte{{1}}, Durable: true})
	}
	d.Flush()
	if ring.enters != 1 || len(ring.asked) != 60 {
		t.Fatalf("%d enters for %d entries", ring.enters, len(ring.asked))
	}
	if n := len(d.Reap(nil)); n != 40 {
		t.Fatalf("%d came back", n)
	}
	d.Flush()
	if ring.enters != 1 {
		t.Fatal("a Flush with nothing to do entered the kernel")
	}
}

// TestDiskNeverSplitsAChain fills an odd number of places first: a chain cut by a submit would sync before its write has ended.
func TestDiskNeverSplitsAChain(t *testing.T) {
	ring := &fakeRing{entries: 2, script: list()}
	d := openFake(t, ring)
	f := NewFile(-1, "log")
	for range 9 {
		d.Submit(&Op{Kind: Nop})
		d.Submit(&Op{Kind: Write, File: f, Bufs: [][]byte{{1, 2}}, Durable: true})
	}
	var got []*Op
	for len(got) < 18 {
		before := len(ring.asked)
		d.Flush()
		for i, e := range ring.asked[before:] {
			if e.Flags&uring.Link != 0 && (before+i+1 == len(ring.asked) || ring.asked[before+i+1].Code != uring.CodeFsync) {
				t.Fatal("a write is not followed by its fdatasync")
			}
		}
		got = d.Reap(got)
	}
}
