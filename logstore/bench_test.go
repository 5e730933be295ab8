package logstore

import (
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
