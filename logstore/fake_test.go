package logstore

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeDisk carries operations out when told to, in order, on real files; the next write or sync can be made to fail, and cold files to ask.
type fakeDisk struct {
	queue   []*disk.Op
	held    bool   // completions wait
	failOp  string // "write" or "fdatasync": the next operation fails there
	failErr error
	short   int          // bytes that a failing write leaves
	cold    map[int]bool // descriptors not in the cache
	syncs   int
	writes  int
}

func (d *fakeDisk) Submit(op *disk.Op) { d.queue = append(d.queue, op) }
func (d *fakeDisk) Flush()             {}
func (d *fakeDisk) InFlight() int      { return len(d.queue) }
func (d *fakeDisk) WakeFD() int        { return -1 }
func (d *fakeDisk) ResetWake()         {}
func (d *fakeDisk) Backend() string    { return "fake" }
func (d *fakeDisk) Stats() disk.Stats  { return disk.Stats{} }
func (d *fakeDisk) Close()             {}

func (d *fakeDisk) Reap(dst []*disk.Op) []*disk.Op {
	if d.held {
		return dst
	}
	for _, op := range d.queue {
		d.do(op)
		dst = append(dst, op)
	}
	d.queue = d.queue[:0]
	return dst
}

func (d *fakeDisk) do(op *disk.Op) {
	off := op.Off
	op.N, op.Err = 0, nil
	if d.failOp == "write" {
		if d.short > 0 {
			_, _ = op.File.WriteAt(op.Bufs[0][:min(d.short, len(op.Bufs[0]))], off)
		}
		op.Err = &disk.Error{Op: "write", Path: op.File.Path(), Err: d.failErr}
		d.failOp = ""
		return
	}
	for _, b := range op.Bufs {
		n, err := op.File.WriteAt(b, off)
		off += int64(n)
		op.N += n
		if err != nil {
			op.Err = err
			return
		}
	}
	d.writes++
	if op.Durable {
		d.syncs++
		if d.failOp == "fdatasync" {
			op.Err = &disk.Error{Op: "fdatasync", Path: op.File.Path(), Err: d.failErr}
			d.failOp = ""
		}
	}
}

func (d *fakeDisk) ReadNow(f *disk.File, b []byte, off int64) (int, error) {
	if d.cold[f.Fd()] {
		return 0, disk.ErrWouldBlock
	}
	n, err := f.ReadAt(b, off)
	if n < len(b) && err == nil {
		err = io.EOF
	}
	return n, err
}

func (d *fakeDisk) Cached(f *disk.File, _, _ int64) bool { return !d.cold[f.Fd()] }

// world is one log directory, its manager, and one log on a fake shard.
type world struct {
	t    testing.TB
	dirs []string
	clk  *clock.Manual
	disk disk.Disk
	fake *fakeDisk
	m    *Manager
	opt  Options
	logs map[string]*Log
	ops  []*disk.Op
	off  []error
	fs   disk.FS
	// beside runs a job off the loop, if a test looks at that.
	beside func(run func())
	anyID  bool // take broker, cluster and topic ids from the files
}

func newWorld(t testing.TB, o Options) *world {
	f := &fakeDisk{cold: map[int]bool{}}
	w := &world{t: t, dirs: []string{filepath.Join(t.TempDir(), "data")}, clk: clock.NewManual(1_600_000_000_000), disk: f, fake: f, opt: o}
	w.start()
	return w
}

func (w *world) start() {
	w.t.Helper()
	if w.fs == nil {
		w.fs = disk.OS()
	}
	o := ManagerOptions{Dirs: w.dirs, FS: w.fs, Clock: w.clk, BrokerID: 0, ClusterID: "c"}
	if w.anyID {
		o.BrokerID, o.ClusterID = -1, ""
	}
	o.OnDirOffline = func(_ string, err error) { w.off = append(w.off, err) }
	m, err := OpenManager(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.m, w.logs = m, map[string]*Log{}
}

// crash forgets everything that was not on the disk: descriptors are closed, nothing is saved.
// checkpoint makes everything that a log has durable, and writes that down.
func (w *world) checkpoint(l *Log) {
	w.t.Helper()
	l.Flush()
	w.turn(l)
	if err := w.m.Checkpoint(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) crash() {
	for _, l := range w.logs {
		l.closeFiles()
	}
	w.m.unlock()
}

func (w *world) stop() {
	w.t.Helper()
	if err := w.m.CloseClean(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) log(topic string) *Log {
	w.t.Helper()
	l, err := w.open(topic)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) open(topic string) (*Log, error) {
	if l := w.logs[topic]; l != nil {
		return l, nil
	}
	id := [16]byte{1}
	if w.anyID {
		id = [16]byte{}
	}
	l, err := w.m.Open(TopicPartition{topic, 0}, id, w.opt)
	if err != nil {
		return nil, err
	}
	l.Bind(w.disk)
	w.logs[topic] = l
	return l, nil
}

// turn is a shard's turn: completions, then the next chain, then blocking work.
func (w *world) turn(l *Log) {
	for range 50 {
		l.Turn(w.clk.WallMs())
		w.disk.Flush()
		w.ops = w.disk.Reap(w.ops[:0])
		for _, op := range w.ops {
			op.Owner.(*Log).OnDisk(op)
		}
		worked := false
		for job := l.TakeWork(); job != nil; job = l.TakeWork() {
			if w.beside != nil {
				w.beside(job.Run)
			} else {
				job.Run()
			}
			job.Apply()
			worked = true
		}
		if len(w.ops) == 0 && !worked && w.disk.InFlight() == 0 {
			return
		}
	}
}

func (w *world) push(l *Log, records []byte) *Append {
	w.t.Helper()
	in := &batch.Info{}
	if err := batch.Validate(records, batch.Limits{AllowMany: true, AllowControl: true}, in); err != nil {
		w.t.Fatal(err)
	}
	a := &Append{Bytes: records, Info: in, LeaderEpoch: 3, AppendTimeMs: w.clk.WallMs()}
	l.Append(a)
	return a
}

// produce appends and expects success.
func (w *world) produce(l *Log, records []byte) *Append {
	w.t.Helper()
	a := w.push(l, records)
	w.turn(l)
	w.done(l, a)
	if a.Err != nil {
		w.t.Fatalf("append: %v", a.Err)
	}
	l.SetHighWatermark(l.End())
	return a
}

func (w *world) done(l *Log, want ...*Append) {
	w.t.Helper()
	for i, a := range want {
		if got := l.TakeDone(); got != a {
			w.t.Fatalf("done number %d is %p, want %p", i, got, a)
		}
	}
	if got := l.TakeDone(); got != nil {
		w.t.Fatalf("one too many is done: %+v", got)
	}
}

// values makes a batch of records "prefix-i".
func values(codec batch.Codec, ts int64, prefix string, n int) []byte {
	bd := batch.NewBuilder(codec)
	for i := range n {
		bd.Add(ts+int64(i), []byte("k"), fmt.Appendf(nil, "%s-%d", prefix, i))
	}
	return bd.Bytes()
}

// idempotent makes a batch of a producer.
func idempotent(id int64, epoch int16, seq int32, n int) []byte {
	bd := batch.NewBuilder(batch.None)
	bd.ProducerID, bd.ProducerEpoch, bd.BaseSequence = id, epoch, seq
	for i := range n {
		bd.Add(1_600_000_000_000, nil, fmt.Appendf(nil, "p%d-%d", id, int(seq)+i))
	}
	return bd.Bytes()
}

// read returns the bytes of whole batches from an offset on, through Read, and checks that spans are released.
func (w *world) read(l *Log, from int64, most int32, upTo int64) []byte {
	w.t.Helper()
	var out []byte
	for {
		var s Span
		need, err := l.Read(from, most, upTo, true, &s)
		if err == nil && need.File != nil && w.disk != disk.Disk(w.fake) { // dropped by the kernel: a read brings it back
			_, _ = need.File.ReadAt(make([]byte, need.Len), need.Pos)
			continue
		}
		if err != nil || need.File != nil {
			w.t.Fatalf("read %d: need %v, %v", from, need, err)
		}
		if s.Len == 0 {
			return out
		}
		b := make([]byte, s.Len)
		if _, err := s.File.ReadAt(b, s.Pos); err != nil {
			w.t.Fatal(err)
		}
		e, err := batch.ParseEntry(b)
		if err != nil || int64(e.Size) != s.FirstLen {
			w.t.Fatalf("first batch is %d bytes, the span says %d: %v", e.Size, s.FirstLen, err)
		}
		s.Release()
		for p := 0; p < len(b); p += e.Size {
			if e, err = batch.ParseEntry(b[p:]); err != nil || p+e.Size > len(b) {
				w.t.Fatalf("a span must be whole batches: %v", err)
			}
			from = e.Last + 1
		}
		out = append(out, b...)
	}
}

// contents lists offset=value of all records in [from, upTo).
func (w *world) contents(l *Log, from, upTo int64) []string {
	w.t.Helper()
	var out []string
	if err := batch.Iterate(w.read(l, from, 1<<20, upTo), func(r batch.Record) bool {
		if r.Offset >= from {
			out = append(out, fmt.Sprintf("%d=%s", r.Offset, r.Value))
		}
		return true
	}); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// noSpace makes the next write fail as on a full disk, after some bytes.
func (d *fakeDisk) fail(op string, err error, short int) {
	d.failOp, d.failErr, d.short = op, err, short
}

var errFull = errors.Join(syscall.ENOSPC)
