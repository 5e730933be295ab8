package broker_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/cmd/pelton/broker"
	"github.com/pelton-broker/pelton/internal/config"
)

// Every way of records to the socket brings the same bytes, and the page tells which it was.
func TestSendPathOfRecords(t *testing.T) {
	var due []byte
	for _, path := range []string{"sendfile", "copy", "zerocopy"} {
		t.Run(path, func(t *testing.T) {
			n := own(t, quiet("admin.listener=127.0.0.1:0", "pelton.send.path="+path)...)
			c := n.dial(t)
			const name = "records"
			makeTopic(t, c, name, 1)
			size := 0
			for i := range 10 {
				b := values(strings.Repeat(fmt.Sprint(i), 40_000))
				size += len(b)
				mustProduce(c, name, b)
			}
			before := n.page(t)
			got := bytes.Clone(ask[*kmsg.FetchResponse](c, fetchVersion, fetchRequest(name, 0, 0)).Topics[0].Partitions[0].RecordBatches)
			if len(got) != size || due != nil && !bytes.Equal(stampless(got), due) {
				t.Fatalf("%d bytes, %d were produced; or they differ", len(got), size)
			}
			due = stampless(got)
			const byFile, fromMemory, byReference = "broker_network_sendfile_bytes_total", "broker_network_records_copied_bytes_total", "broker_network_zerocopy_sends_total"
			eventually(t, "the shards have told", func() bool {
				p := n.page(t)
				return p[byFile]-before[byFile]+p[fromMemory]-before[fromMemory] >= float64(size)
			})
			p := n.page(t)
			if (p[byFile] > 0) != (path == "sendfile") || (p[fromMemory] > 0) != (path != "sendfile") || (p[byReference] > 0) != (path == "zerocopy") {
				t.Errorf("%v bytes by sendfile, %v copied, %v sends by reference", p[byFile], p[fromMemory], p[byReference])
			}
		})
	}
}

// stampless leaves the leader epochs out, which a broker of its own may count differently.
func stampless(b []byte) []byte {
	b = bytes.Clone(b)
	for at := 0; at+17 < len(b); {
		copy(b[at+12:at+16], []byte{0, 0, 0, 0})
		at += 12 + int(b[at+8])<<24 + int(b[at+9])<<16 + int(b[at+10])<<8 + int(b[at+11])
	}
	return b
}

// The ring's settings reach the ring: what was granted is told, and appends are written from registered buffers.
func TestRingKnobs(t *testing.T) {
	n := own(t, quiet("admin.listener=127.0.0.1:0", "pelton.disk.backend=uring", "pelton.uring.fixed.buffers=true", "pelton.uring.defer.taskrun=false",
		"pelton.uring.iowq.bounded.max=2", "pelton.uring.iowq.unbounded.max=2", "pelton.uring.iowq.affinity=shard")...)
	ready := n.broker.Ready()
	if ready.Disk != "uring" {
		t.Skipf("no ring here: %v", ready.DiskWhy)
	}
	c := n.dial(t)
	const name = "records"
	makeTopic(t, c, name, 4)
	for i := range 40 {
		want(t, "produce", produceTo(c, name, int32(i%4), values(strings.Repeat("x", 100*i))).ErrorCode, 0)
	}
	eventually(t, "appends from registered buffers", func() bool { return n.page(t)["broker_disk_fixed_writes_total"] > 0 })
	for p := range int32(4) {
		want(t, "records", len(readAll(c, name, p, 0)), 10)
	}
}

// A setting that cannot be had is refused at start, with its key or its reason.
func TestKnobsAreRefused(t *testing.T) {
	for setting, why := range map[string]string{
		"pelton.uring.iowq.affinity=0-x":           "0-x",
		"pelton.uring.iowq.affinity=900":           "CPU 900",
		"pelton.send.path=splice":                  "sendfile, copy, zerocopy",
		"pelton.socket.cork=sometimes":             "auto, always, never",
		"pelton.socket.quickack=yes":               "kernel, on, off",
		"pelton.uring.fixed.buffers=true portable": "registered buffers: there is no ring",
	} {
		t.Run(setting, func(t *testing.T) {
			keys := defaults(t.TempDir())
			for _, s := range strings.Fields(setting) {
				key, value, _ := strings.Cut(s, "=")
				if s == "portable" {
					key, value = "pelton.disk.backend", s
				}
				keys[key] = value
			}
			c, _, err := config.Load(nil, maps.Clone(keys), nil)
			if err == nil {
				ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
				defer cancel()
				var b *broker.Broker
				if b, err = broker.Start(ctx, c, testLog()); err == nil {
					_ = b.Stop(ctx)
				}
			}
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Fatalf("got %v, want %q in it", err, why)
			}
		})
	}
}

// Settings of sockets reach them: answers come whole and in order whatever holds them together or not.
func TestSocketKnobs(t *testing.T) {
	for _, settings := range [][]string{
		{"pelton.socket.nodelay=false", "pelton.socket.cork=always", "pelton.socket.quickack=on"},
		{"pelton.socket.cork=never", "pelton.socket.quickack=off"},
	} {
		n := own(t, quiet(append(settings, "admin.listener=127.0.0.1:0")...)...)
		c := n.dial(t)
		const name = "records"
		makeTopic(t, c, name, 2)
		for i := range 30 {
			want(t, "produce", produceTo(c, name, int32(i%2), values(fmt.Sprint(i))).ErrorCode, 0)
		}
		for p := range int32(2) {
			want(t, "records", len(readAll(c, name, p, 0)), 15)
		}
		corks := n.page(t)["broker_network_corks_total"]
		if strings.HasSuffix(settings[0], "never") != (corks == 0) && settings[0] != "pelton.socket.nodelay=false" {
			t.Errorf("%v: %v corks", settings, corks)
		}
	}
}
