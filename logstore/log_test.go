package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/pelton-broker/pelton/logstore/batch"
)

func TestLogAppendGivesOffsetsInOrder(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	for i, codec := range []batch.Codec{batch.None, batch.Gzip, batch.Snappy, batch.LZ4, batch.Zstd} {
		a := w.produce(l, values(codec, 100, codec.String(), 3))
		if a.Base != int64(3*i) || a.Last != int64(3*i+2) || a.LogAppendTime != -1 || a.LogStart != 0 {
			t.Fatalf("%s: %+v", codec, a)
		}
	}
	got := w.contents(l, 0, l.End())
	if len(got) != 15 || got[0] != "0=none-0" || got[14] != "14=zstd-2" {
		t.Fatalf("%v", got)
	}
	if got := w.contents(l, 4, 8); fmt.Sprint(got) != "[4=gzip-1 5=gzip-2]" {
		t.Fatalf("a batch with an offset at the bound must stay out: %v", got)
	}
	if _, err := l.Read(16, 10, 99, true, &Span{}); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Fatalf("above the end: %v", err)
	}
	if _, err := l.Read(-1, 10, 99, true, &Span{}); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Fatalf("below the start: %v", err)
	}
	if l.EpochFor(0) != 3 || l.LatestEpoch() != 3 {
		t.Fatalf("epochs %v", l.epochs.list)
	}
}

func TestLogOneChainAtATime(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	w.fake.held = true
	first := w.push(l, values(batch.None, 1, "a", 1))
	l.Turn(w.clk.WallMs())
	var rest []*Append
	for i := range 5 {
		rest = append(rest, w.push(l, values(batch.None, 1, fmt.Sprint("b", i), 2)))
		l.Turn(w.clk.WallMs())
	}
	if w.fake.InFlight() != 1 || rest[0].Base != -1 {
		t.Fatalf("%d chains in flight; a queued set has offset %d", w.fake.InFlight(), rest[0].Base)
	}
	w.fake.held = false
	w.turn(l)
	w.done(l, append([]*Append{first}, rest...)...)
	if w.fake.writes != 2 || rest[4].Base != 9 || l.End() != 11 {
		t.Fatalf("%d writes for two chains, last base %d", w.fake.writes, rest[4].Base)
	}
}

func TestLogDurableAppendsShareOneSync(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	var all []*Append
	for i := range 20 {
		in := &batch.Info{}
		b := values(batch.None, 1, fmt.Sprint(i), 1)
		if err := batch.Validate(b, batch.Limits{}, in); err != nil {
			t.Fatal(err)
		}
		a := &Append{Bytes: b, Info: in, Durable: true}
		l.Append(a)
		all = append(all, a)
	}
	w.turn(l)
	w.done(l, all...)
	if w.fake.syncs != 1 || l.RecoveryPoint() != 20 {
		t.Fatalf("%d syncs, durable up to %d", w.fake.syncs, l.RecoveryPoint())
	}
	w.produce(l, values(batch.None, 1, "x", 1))
	if l.RecoveryPoint() != 20 {
		t.Fatal("a write without a sync moved the recovery point")
	}
	l.Flush()
	w.turn(l)
	if l.RecoveryPoint() != 21 {
		t.Fatal("Flush did not move the recovery point")
	}
}

func TestLogFlushMessagesSyncsEveryN(t *testing.T) {
	w := newWorld(t, Options{FlushMessages: 3})
	l := w.log("t")
	for range 7 {
		w.produce(l, values(batch.None, 1, "x", 1))
	}
	if w.fake.syncs != 2 || l.RecoveryPoint() != 6 {
		t.Fatalf("%d syncs, durable up to %d", w.fake.syncs, l.RecoveryPoint())
	}
}

func TestLogRollsAndReadsAcrossSegments(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 2000, IndexInterval: 300})
	l := w.log("t")
	var want []string
	for i := range 40 {
		w.produce(l, values(batch.None, int64(1000*i), fmt.Sprint("v", i), 4))
		for k := range 4 {
			want = append(want, fmt.Sprintf("%d=v%d-%d", i*4+k, i, k))
		}
	}
	if len(l.segments) < 3 {
		t.Fatalf("%d segments", len(l.segments))
	}
	for from := range int64(160) {
		if got := w.contents(l, from, l.End()); !slices.Equal(got, want[from:]) {
			t.Fatalf("from %d: %v", from, got)
		}
	}
	for _, most := range []int32{0, 1, 150, 400, 1500} {
		if got := w.read(l, 0, most, l.End()); len(got) != int(l.SizeBytes()) {
			t.Fatalf("in pieces of %d: %d of %d bytes", most, len(got), l.SizeBytes())
		}
	}
	for _, seg := range l.segments[:len(l.segments)-1] {
		info, err := os.Stat(seg.stem + sufIndex)
		if err != nil || info.Size() != int64(seg.offsets.n*offsetEntry) || seg.offsets.inMem || !seg.settled {
			t.Fatalf("closed index: %v %v", info, err)
		}
	}
	info, err := os.Stat(l.active().stem + sufTime)
	if err != nil || info.Size() != defaultIndexMaxBytes/12*12 {
		t.Fatalf("the active time index is preallocated: %v %v", info.Size(), err)
	}
}

func TestLogIdempotence(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	for i := range int32(7) {
		w.produce(l, idempotent(9, 0, i, 1))
	}
	expect := func(name string, b []byte, base int64, dup bool, want error) {
		t.Helper()
		a := w.push(l, b)
		w.turn(l)
		w.done(l, a)
		if !errors.Is(a.Err, want) || a.Base != base || a.Duplicate != dup {
			t.Fatalf("%s: base %d duplicate %v: %v", name, a.Base, a.Duplicate, a.Err)
		}
	}
	expect("repeat of the last", idempotent(9, 0, 6, 1), 6, true, nil)
	expect("repeat of the fifth last", idempotent(9, 0, 2, 1), 2, true, nil)
	expect("repeat too old", idempotent(9, 0, 1, 1), -1, false, ErrOutOfOrderSequence)
	expect("gap", idempotent(9, 0, 8, 1), -1, false, ErrOutOfOrderSequence)
	expect("new epoch not at 0", idempotent(9, 1, 7, 1), -1, false, ErrOutOfOrderSequence)
	expect("new epoch", idempotent(9, 1, 0, 2), 7, false, nil)
	expect("old epoch", idempotent(9, 0, 7, 1), -1, false, ErrInvalidProducerEpoch)
	expect("unknown producer anywhere", idempotent(10, 0, 0x7ffffffe, 2), 9, false, nil)
	expect("wrap", idempotent(10, 0, 0, 1), 11, false, nil)
	w.stop()
	w.start()
	l = w.log("t")
	expect("repeat after a restart", idempotent(10, 0, 0, 1), 11, true, nil)
	expect("next after a restart", idempotent(9, 1, 2, 1), 12, false, nil)
	w.crash()
	w.start()
	l = w.log("t")
	expect("repeat after a crash", idempotent(9, 1, 2, 1), 12, true, nil)
	w.clk.Advance(25 * 3600 * 1e9)
	l.Retain(w.clk.WallMs())
	expect("expired: any sequence", idempotent(9, 1, 77, 1), 13, false, nil)
}

func TestLogRepeatOfPendingAttaches(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	w.fake.held = true
	a0 := w.push(l, idempotent(5, 0, 0, 1))
	l.Turn(1)
	a1 := w.push(l, idempotent(5, 0, 1, 2))
	r0, r1 := w.push(l, idempotent(5, 0, 0, 1)), w.push(l, idempotent(5, 0, 1, 2))
	gap := w.push(l, idempotent(5, 0, 4, 1))
	w.done(l, gap)
	w.fake.held = false
	w.turn(l)
	w.done(l, a0, r0, a1, r1)
	if r0.Base != 0 || !r0.Duplicate || r1.Base != 1 || r1.Last != 2 || !r1.Duplicate || l.End() != 3 {
		t.Fatalf("%+v %+v", r0, r1)
	}
}

func TestLogWriteFailureAnswersAllAndForgetsSequences(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	w.produce(l, idempotent(5, 0, 0, 1))
	w.fake.held = true
	a1 := w.push(l, idempotent(5, 0, 1, 1))
	l.Turn(1)
	a2 := w.push(l, idempotent(5, 0, 2, 1))
	r1 := w.push(l, idempotent(5, 0, 1, 1))
	w.fake.held = false
	w.fake.fail("write", errFull, 30)
	w.turn(l)
	w.done(l, a1, r1, a2)
	for _, a := range []*Append{a1, r1, a2} {
		if !errors.Is(a.Err, ErrNoSpace) || a.Base != -1 {
			t.Fatalf("%+v", a)
		}
	}
	if l.Offline() != nil {
		t.Fatalf("a full disk must not take the directory offline: %v", l.Offline())
	}
	// The probe found room; the retry gets the offset that nobody had.
	if a := w.produce(l, idempotent(5, 0, 1, 1)); a.Base != 1 || a.Duplicate {
		t.Fatalf("%+v", a)
	}
	w.crash()
	w.start()
	l = w.log("t")
	if l.End() != 2 {
		t.Fatalf("end %d", l.End())
	}
}

func TestLogSyncFailureTakesTheDirectoryOffline(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		w := newWorld(t, Options{FlushMessages: 1})
		l, other := w.log("t"), w.log("u")
		w.fake.fail("fdatasync", cause, 0)
		a := w.push(l, values(batch.None, 1, "a", 1))
		w.turn(l)
		w.done(l, a)
		b := w.push(other, values(batch.None, 1, "a", 1))
		w.done(other, b)
		if !errors.Is(a.Err, ErrOffline) || !errors.Is(b.Err, ErrOffline) || len(w.off) != 1 || l.End() != 0 {
			t.Fatalf("%v %v %v", a.Err, b.Err, w.off)
		}
		if _, err := l.Read(0, 1, 1, true, &Span{}); !errors.Is(err, ErrOffline) {
			t.Fatalf("read: %v", err)
		}
		if err := w.m.CloseClean(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(w.dirs[0], cleanFile)); err == nil {
			t.Fatal("a failed directory got the marker of a clean stop")
		}
	}
}

func TestLogReadNeedsWhatIsCold(t *testing.T) {
	w := newWorld(t, Options{SegmentBytes: 3000, IndexInterval: 200})
	l := w.log("t")
	for i := range 40 {
		w.produce(l, values(batch.None, 1, fmt.Sprint("v", i), 4))
	}
	old := l.segments[0]
	l.cursors, l.window = cursors{}, window{}
	w.fake.cold[old.offsets.file.Fd()] = true
	var s Span
	need, err := l.Read(9, 1000, l.End(), true, &s)
	if err != nil || need.File != old.offsets.file || s.Len != 0 {
		t.Fatalf("cold index: %+v %v", need, err)
	}
	w.fake.cold[old.offsets.file.Fd()] = false
	w.fake.cold[old.file.Fd()] = true
	if need, err = l.Read(9, 1000, l.End(), true, &s); err != nil || need.File != old.file || need.Len == 0 {
		t.Fatalf("cold log: %+v %v", need, err)
	}
	w.fake.cold[old.file.Fd()] = false
	if need, err = l.Read(9, 1000, l.End(), true, &s); err != nil || need.File != nil || s.Len == 0 {
		t.Fatalf("warm: %+v %v", need, err)
	}
	s.Release()
}

func TestLogAppendTime(t *testing.T) {
	w := newWorld(t, Options{LogAppendTime: true})
	l := w.log("t")
	w.clk.Advance(5e9)
	a := w.produce(l, values(batch.Gzip, 7, "v", 3))
	if a.LogAppendTime != w.clk.WallMs() {
		t.Fatalf("%+v", a)
	}
	b := w.read(l, 0, 1000, 3)
	if !batch.CheckCRC(b) {
		t.Fatal("the CRC was not computed anew")
	}
	_ = batch.Iterate(b, func(r batch.Record) bool {
		if r.Timestamp != w.clk.WallMs() {
			t.Errorf("record time %d", r.Timestamp)
		}
		return true
	})
	if o, ts, _, _, _ := l.LookupTime(w.clk.WallMs()); o != 0 || ts != w.clk.WallMs() {
		t.Fatalf("lookup %d %d", o, ts)
	}
}

// case C-4: the first record in log order that is late enough, inside batches too; C-1: the largest timestamp's record; C-2: none.
func TestLogLookupTime(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	if o, ts, _, _, err := l.MaxTimestamp(); o != -1 || ts != -1 || err != nil {
		t.Fatalf("empty: %d %d %v", o, ts, err)
	}
	for _, times := range [][]int64{{2, 4, 6, 8}, {3, 1}} {
		bd := batch.NewBuilder(batch.Gzip)
		for _, ts := range times {
			bd.Add(ts, nil, []byte("v"))
		}
		w.produce(l, bd.Bytes())
	}
	for ts, want := range map[int64][2]int64{3: {1, 4}, 5: {2, 6}, 7: {3, 8}, 8: {3, 8}, 9: {-1, -1}} {
		if o, at, _, _, err := l.LookupTime(ts); o != want[0] || at != want[1] || err != nil {
			t.Errorf("time %d: offset %d time %d %v, want %v", ts, o, at, err, want)
		}
	}
	check := func() {
		t.Helper()
		if o, ts, epoch, need, err := l.MaxTimestamp(); o != 3 || ts != 8 || epoch != 3 {
			t.Fatalf("max: %d %d %d %v %v", o, ts, epoch, need, err)
		}
	}
	check()
	for _, end := range []func(){w.stop, w.stop, w.crash} {
		end()
		w.start()
		l = w.log("t")
		check()
	}
}

// case C-5: differences far beyond 32 bits, backwards too, in one segment.
func TestLogLookupTimeFarApart(t *testing.T) {
	const day = 24 * 3600 * 1000
	w := newWorld(t, Options{IndexInterval: NoLimit, Delete: true, RetentionMs: day, SegmentMs: NoLimit})
	l := w.log("t")
	now := w.clk.WallMs()
	for _, ts := range []int64{now, now - 60*day, now - 1000, now + 30*day, -1, 1 << 62} {
		bd := batch.NewBuilder(batch.None)
		bd.Add(ts, nil, []byte("v"))
		w.produce(l, bd.Bytes())
	}
	for _, c := range [][2]int64{{now - 61*day, 0}, {now - 59*day, 0}, {now, 0}, {now + 3*day, 3}, {now + 31*day, 5}} {
		if o, _, _, _, err := l.LookupTime(c[0]); o != c[1] || err != nil {
			t.Errorf("time %d: offset %d %v, want %d", c[0], o, err, c[1])
		}
	}
	w.clk.Advance(10 * day * 1e6)
	l.Retain(w.clk.WallMs())
	w.turn(l)
	if l.Start() != 0 {
		t.Fatal("a segment with a record inside retention went")
	}
}

// case C-11.
func TestLogEndOffsetForEpoch(t *testing.T) {
	w := newWorld(t, Options{})
	l := w.log("t")
	l.AssignEpoch(0, 0)
	add := func(epoch int32, n int) {
		a := w.push(l, values(batch.None, 1, "v", n))
		a.LeaderEpoch = epoch
		w.turn(l)
		w.done(l, a)
	}
	add(0, 10)
	add(2, 5)
	check := func() {
		t.Helper()
		for ask, want := range map[int32][2]int64{0: {0, 10}, 1: {0, 10}, 2: {2, 15}, 3: {-1, -1}, -1: {-1, -1}} {
			if e, end := l.EndOffsetForEpoch(ask); int64(e) != want[0] || end != want[1] {
				t.Errorf("epoch %d: %d %d, want %v", ask, e, end, want)
			}
		}
	}
	check()
	for _, how := range []func(){w.stop, w.crash} {
		how()
		w.start()
		l = w.log("t")
		check()
	}
}

func TestLogSteadyStateAllocatesNothing(t *testing.T) {
	w := newWorld(t, Options{IndexInterval: 1 << 30})
	l := w.log("t")
	rec := idempotent(4, 0, 0, 10)
	in := &batch.Info{}
	a := &Append{}
	seq := int32(0)
	cycle := func() {
		b := rec
		b[53], b[54], b[55], b[56] = byte(seq>>24), byte(seq>>16), byte(seq>>8), byte(seq)
		batch.PatchAppend(b, 0, 0)
		batch.SealCRC(b)
		seq += 10
		if err := batch.Validate(b, batch.Limits{}, in); err != nil {
			t.Fatal(err)
		}
		*a = Append{Bytes: b, Info: in, LeaderEpoch: 3}
		l.Append(a)
		l.Turn(1)
		w.ops = w.disk.Reap(w.ops[:0])
		l.OnDisk(w.ops[0])
		if l.TakeDone() != a || a.Err != nil {
			t.Fatal(a.Err)
		}
		l.SetHighWatermark(l.End())
		var s Span
		if _, err := l.Read(a.Base, 1<<20, l.HighWatermark(), true, &s); err != nil || s.Len == 0 {
			t.Fatal(err)
		}
		s.Release()
		if _, err := l.Read(0, 3000, l.HighWatermark(), true, &s); err != nil || s.Len == 0 {
			t.Fatal(err)
		}
		s.Release()
	}
	for range 100 {
		cycle()
	}
	if n := testing.AllocsPerRun(200, cycle); n != 0 {
		t.Fatalf("%v allocations per append and two reads", n)
	}
	if !bytes.Equal(rec, w.read(l, a.Base, 1<<20, l.End())) {
		t.Fatal("read back differs")
	}
}
