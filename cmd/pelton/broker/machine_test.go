package broker_test

import (
	"os"
	"testing"
)

func TestMetricsShowDirtyPages(t *testing.T) {
	if _, err := os.Stat("/proc/vmstat"); err != nil {
		t.Skip("no /proc/vmstat here:", err)
	}
	page := own(t, "admin.listener=127.0.0.1:0").page(t)
	dirty, ok := page["broker_machine_dirty_bytes"]
	if _, also := page["broker_machine_writeback_bytes"]; !ok || !also || int64(dirty)%int64(os.Getpagesize()) != 0 {
		t.Errorf("%v bytes of dirty pages, shown %v, what is being written %v", dirty, ok, also)
	}
}
