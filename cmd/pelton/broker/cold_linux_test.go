package broker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// evict drops the log file of a partition from the page cache, or skips the test where that cannot be done.
func (n *node) evict(t *testing.T, partition string) {
	t.Helper()
	f, err := os.Open(filepath.Join(n.keys["log.dirs"], partition, "00000000000000000000.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		t.Fatal(err)
	}
	one := [][]byte{make([]byte, 1)}
	if _, err := unix.Preadv2(int(f.Fd()), one, 0, unix.RWF_NOWAIT); err != unix.EAGAIN {
		t.Skipf("the file system of %s does not let go of cached pages: %v", f.Name(), err)
	}
}

// readAheads is how often the shards' disks brought a range into the page cache.
func (n *node) readAheads(t *testing.T) (total float64) {
	t.Helper()
	for name, v := range n.page(t) {
		if strings.HasPrefix(name, "broker_disk_operations_total{") && strings.Contains(name, `kind="readahead"`) {
			total += v
		}
	}
	return total
}

// With pelton.read.ahead.bytes a cold fetch brings in what lies far behind what was asked for; without, it does not.
func TestFetchLoadsWhatComesNext(t *testing.T) {
	const batches, far = 60, 40 << 20
	for _, ahead := range []string{"0", "67108864"} {
		n := own(t, quiet("admin.listener=127.0.0.1:0", "pelton.read.ahead.bytes="+ahead)...)
		c := n.dial(t)
		name := topic(t, c, 1)
		records := values(strings.Repeat("cold", 200_000))
		for range batches {
			mustProduce(c, name, records)
		}
		n.restart(t)
		n.evict(t, name+"-0")
		want(t, "bytes of the fetch", len(fetch(n.dial(t), name, 0).RecordBatches), len(records))
		f, err := os.Open(filepath.Join(n.keys["log.dirs"], name+"-0", "00000000000000000000.log"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = unix.Preadv2(int(f.Fd()), [][]byte{make([]byte, 1)}, far, unix.RWF_NOWAIT)
		if cached := err == nil; cached != (ahead != "0") {
			t.Errorf("ahead %s: byte %d is in the page cache: %v (%v)", ahead, far, cached, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What is not in the page cache is read by the disk before it is sent, so that sendfile never waits on the shard; what is there is sent at once.
func TestFetchReadsColdDataAhead(t *testing.T) {
	for _, backend := range []string{"auto", "portable"} {
		t.Run(backend, func(t *testing.T) {
			n := own(t, quiet("admin.listener=127.0.0.1:0", "pelton.disk.backend="+backend)...)
			c := n.dial(t)
			name := topic(t, c, 1)
			records := values(strings.Repeat("cold", 200_000))
			mustProduce(c, name, records)
			n.restart(t)
			n.evict(t, name+"-0")
			c = n.dial(t)

			before := n.readAheads(t)
			want(t, "bytes of the cold fetch", len(fetch(c, name, 0).RecordBatches), len(records))
			cold := n.readAheads(t)
			if cold <= before {
				t.Error("evicted data was sent without having been read ahead")
			}
			want(t, "bytes of the warm fetch", len(fetch(c, name, 0).RecordBatches), len(records))
			want(t, "what is cached is read ahead", n.readAheads(t)-cold, 0)
		})
	}
}
