package perf

import "sync/atomic"

// cacheLine keeps the slots of two shards from sharing a line.
const cacheLine = 64

// layout says where each metric's slots begin; it is made once and shared by all sets.
type layout struct {
	at    [numIDs]int32
	size  [numIDs]int32
	total int
	hist  [numHistIDs]int32
	hsize [numHistIDs]int32
	hists int
}

func newLayout() *layout {
	l := &layout{}
	for id, row := range Counters() {
		l.at[id], l.size[id] = int32(l.total), int32(row.Dim.Size())
		l.total += row.Dim.Size()
	}
	for id, row := range Histograms() {
		l.hist[id], l.hsize[id] = int32(l.hists), int32(row.Dim.Size())
		l.hists += row.Dim.Size()
	}
	return l
}

// Set is the counters and histograms of one shard. Its methods that write belong to that shard's
// thread; everything else may be called from anywhere.
type Set struct {
	lay   *layout
	slots []int64
	hists []Hist
	trace *Trace
}

func newSet(l *layout) *Set {
	// A line of padding on both sides: the slots of two sets never meet in one.
	pad := cacheLine / 8
	raw := make([]int64, l.total+2*pad)
	return &Set{lay: l, slots: raw[pad : pad+l.total : pad+l.total], hists: make([]Hist, l.hists), trace: NewTrace(256)}
}

// Add moves a counter or gauge that has no dimension.
func (s *Set) Add(id ID, n int64) {
	p := &s.slots[s.lay.at[id]]
	store(p, *p+n)
}

// AddAt moves a counter or gauge at a position of its dimension.
func (s *Set) AddAt(id ID, at int, n int64) {
	p := &s.slots[s.lay.at[id]+s.clamp(id, at)]
	store(p, *p+n)
}

// SetGauge sets a gauge that has no dimension.
func (s *Set) SetGauge(id ID, v int64) { store(&s.slots[s.lay.at[id]], v) }

// Observe records nanoseconds in a histogram that has no dimension.
func (s *Set) Observe(id HistID, ns int64) { s.hists[s.lay.hist[id]].Record(ns) }

// ObserveAt records nanoseconds in a histogram at a position of its dimension.
func (s *Set) ObserveAt(id HistID, at int, ns int64) {
	if uint(at) >= uint(s.lay.hsize[id]) {
		at = int(s.lay.hsize[id]) - 1
	}
	s.hists[int(s.lay.hist[id])+at].Record(ns)
}

// Trace is the shard's ring of recent turns and slow operations.
func (s *Set) Trace() *Trace { return s.trace }

// Value reads a counter or gauge, summed over its dimension.
func (s *Set) Value(id ID) int64 {
	var sum int64
	for i := s.lay.at[id]; i < s.lay.at[id]+s.lay.size[id]; i++ {
		sum += atomic.LoadInt64(&s.slots[i])
	}
	return sum
}

// ValueAt reads a counter or gauge at a position of its dimension.
func (s *Set) ValueAt(id ID, at int) int64 {
	return atomic.LoadInt64(&s.slots[s.lay.at[id]+s.clamp(id, at)])
}

// Hist is the histogram at a position of its dimension, for reading.
func (s *Set) Hist(id HistID, at int) *Hist { return &s.hists[int(s.lay.hist[id])+at] }

// clamp keeps a position inside its dimension: what is outside counts as the last one, "other".
func (s *Set) clamp(id ID, at int) int32 {
	if uint(at) >= uint(s.lay.size[id]) {
		return s.lay.size[id] - 1
	}
	return int32(at)
}

// Shared is the counters of everything that runs off the shards; any thread may write it.
type Shared struct{ set *Set }

// Add moves a counter or gauge that has no dimension.
func (s *Shared) Add(id ID, n int64) { atomic.AddInt64(&s.set.slots[s.set.lay.at[id]], n) }

// AddAt moves a counter or gauge at a position of its dimension.
func (s *Shared) AddAt(id ID, at int, n int64) {
	atomic.AddInt64(&s.set.slots[s.set.lay.at[id]+s.set.clamp(id, at)], n)
}
