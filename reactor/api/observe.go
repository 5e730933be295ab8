package api

import (
	"errors"
	"io"
	"syscall"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor/wire"
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

// sizeBytes is the size field in front of a frame.
const sizeBytes = 4

// countRequests counts requests that came, and takes one back that will come again with n -1.
func (l *Local) countRequests(key int16, n int64, frame []byte) {
	l.set.AddAt(perf.Requests, int(key), n)
	l.set.AddAt(perf.RequestBytes, int(key), n*int64(len(frame)+sizeBytes))
}

// countAnswer counts the bytes of an answer.
func (l *Local) countAnswer(key int16, bytes int64) { l.set.AddAt(perf.ResponseBytes, int(key), bytes) }

// countErrors counts a request whose answer has errors.
func (l *Local) countErrors(key int16, codes []int16) {
	if len(codes) == 0 {
		return
	}
	l.set.AddAt(perf.RequestErrors, int(key), 1)
	for _, code := range codes {
		l.set.AddAt(perf.AnsweredErrors, perf.CodeAt(code), 1)
	}
}

// countAppend counts what a producer has stored.
func (l *Local) countAppend(_ *Hosted, a *logstore.Append) {
	if a.Duplicate {
		l.set.Add(perf.ProduceDuplicates, int64(len(a.Info.Batches)))
		return
	}
	l.set.Add(perf.ProduceBytes, int64(len(a.Bytes)))
	l.set.Add(perf.ProduceRecords, a.Last-a.Base+1)
	l.set.Add(perf.ProduceBatches, int64(len(a.Info.Batches)))
}

// countProduce counts the errors of an answered request.
func (p *produce) countErrors() {
	codes := p.local.codes[:0]
	for i := range p.parts {
		if code := p.parts[i].res.Err; code != 0 {
			codes = append(codes, code)
		}
	}
	p.local.codes = codes
	p.local.set.Add(perf.ProduceRejected, int64(len(codes)))
	p.local.countErrors(keyProduce, codes)
}

// countErrors counts the errors of an answer that is about to go.
func (f *fetch) countErrors() {
	codes := f.local.codes[:0]
	if f.code != wire.None {
		codes = append(codes, int16(f.code))
	}
	for i := range f.parts {
		if code := f.parts[i].res.Err; code != 0 {
			codes = append(codes, code)
		}
	}
	f.local.codes = codes
	f.local.countErrors(keyFetch, codes)
}

// countDisk counts a completed operation. A durable write is a write and a sync.
func (l *Local) countDisk(op *disk.Op) {
	backend, kind := l.backend, perf.DiskOther
	if op.Inline() {
		backend = perf.BackendInline
	}
	switch op.Kind {
	case disk.Write:
		kind = perf.DiskWrite
	case disk.Read:
		kind = perf.DiskRead
	case disk.Sync:
		kind = perf.DiskSync
	case disk.ReadAhead:
		kind = perf.DiskReadAhead
	case disk.Nop:
	}
	at := perf.DiskAt(backend, kind)
	l.set.AddAt(perf.DiskOps, at, 1)
	l.set.AddAt(perf.DiskBytes, at, int64(op.N))
	if op.Err != nil {
		l.set.AddAt(perf.DiskErrors, at, 1)
	}
	if op.Kind == disk.Write && op.Durable {
		l.set.AddAt(perf.DiskOps, perf.DiskAt(backend, perf.DiskSync), 1)
	}
}

// backendOf is the backend under which a shard's disk is counted.
func backendOf(d disk.Disk) perf.Backend {
	if d.Backend() == "portable" {
		return perf.BackendPortable
	}
	return perf.BackendUring
}

// countClose counts the end of a connection and says under which cause.
func (l *Local) countClose(cause error) perf.Close {
	why := closeOf(cause)
	l.set.AddAt(perf.ConnectionsClosed, int(why), 1)
	if why == perf.CloseFrame {
		l.set.Add(perf.BadFrames, 1)
	}
	return why
}

// closeOf is the cause under which the end of a connection is counted.
func closeOf(cause error) perf.Close {
	for _, row := range []struct {
		err error
		why perf.Close
	}{
		{io.EOF, perf.CloseEOF},
		{syscall.ECONNRESET, perf.CloseReset},
		{syscall.EPIPE, perf.CloseReset},
		{netpoll.ErrIdle, perf.CloseIdle},
		{netpoll.ErrSlowReader, perf.CloseSlowReader},
		{netpoll.ErrFrameTooLarge, perf.CloseFrame},
		{netpoll.ErrFrameNegative, perf.CloseFrame},
		{netpoll.ErrFrameStalled, perf.CloseFrame},
		{netpoll.ErrNoMemory, perf.CloseLimit},
		{errConnectionRate, perf.CloseLimit},
		{errProtocol, perf.CloseProtocol},
		{errAcksZero, perf.CloseProtocol},
		{netpoll.ErrClosed, perf.CloseStop},
	} {
		if errors.Is(cause, row.err) {
			return row.why
		}
	}
	return perf.CloseOther
}
