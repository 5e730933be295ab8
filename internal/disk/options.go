package disk

import (
	"fmt"
	"strings"

	"github.com/pelton-broker/pelton/internal/uring"
)

// Options choose and size a backend. Zero fields get the defaults.
type Options struct {
	// Backend is "auto" (default), "uring" or "portable".
	Backend string
	// Entries is the size of the submission queue, at least 2; the completion queue is twice that and bounds what is in flight. Default 512.
	Entries int
	// SQPoll lets a kernel thread pick submissions up. Off: it burns a core and was not measured to help.
	SQPoll bool
	// InlineMax is the largest append that auto writes inline. Default 64 KiB.
	InlineMax int
	// SlowNs is how long an inline write may take before it counts as slow. Default 1 ms.
	SlowNs int64
	// Workers is the number of portable workers per directory. Default max(4, 2 × CPUs).
	Workers int
	// IOWorkers bounds the ring's own kernel workers for file writes. Default max(4, 2 × CPUs).
	IOWorkers int
	// IOWorkerCPUs pins the ring's kernel workers; empty leaves them where the kernel puts them.
	IOWorkerCPUs []int
	// IOWorkersUnbounded bounds the ring's kernel workers for everything else; 0 leaves the kernel's number.
	IOWorkersUnbounded int
	// NoDeferTaskrun asks for a ring whose completions the kernel does not put off.
	NoDeferTaskrun bool
	// FixedBuffers, when set, gives the memory that came to the shard's since the first so many pieces of it; it is registered with the ring,
	// and writes of one piece from it go as such. The pieces stay in place until the disk is closed.
	FixedBuffers func(seen int) [][]byte
	// OpenRing replaces uring.Open in tests.
	OpenRing func(uring.Options) (uring.Ring, uring.Probe, error)
}

const (
	defaultEntries   = 512
	defaultInlineMax = 64 << 10
	defaultSlowNs    = 1_000_000
	minWorkers       = 4
)

func (o *Options) setDefaults(cpus int) {
	if o.Backend == "" {
		o.Backend = "auto"
	}
	if o.Entries <= 0 {
		o.Entries = defaultEntries
	}
	o.Entries = max(o.Entries, 2)
	if o.InlineMax == 0 {
		o.InlineMax = defaultInlineMax
	}
	if o.SlowNs <= 0 {
		o.SlowNs = defaultSlowNs
	}
	if o.Workers <= 0 {
		o.Workers = max(minWorkers, 2*cpus)
	}
	if o.IOWorkers <= 0 {
		o.IOWorkers = max(minWorkers, 2*cpus)
	}
	if o.OpenRing == nil {
		o.OpenRing = uring.Open
	}
}

// Probe says what Open found.
type Probe struct {
	Backend string      // what Disk.Backend says: "auto" (which implies a ring), "uring" or "portable"
	Async   string      // who carries asynchronous operations: "uring" or "portable"
	Ring    uring.Probe // what the kernel granted, when a ring was asked for
	Reasons []string    // one line for each step down, empty when everything asked for was granted
}

// String is one line for the log and the ready line.
func (p Probe) String() string {
	s := "disk backend " + p.Backend
	if p.Ring.Granted {
		s += fmt.Sprintf(", ring %s", p.Ring.String())
	}
	if len(p.Reasons) > 0 {
		s += " (" + strings.Join(p.Reasons, "; ") + ")"
	}
	return s
}
