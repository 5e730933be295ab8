package load

import (
	"math/bits"
	"sync/atomic"
)

// Rows of the heat map: two for each power of two of nanoseconds.
const (
	heatRows  = 64
	heatFirst = 12 // 4 µs and below are the first row
)

// live is what the progress line, the throughput curve and the heat map read while a run goes on.
type live struct {
	requests, bytes atomic.Int64
	heat            [heatRows]atomic.Int64
}

func (v *live) count(bytes int64) {
	v.requests.Add(1)
	v.bytes.Add(bytes)
}

func (v *live) observe(ns int64) { v.heat[heatRow(ns)].Add(1) }

// heatRow is the row of a latency.
func heatRow(ns int64) int {
	if ns < 1<<heatFirst {
		return 0
	}
	power := bits.Len64(uint64(ns)) - 1
	half := int(ns>>(power-1)) & 1
	return min((power-heatFirst)*2+half, heatRows-1)
}

// heatEnd is the first latency above a row.
func heatEnd(row int) int64 {
	power := row/2 + heatFirst
	if row%2 == 0 {
		return 3 << (power - 1)
	}
	return 1 << (power + 1)
}

// Interval is one tick of a run.
type Interval struct {
	AtSeconds float64 `json:"at_s"`
	Requests  int64   `json:"requests"`
	Bytes     int64   `json:"bytes"`
	Heat      []int64 `json:"heat,omitempty"` // requests by heat row, up to the last one that has any
}

// take is the interval since the last take.
func (v *live) take(at float64) Interval {
	i := Interval{AtSeconds: at, Requests: v.requests.Swap(0), Bytes: v.bytes.Swap(0)}
	last := 0
	var rows [heatRows]int64
	for r := range rows {
		if rows[r] = v.heat[r].Swap(0); rows[r] > 0 {
			last = r + 1
		}
	}
	i.Heat = append(i.Heat, rows[:last]...)
	return i
}

// worst is the upper end of the interval's slowest row, in nanoseconds.
func (i Interval) worst() int64 {
	if len(i.Heat) == 0 {
		return 0
	}
	return heatEnd(len(i.Heat) - 1)
}
