package api

import (
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/perf"
)

// observe counts one answered request.
func (l *Local) observe(key int16, ns int64) {
	l.set.ObserveAt(perf.RequestSeconds, int(classOf(key)), ns)
}

// classOf is the class in whose histogram a key's latencies are kept.
func classOf(key int16) perf.Class {
	switch key {
	case keyProduce:
		return perf.ClassProduce
	case keyFetch:
		return perf.ClassFetch
	}
	return perf.ClassOther
}

// countAppend counts what a producer has stored.
func (l *Local) countAppend(_ *Hosted, a *logstore.Append) {
	l.set.Add(perf.ProduceBytes, int64(len(a.Bytes)))
	l.set.Add(perf.ProduceRecords, a.Last-a.Base+1)
}
