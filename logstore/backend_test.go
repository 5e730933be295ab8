package logstore

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
)

// eachBackend runs fn on every disk that the kernel grants, on a locked thread as a shard is.
func eachBackend(t *testing.T, fn func(t *testing.T, d disk.Disk)) {
	for _, backend := range []string{"uring", "portable", "auto"} {
		t.Run(backend, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			d, probe, err := disk.Open(disk.Options{Backend: backend, Entries: 32})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if probe.Backend != backend {
				t.Skipf("the kernel grants %s only: %v", probe.Backend, probe.Reasons)
			}
			fn(t, d)
		})
	}
}

// settle runs turns until nothing is pending. It spins: the disk wakes nobody here.
func (w *world) settle(l *Log) {
	for n := 0; l.Pending() > 0 || w.disk.InFlight() > 0; n++ {
		w.turn(l)
		runtime.Gosched()
	}
}

// The same history on every backend gives the same bytes, whatever the sizes of segments and chains.
func TestBackendsKeepTheSameBytes(t *testing.T) {
	var first []string
	eachBackend(t, func(t *testing.T, d disk.Disk) {
		for _, durable := range []bool{false, true} {
			w := newWorld(t, Options{SegmentBytes: 30_000, IndexInterval: 500})
			w.disk = d
			var all []*Append
			for round := range 3 {
				l := w.log("t")
				for i := range 60 {
					b := values(batch.Codec(i%5), int64(1000*i), fmt.Sprint("r", round, "-", i), 1+i%7)
					if i%9 == 0 {
						b = values(batch.None, 1, fmt.Sprint("big", i), 900)
					}
					a := w.push(l, b)
					a.Durable = durable
					all = append(all, a)
					if i%4 == 0 {
						w.turn(l)
					}
				}
				w.settle(l)
				for _, a := range all {
					if got := l.TakeDone(); got != a || a.Err != nil {
						t.Fatalf("%v done, want %v: %v", got, a, a.Err)
					}
				}
				all = all[:0]
				if durable && l.RecoveryPoint() != l.End() {
					t.Fatalf("durable up to %d of %d", l.RecoveryPoint(), l.End())
				}
				if round == 1 {
					w.stop()
				} else {
					w.crash()
				}
				w.start()
			}
			l := w.log("t")
			got := w.contents(l, 0, l.End())
			if first == nil {
				first = got
			}
			if len(got) == 0 || !slices.Equal(got, first) {
				t.Fatalf("durable %v: %d records, want %d", durable, len(got), len(first))
			}
			w.crash()
		}
	})
}
