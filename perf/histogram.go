package perf

import (
	"math/bits"
	"sync/atomic"
)

const (
	subBits    = 4            // 16 steps in each power of two: a value is kept to 1 part in 16
	subCount   = 1 << subBits //
	maxPower   = 36           // values from 2^36 ns (69 s) on share the last bucket
	numBuckets = (maxPower-subBits+1)*subCount + 1
)

// Hist is a histogram of nanoseconds with fixed buckets: exact below 16 ns, then sixteen buckets
// for each power of two. One thread records, any thread reads.
type Hist struct {
	buckets [numBuckets]int64
	sum     int64
	max     int64
}

// Record counts one value; a negative one counts as zero.
func (h *Hist) Record(ns int64) {
	if ns < 0 {
		ns = 0
	}
	p := &h.buckets[bucketOf(ns)]
	store(p, *p+1)
	store(&h.sum, h.sum+ns)
	if ns > h.max {
		store(&h.max, ns)
	}
}

func bucketOf(ns int64) int {
	if ns < subCount {
		return int(ns)
	}
	power := bits.Len64(uint64(ns)) - 1
	if power >= maxPower {
		return numBuckets - 1
	}
	return (power-subBits+1)*subCount + int(ns>>(power-subBits))&(subCount-1)
}

// bucketEnd is the first value above bucket i.
func bucketEnd(i int) int64 {
	if i < subCount {
		return int64(i) + 1
	}
	power := i/subCount + subBits - 1
	return int64(subCount+i%subCount+1) << (power - subBits)
}

// HistView is a histogram as it was at one moment; views of several shards add up.
type HistView struct {
	Count, Sum, Max int64
	buckets         [numBuckets]int64
}

// AddTo adds what the histogram holds now to v.
func (h *Hist) AddTo(v *HistView) {
	for i := range h.buckets {
		n := atomic.LoadInt64(&h.buckets[i])
		v.buckets[i] += n
		v.Count += n
	}
	v.Sum += atomic.LoadInt64(&h.sum)
	v.Max = max(v.Max, atomic.LoadInt64(&h.max))
}

// Sub takes away an earlier view of the same histograms, leaving what came between. Max stays.
func (v *HistView) Sub(earlier *HistView) {
	for i := range v.buckets {
		v.buckets[i] -= earlier.buckets[i]
	}
	v.Count -= earlier.Count
	v.Sum -= earlier.Sum
}

// Quantile is the value that the share q of all values does not pass, rounded up to its bucket's
// last value and never above the largest one recorded. An empty view gives 0.
func (v *HistView) Quantile(q float64) int64 {
	if v.Count == 0 {
		return 0
	}
	rank := int64(q*float64(v.Count) + 0.5)
	rank = min(max(rank, 1), v.Count)
	var seen int64
	for i, n := range v.buckets {
		if seen += n; seen >= rank {
			if i == numBuckets-1 {
				return v.Max
			}
			return min(bucketEnd(i)-1, v.Max)
		}
	}
	return v.Max
}

// below counts the values under 2^power nanoseconds; exact, since that is a bucket's edge.
func (v *HistView) below(power int) int64 {
	var n int64
	for i := 0; i < (power-subBits+1)*subCount; i++ {
		n += v.buckets[i]
	}
	return n
}
