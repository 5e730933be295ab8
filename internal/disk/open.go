package disk

import (
	"fmt"
	"runtime"
	"strings"

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
			d := newRingDisk(ring, wakeFD)
			if err := d.configure(o); err != nil {
				d.Close()
				return nil, probe, err
			}
			below = d
		}
	}
	if below == nil && o.FixedBuffers != nil {
		closeWake(wakeFD)
		return nil, probe, fmt.Errorf("%w: registered buffers: there is no ring (%s)", ErrNotGranted, strings.Join(append(probe.Reasons, "backend "+o.Backend), "; "))
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
	ring, granted, err := o.OpenRing(uring.Options{Entries: o.Entries, SQPoll: o.SQPoll, NoDeferTaskrun: o.NoDeferTaskrun})
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
	return ring
}

// fixedMost bounds the pieces of memory that are registered; what comes after them is written like any other.
const fixedMost = 4096

// configure sets what was asked for by name: unlike what is only better with it, its refusal is an error.
func (d *ringDisk) configure(o Options) error {
	if n := o.IOWorkersUnbounded; n > 0 {
		if err := d.ring.SetWorkers(0, n); err != nil {
			return fmt.Errorf("%w: %d kernel workers: %w", ErrNotGranted, n, err)
		}
	}
	if len(o.IOWorkerCPUs) > 0 {
		if err := d.ring.SetWorkerCPUs(o.IOWorkerCPUs); err != nil {
			return fmt.Errorf("%w: kernel workers on CPUs %v: %w", ErrNotGranted, o.IOWorkerCPUs, err)
		}
	}
	if o.FixedBuffers == nil {
		return nil
	}
	fixed, err := uring.NewFixed(d.ring, fixedMost)
	if err != nil {
		return fmt.Errorf("%w: registered buffers: %w", ErrNotGranted, err)
	}
	d.fixed, d.pieces = fixed, o.FixedBuffers
	return nil
}
