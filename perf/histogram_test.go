package perf

import (
	"math/rand"
	"slices"
	"sync"
	"testing"
)

func TestHistBucketsCoverEveryValueOnce(t *testing.T) {
	for i := range numBuckets - 1 {
		end := bucketEnd(i)
		if bucketOf(end-1) != i || bucketOf(end) != i+1 {
			t.Fatalf("bucket %d ends at %d: %d falls in %d, %d in %d", i, end, end-1, bucketOf(end-1), end, bucketOf(end))
		}
	}
	if bucketOf(1<<62) != numBuckets-1 || bucketOf(0) != 0 {
		t.Fatal("the ends of the range are in the wrong buckets")
	}
}

func TestHistQuantilesMatchSortedSamples(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	h, raw := &Hist{}, make([]int64, 0, 20000)
	for range cap(raw) {
		v := int64(rng.ExpFloat64() * 50_000)
		raw = append(raw, v)
		h.Record(v)
	}
	slices.Sort(raw)
	v := &HistView{}
	h.AddTo(v)
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
		want := raw[min(len(raw)-1, max(0, int(q*float64(len(raw))+0.5)-1))]
		if got := v.Quantile(q); got < want || float64(got) > float64(want)*17/16+1 {
			t.Errorf("quantile %v = %d, sorted samples say %d", q, got, want)
		}
	}
	if v.Max != raw[len(raw)-1] || v.Count != int64(len(raw)) {
		t.Errorf("max %d count %d, want %d %d", v.Max, v.Count, raw[len(raw)-1], len(raw))
	}
	if n := v.below(16); n != int64(countBelow(raw, 1<<16)) {
		t.Errorf("below 2^16: %d, samples say %d", n, countBelow(raw, 1<<16))
	}
}

func countBelow(sorted []int64, limit int64) int {
	n, _ := slices.BinarySearch(sorted, limit)
	return n
}

func TestSetCountsWithoutAllocatingAndReadersSeeIt(t *testing.T) {
	r := NewRegistry(2)
	s := r.Shard(1)
	n := testing.AllocsPerRun(200, func() {
		s.Add(BytesIn, 10)
		s.AddAt(Requests, 18, 1)
		s.ObserveAt(PhaseSeconds, PhaseAt(ClassFetch, PhaseDevice), 1234)
		s.Observe(TurnSeconds, 99)
		s.Trace().Note(1, EventTurn, 2, 3)
	})
	if n != 0 {
		t.Fatalf("counting allocates %v times", n)
	}
	r.Shared().Add(BytesIn, 5)
	if got := r.Total(BytesIn); got != 2015 { // AllocsPerRun runs once more to warm up
		t.Fatalf("total bytes in = %d", got)
	}
	if got := r.View(PhaseSeconds, PhaseAt(ClassFetch, PhaseDevice)).Count; got != 201 {
		t.Fatalf("phase count = %d", got)
	}
	if s.ValueAt(Requests, 18) != 201 || r.Shard(0).Value(Requests) != 0 {
		t.Fatal("the request was counted at another place")
	}
}

func TestSetCountsUnknownPositionsAsOther(t *testing.T) {
	s := NewRegistry(1).Shard(0)
	s.AddAt(Requests, 30000, 1)
	s.AddAt(AnsweredErrors, CodeAt(-1), 1)
	s.AddAt(AnsweredErrors, -5, 1)
	if s.ValueAt(Requests, numAPIs-1) != 1 || s.ValueAt(AnsweredErrors, 0) != 1 || s.ValueAt(AnsweredErrors, numCodes-1) != 1 {
		t.Fatal("a position outside the dimension must count as other, code -1 has its own")
	}
}

// Meant for the race detector: pages are read while a shard counts.
func TestRegistryIsReadWhileShardsCount(t *testing.T) {
	r := NewRegistry(2)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range 2000 {
				r.Shard(i).Add(Turns, 1)
				r.Shard(i).Observe(TurnSeconds, int64(n))
				r.Shard(i).Trace().Note(int64(n), EventTurn, 1, 1)
			}
		}()
	}
	for range 20 {
		if _, err := r.WriteTo(discard{}); err != nil {
			t.Fatal(err)
		}
		_ = r.Shard(0).Trace().Dump(discard{})
	}
	wg.Wait()
	if r.Total(Turns) != 4000 {
		t.Fatalf("turns = %d", r.Total(Turns))
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func BenchmarkRequestPhases(b *testing.B) {
	s := NewRegistry(1).Shard(0)
	for b.Loop() {
		for p := range NumPhases {
			s.ObserveAt(PhaseSeconds, PhaseAt(ClassProduce, p), 1500+int64(p)*700)
		}
	}
	b.ReportMetric(float64(s.Hist(PhaseSeconds, 0).sum%1000), "checksum")
}
