package broker_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/reactor"
)

// spent is what a broker's shards did while fn ran, summed.
func (n *node) spent(fn func()) (d reactor.Stats) {
	before := n.broker.Counters()
	fn()
	for i, after := range n.broker.Counters() {
		b := &before[i]
		d.Turns += after.Turns - b.Turns
		d.Sent += after.Sent - b.Sent
		d.Net.Reads += after.Net.Reads - b.Net.Reads
		d.Net.Sends += after.Net.Sends - b.Net.Sends
		d.Net.Sendfiles += after.Net.Sendfiles - b.Net.Sendfiles
		d.Net.BytesOut += after.Net.BytesOut - b.Net.BytesOut
		d.Net.OutOwned += after.Net.OutOwned - b.Net.OutOwned
		d.Net.OutBorrowed += after.Net.OutBorrowed - b.Net.OutBorrowed
		d.Net.OutSpan += after.Net.OutSpan - b.Net.OutSpan
		d.Net.Copied += after.Net.Copied - b.Net.Copied
		d.Disk.Enters += after.Disk.Enters - b.Disk.Enters
		d.Disk.Submitted += after.Disk.Submitted - b.Disk.Submitted
	}
	return d
}

// atMost fails when a count is above its bound.
func atMost(t *testing.T, what string, got, bound uint64) {
	t.Helper()
	t.Logf("%s: %d, at most %d", what, got, bound)
	if got > bound {
		t.Errorf("%s: %d, at most %d", what, got, bound)
	}
}

// Every byte of every record leaves by sendfile, and what is made in memory is the answers' frames and nothing else.
func TestFetchCopiesNoRecord(t *testing.T) {
	n := own(t, quiet()...)
	onEachShard(t, n, func(t *testing.T, x *exchange, name string, partition int32) {
		c := n.dial(t)
		for _, size := range []int{10, 1000, 16 << 10, 900 << 10} { // small ones are not copied either
			produceTo(c, name, partition, values(strings.Repeat("v", size)))
		}
		req := fetchRequest(name, partition, 0)
		req.Topics[0].Partitions[0].PartitionMaxBytes = 8 << 20
		frame := frameOf(1, fetchVersion, req)
		const times = 50
		answered, records := 0, 0
		d := n.spent(func() {
			for range times {
				x.ask(frame)
				answered += x.got
				records += len(x.decode(req).(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches)
			}
		})
		if records < times*(900<<10) {
			t.Fatalf("%d bytes of records", records)
		}
		want(t, "bytes sent by sendfile", d.Net.OutSpan, uint64(records))
		want(t, "bytes sent from memory", d.Net.OutOwned+d.Net.OutBorrowed, uint64(answered-records))
		want(t, "bytes sent", d.Net.BytesOut, uint64(answered))
		want(t, "bytes of frames copied", d.Net.Copied, 0)
	})
}

// Bounds on system calls, by the shards' own counters. They are counts of work, not of time: a loaded machine only changes how many bytes a
// read finds, and the bounds leave room for that.
func TestCallsPerMegabyte(t *testing.T) {
	n := own(t, quiet("message.max.bytes=2000000")...)
	const megabyte, times = 1 << 20, 32
	onEachShard(t, n, func(t *testing.T, x *exchange, name string, partition int32) {
		produceReq := produceRequest(name, partition, 1, values(slices.Repeat([]string{strings.Repeat("v", 1000)}, 1000)...))
		put := frameOf(1, produceVersion, produceReq)
		d := n.spent(func() {
			for range times {
				x.ask(put)
			}
		})
		want(t, "error", x.decode(produceReq).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode, 0)
		atMost(t, "produce: reads per MB", d.Net.Reads/times, 20)
		atMost(t, "produce: sends", d.Net.Sends, times)
		atMost(t, "produce: disk operations", d.Disk.Submitted, times+8)
		atMost(t, "produce: ring enters", d.Disk.Enters, min(2*times+8, 2*d.Turns))
		atMost(t, "produce: bytes copied per request, the beginning of its frame", d.Net.Copied/times, 128<<10)

		fetchReq := fetchRequest(name, partition, 0)
		get := frameOf(1, fetchVersion, fetchReq)
		records := 0
		d = n.spent(func() {
			for range times {
				x.ask(get)
				records += len(x.decode(fetchReq).(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches)
			}
		})
		atMost(t, "fetch: sends", d.Net.Sends, 2*times)
		atMost(t, "fetch: sendfiles per MB", d.Net.Sendfiles*megabyte/uint64(records), 16)
		atMost(t, "fetch: ring enters", d.Disk.Enters, min(times, 2*d.Turns))
	})
}

// Requests that come together are read, written and answered together.
func TestCallsOfPipelinedRequests(t *testing.T) {
	n := own(t, quiet()...)
	const depth, times = 64, 20
	onEachShard(t, n, func(t *testing.T, x *exchange, name string, partition int32) {
		frame := frameOf(1, produceVersion, produceRequest(name, partition, 1, values("v")))
		all := slices.Repeat(frame, depth)
		d := n.spent(func() {
			for range times {
				x.send(all)
				for range depth {
					x.receive()
				}
			}
		})
		atMost(t, "reads", d.Net.Reads, times*depth/16)
		atMost(t, "sends", d.Net.Sends, times*depth/8)
		atMost(t, "ring enters", d.Disk.Enters, 2*d.Turns)
		if d.Sent == 0 { // another shard takes the requests as they come, so how many it finds at once is a matter of time
			atMost(t, "disk operations", d.Disk.Submitted, times*depth/16)
			atMost(t, "turns", d.Turns, times*depth/8)
		}
	})
}
