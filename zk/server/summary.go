package server

import "slices"

// summary is ZooKeeper's kind of metric with quantiles: count and sum since the start, quantiles of the last samples.
type summary struct {
	count, sum uint64
	least      int64
	most       int64
	last       []int64 // a ring
	at         int
}

// summaryKept is how many samples the quantiles are taken of.
const summaryKept = 512

func (s *summary) add(v int64) {
	if s.count == 0 || v < s.least {
		s.least = v
	}
	s.most = max(s.most, v)
	s.count++
	s.sum += uint64(max(v, 0))
	if len(s.last) < summaryKept {
		s.last = append(s.last, v)
		return
	}
	s.last[s.at] = v
	s.at = (s.at + 1) % summaryKept
}

func (s *summary) avg() float64 {
	if s.count == 0 {
		return 0
	}
	return float64(s.sum) / float64(s.count)
}

// quantile is 0 of no samples; the caller tells that case apart where it matters.
func (s *summary) quantile(q float64) int64 {
	if len(s.last) == 0 {
		return 0
	}
	sorted := slices.Clone(s.last)
	slices.Sort(sorted)
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
