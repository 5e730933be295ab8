package disk

import (
	"fmt"
	"runtime"

	"github.com/pelton-broker/pelton/internal/uring"
)

// Names of the backends, as in Options.Backend and Disk.Backend.
const (
	backendAuto     = "auto"
	backendRing     = "uring"
	backendPortable = "portable"
)

// Open makes the Disk of the calling thread, which must be locked and stay the only user. Without a ring auto and uring step down to portable;
// the reason is in Probe.
func Open(o Options) (Disk, Probe, error) {
	o.setDefaults(runtime.NumCPU())
	var probe Probe
	switch o.Backend {
	case backendAuto, backendRing, backendPortable:
	default:
		return nil, probe, fmt.Errorf("disk: backend %q is none of auto, uring, portable", o.Backend)
	}
	wakeFD, err := newWake()
	if err != nil {
		return nil, probe, fmt.Errorf("disk: eventfd: %w", err)
	}
	var below asyncDisk
	if o.Backend != backendPortable {
		if ring := openRing(o, wakeFD, &probe); ring != nil {
			below = newRingDisk(ring, wakeFD)
		}
	}
	if below == nil {
		below = newPortableDisk(o.Workers, wakeFD)
	}
	probe.Async = below.Backend()
	var d Disk = below
	if o.Backend == backendAuto {
		d = newAutoDisk(below, o)
	}
	probe.Backend = d.Backend()
	return d, probe, nil
}

// openRing returns a ring that wakes wakeFD, or nil with the reason noted.
func openRing(o Options, wakeFD int, probe *Probe) uring.Ring {
	ring, granted, err := o.OpenRing(uring.Options{Entries: o.Entries, SQPoll: o.SQPoll})
	probe.Ring = granted
	probe.Reasons = append(probe.Reasons, granted.Reasons...)
	if err != nil {
		probe.Reasons = append(probe.Reasons, err.Error()+" → portable")
		return nil
	}
	for _, c := range []uring.Code{uring.CodeWrite, uring.CodeWritev, uring.CodeRead, uring.CodeReadv, uring.CodeFsync} {
		if !granted.Has(c) {
			probe.Reasons = append(probe.Reasons, fmt.Sprintf("ring lacks operation %d → portable", c))
			_ = ring.Close()
			return nil
		}
	}
	if err := ring.RegisterEventFD(wakeFD); err != nil {
		probe.Reasons = append(probe.Reasons, "ring takes no eventfd: "+err.Error()+" → portable")
		_ = ring.Close()
		return nil
	}
	if err := ring.SetWorkers(o.IOWorkers, 0); err != nil {
		probe.Reasons = append(probe.Reasons, "kernel workers not bounded: "+err.Error())
	}
	if len(o.IOWorkerCPUs) > 0 {
		if err := ring.SetWorkerCPUs(o.IOWorkerCPUs); err != nil {
			probe.Reasons = append(probe.Reasons, "kernel workers not pinned: "+err.Error())
		}
	}
	return ring
}
