package logstore

import (
	"testing"

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

// BenchmarkRecover scans a log of 32 MB in batches of 16 kB after a crash.
func BenchmarkRecover(b *testing.B) {
	w := newWorld(b, Options{})
	l := w.log("t")
	bd := batch.NewBuilder(batch.None)
	for range 16 {
		bd.Add(1, []byte("k"), make([]byte, 1000))
	}
	for l.SizeBytes() < 32<<20 {
		w.produce(l, bd.Bytes())
	}
	end := l.End()
	b.SetBytes(l.SizeBytes())
	for b.Loop() {
		w.crash()
		w.start()
		if l = w.log("t"); l.End() != end {
			b.Fatal(l.End())
		}
	}
	w.crash()
}
