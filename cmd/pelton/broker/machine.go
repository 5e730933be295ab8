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
			if bytes, ok := PagesOf(string(text), field); ok {
				emit(float64(bytes))
			}
		})
	}
}

// PagesOf finds a field of /proc/vmstat that counts pages, in bytes. The text is lines of a name and a number.
func PagesOf(text, field string) (bytes int64, ok bool) {
	for line := range strings.Lines(text) {
		if name, number, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == field {
			n, err := strconv.ParseInt(number, 10, 64)
			return n * int64(os.Getpagesize()), err == nil
		}
	}
	return 0, false
}
