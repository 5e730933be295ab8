package load

import (
	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxLatencyNs is the largest latency kept apart; longer ones count as it.
const maxLatencyNs = int64(120e9)

// Stats is what one connection, or all of a run together, did.
type Stats struct {
	Requests int64
	Records  int64
	Bytes    int64 // of record batches
	Errors   int64
	Late     int64 // open loop: requests sent after their time by more than their interval
	Acked    map[int32]int64
	Latency  *hdrhistogram.Histogram // nanoseconds; open loop: from the intended time
}

// newStats makes empty counts; acked holds each partition from the start, so that counting does not allocate.
func newStats(partitions []int32) *Stats {
	s := &Stats{Latency: hdrhistogram.New(1, maxLatencyNs, 3), Acked: make(map[int32]int64, len(partitions))}
	for _, p := range partitions {
		s.Acked[p] = 0
	}
	return s
}

func (s *Stats) observe(ns int64) { _ = s.Latency.RecordValue(min(max(ns, 1), maxLatencyNs)) }

// Merge adds another connection's counts.
func (s *Stats) Merge(o *Stats) {
	s.Requests += o.Requests
	s.Records += o.Records
	s.Bytes += o.Bytes
	s.Errors += o.Errors
	s.Late += o.Late
	for p, n := range o.Acked {
		s.Acked[p] += n
	}
	s.Latency.Merge(o.Latency)
}

// Quantile is a latency in nanoseconds; q from 0 to 1.
func (s *Stats) Quantile(q float64) int64 { return s.Latency.ValueAtQuantile(q * 100) }
