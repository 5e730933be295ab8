package logstore

import (
	"fmt"
	"math/rand"
	"syscall"
	"testing"
	"time"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// BenchmarkAppend is what the owner shard does for one set of 1 kB, the write itself included: page cache, one set per chain.
func BenchmarkAppend(b *testing.B) {
	w := newWorld(b, Options{})
	l := w.log("t")
	bd := batch.NewBuilder(batch.None)
	bd.Add(1, []byte("k"), make([]byte, 1000))
	rec, in, a := bd.Bytes(), &batch.Info{}, &Append{}
	if err := batch.Validate(rec, batch.Limits{}, in); err != nil {
		b.Fatal(err)
	}
	for n := int64(0); b.Loop() && n < 50_000; n++ {
		*a = Append{Bytes: rec, Info: in}
		l.Append(a)
		l.Turn(1)
		w.ops = w.disk.Reap(w.ops[:0])
		l.OnDisk(w.ops[0])
		if l.TakeDone() != a || a.Err != nil {
			b.Fatal(a.Err)
		}
	}
	b.ReportMetric(float64(l.End()), "records")
}

// BenchmarkRecover scans a log of 128 MB in batches of 16 kB of an idempotent producer after a crash, in cache. MB/s counts the wall and so
// the syncs; MB/cpu-s is what one core scans.
func BenchmarkRecover(b *testing.B) {
	w := newWorld(b, Options{})
	l := w.log("t")
	seq := int32(0)
	for l.SizeBytes() < 128<<20 {
		bd := batch.NewBuilder(batch.None)
		bd.ProducerID, bd.ProducerEpoch, bd.BaseSequence = 7, 0, seq
		for range 16 {
			bd.Add(1, []byte("k"), make([]byte, 1000))
		}
		w.produce(l, bd.Bytes())
		seq += 16
	}
	end, size := l.End(), l.SizeBytes()
	b.SetBytes(size)
	var cpu time.Duration
	for b.Loop() {
		w.crash()
		w.start()
		before := cpuTime(b)
		if l = w.log("t"); l.End() != end {
			b.Fatal(l.End())
		}
		cpu += cpuTime(b) - before
	}
	b.ReportMetric(float64(b.N)*float64(size)/1e6/cpu.Seconds(), "MB/cpu-s")
	w.crash()
}

// cpuTime is what this process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCompact cleans 128 MB of records of 1 kB in batches of 1 MB, one of ten live. MB/cpu-s is what one core cleans.
func BenchmarkCompact(b *testing.B) {
	var cpu time.Duration
	var size int64
	for b.Loop() {
		b.StopTimer()
		w := newWorld(b, Options{SegmentBytes: 32 << 20, Compact: true, MinCleanableRatio: 1e-9, DeleteRetentionMs: 1000, DedupeBytes: 128 << 20})
		l := w.log("t")
		rng := rand.New(rand.NewSource(1))
		for l.SizeBytes() < 128<<20 {
			bd := batch.NewBuilder(batch.None)
			for range 1000 {
				bd.Add(1, fmt.Appendf(nil, "key-%012d", rng.Intn(13_000)), make([]byte, 1000))
			}
			w.produce(l, bd.Bytes())
		}
		o := l.Options()
		o.Cleaner = true
		l.SetOptions(o)
		size = l.SizeBytes()
		b.StartTimer()
		before := cpuTime(b)
		w.compact(l)
		cpu += cpuTime(b) - before
		b.StopTimer()
		if l.SizeBytes() > size/2 {
			b.Fatalf("%d of %d bytes are left", l.SizeBytes(), size)
		}
		w.stop()
		b.StartTimer()
	}
	b.SetBytes(size)
	b.ReportMetric(float64(b.N)*float64(size)/1e6/cpu.Seconds(), "MB/cpu-s")
}
