package broker

import (
	"os"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/perf"
)

// exportMachine shows what of the page cache waits for a disk. Where there is no /proc nothing is shown.
func exportMachine(r *perf.Registry) {
	for id, field := range map[perf.ReadID]string{perf.MachineDirty: "nr_dirty", perf.MachineWriteback: "nr_writeback"} {
		r.Read(id, func(emit perf.Emit) {
			text, err := os.ReadFile("/proc/vmstat")
			if err != nil {
				return
			}
			if pages, ok := vmstat(string(text), field); ok {
				emit(pages * float64(os.Getpagesize()))
			}
		})
	}
}

// vmstat finds a field of /proc/vmstat: lines of a name and a number.
func vmstat(text, field string) (float64, bool) {
	for line := range strings.Lines(text) {
		if name, number, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == field {
			n, err := strconv.ParseFloat(number, 64)
			return n, err == nil
		}
	}
	return 0, false
}
