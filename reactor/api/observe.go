package api

import (
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/perf"
)

// observe counts one answered request.
func (l *Local) observe(key int16, ns int64) { l.set.Observe(perf.RequestSeconds, ns) }

// countAppend counts what a producer has stored.
func (l *Local) countAppend(_ *Hosted, a *logstore.Append) {
	l.set.Add(perf.ProduceBytes, int64(len(a.Bytes)))
	l.set.Add(perf.ProduceRecords, a.Last-a.Base+1)
}
