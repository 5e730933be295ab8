package load

import "sync/atomic"

// live is what the progress line and the throughput curve read while a run goes on.
type live struct {
	requests, bytes atomic.Int64
	worst           atomic.Int64 // since the last look
}

func (v *live) count(bytes int64) {
	v.requests.Add(1)
	v.bytes.Add(bytes)
}

func (v *live) observe(_, ns int64) {
	for {
		old := v.worst.Load()
		if ns <= old || v.worst.CompareAndSwap(old, ns) {
			return
		}
	}
}
