package netpoll

import (
	"os"

	"golang.org/x/sys/unix"
)

// PinThread binds the calling thread to one CPU; the goroutine must be locked to its thread.
func PinThread(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &set))
}

// UsableCPUs lists the CPUs that this thread may run on.
func UsableCPUs() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	var cpus []int
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}
