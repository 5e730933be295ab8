package broker_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/reactor"
)

// quiet are settings under which nothing but requests keeps a broker busy.
func quiet(more ...string) []string {
	return append([]string{"log.retention.check.interval.ms=3600000", "log.flush.offset.checkpoint.interval.ms=3600000",
		"offsets.retention.check.interval.ms=3600000", "pelton.connection.migration=false", "producer.id.expiration.check.interval.ms=3600000", "zookeeper.session.timeout.ms=60000"}, more...)
}

// allocatesNothing asks many times and fails unless some round of requests allocated nothing at all: what else a process does now and then
// (pings of the session, counters that a shard publishes each second) does not fall into every round.
func allocatesNothing(t *testing.T, what string, once func()) {
	t.Helper()
	const warm, rounds, times = 64, 300, 40
	for range warm { // lists and buffers grow to their size
		once()
	}
	least := uint64(1 << 62)
	for range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			once()
		}
		runtime.ReadMemStats(&after)
		// Other goroutines of the process allocate now and then; what the path itself allocates is in every round.
		if least = min(least, after.Mallocs-before.Mallocs); least == 0 {
			return
		}
	}
	t.Errorf("%s: %d allocations in %d requests", what, least, times)
}

// onEachShard makes a topic with a partition on each of two shards and a connection to each, and runs a test for all four pairs.
func onEachShard(t *testing.T, n *node, test func(t *testing.T, x *exchange, name string, partition int32)) {
	c := n.dial(t)
	name := topic(t, c, 16)
	for i, pair := 0, [2]*exchange{n.call(t), n.call(t)}; i < 2; i++ {
		partition := int32(0)
		for reactor.Route(name, partition, 2) != i {
			partition++
		}
		for j, x := range pair {
			t.Run(fmt.Sprintf("owner-%d-connection-%d", i, j), func(t *testing.T) {
				x.t = t
				test(t, x, name, partition)
			})
		}
	}
}

func skipInCheckBuilds(t *testing.T) {
	t.Helper()
	if invariant.Enabled {
		t.Skip("built with the race detector or the tag invariants, whose checks allocate; make release-test counts without them")
	}
}

func TestProduceAllocatesNothing(t *testing.T) {
	skipInCheckBuilds(t)
	n := own(t, quiet()...)
	onEachShard(t, n, func(t *testing.T, x *exchange, name string, partition int32) {
		id := topicID(n.dial(t), name)
		for _, size := range []int{100, 16 << 10} {
			for _, version := range []int16{3, 9, 13} {
				for _, acks := range []int16{1, -1} {
					req := produceRequest(name, partition, acks, values(strings.Repeat("v", size)))
					req.Topics[0].TopicID = id
					frame := frameOf(1, version, req)
					x.ask(frame)
					want(t, "error", x.decode(req).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode, 0)
					allocatesNothing(t, fmt.Sprintf("produce v%d, acks %d, %d bytes", version, acks, size), func() { x.ask(frame) })
				}
			}
		}
	})
}

func TestFetchAllocatesNothing(t *testing.T) {
	skipInCheckBuilds(t)
	n := own(t, quiet()...)
	onEachShard(t, n, func(t *testing.T, x *exchange, name string, partition int32) {
		c := n.dial(t)
		id := topicID(c, name)
		produceTo(c, name, partition, values(strings.Repeat("v", 16<<10)))
		for _, version := range []int16{4, 12, 17} {
			req := fetchRequest(name, partition, 0)
			req.Topics[0].TopicID = id
			frame := frameOf(1, version, req)
			x.ask(frame)
			got := x.decode(req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
			if got.ErrorCode != 0 || len(got.RecordBatches) < 16<<10 {
				t.Fatalf("v%d: error %d, %d bytes", version, got.ErrorCode, len(got.RecordBatches))
			}
			allocatesNothing(t, fmt.Sprintf("fetch v%d", version), func() { x.ask(frame) })
		}
	})
}

// openSession starts a fetch session over one partition and gives its id.
func openSession(t *testing.T, x *exchange, version int16, req *kmsg.FetchRequest) int32 {
	t.Helper()
	req.SessionID, req.SessionEpoch = 0, 0
	x.ask(frameOf(1, version, req))
	resp := x.decode(req).(*kmsg.FetchResponse)
	if resp.SessionID == 0 || resp.ErrorCode != 0 {
		t.Fatalf("session %d, error %d", resp.SessionID, resp.ErrorCode)
	}
	return resp.SessionID
}

// A consumer names its partitions once and then only what changed.
func TestFetchInSessionAllocatesNothing(t *testing.T) {
	skipInCheckBuilds(t)
	n := own(t, quiet()...)
	onEachShard(t, n, func(t *testing.T, x *exchange, name string, partition int32) {
		c := n.dial(t)
		id := topicID(c, name)
		produceTo(c, name, partition, values(strings.Repeat("v", 16<<10)))
		for _, version := range []int16{7, 12, 17} {
			for what, named := range map[string]bool{"with nothing changed": false, "with an offset": true} {
				req := fetchRequest(name, partition, 0)
				req.Topics[0].TopicID = id
				req.SessionID = openSession(t, x, version, req)
				if !named {
					req.Topics = nil
				}
				at := place(t, 4, func(v uint64) []byte { req.SessionEpoch = int32(v); return frameOf(1, version, req) })
				frame, epoch := frameOf(1, version, req), uint32(0)
				allocatesNothing(t, fmt.Sprintf("fetch v%d %s", version, what), func() {
					epoch++
					binary.BigEndian.PutUint32(frame[at:], epoch)
					x.ask(frame)
				})
				resp := x.decode(req).(*kmsg.FetchResponse)
				if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions[0].RecordBatches) < 16<<10 {
					t.Fatalf("v%d %s: error %d, %d topics", version, what, resp.ErrorCode, len(resp.Topics))
				}
			}
		}
	})
}

// A consumer at the end of the log waits, and a producer's records end the wait.
func TestTailAllocatesNothing(t *testing.T) {
	skipInCheckBuilds(t)
	n := own(t, quiet()...)
	onEachShard(t, n, func(t *testing.T, x *exchange, name string, partition int32) {
		c, producer := n.dial(t), n.call(t)
		end := uint64(listOffset(c, listVersion, name, partition, -1).Offset)
		put := frameOf(1, produceVersion, produceRequest(name, partition, 1, values("v")))
		req := fetchRequest(name, partition, 0)
		req.MaxWaitMillis = int32(answerWithin.Milliseconds())
		at := place(t, 8, func(v uint64) []byte {
			req.Topics[0].Partitions[0].FetchOffset = int64(v)
			return frameOf(1, fetchVersion, req)
		})
		frame := frameOf(1, fetchVersion, req)
		allocatesNothing(t, "a fetch that waits and a produce", func() {
			binary.BigEndian.PutUint64(frame[at:], end)
			x.send(frame)
			producer.ask(put)
			x.receive()
			end++
		})
		got := x.decode(req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if got.ErrorCode != 0 || len(got.RecordBatches) == 0 {
			t.Fatalf("error %d, %d bytes", got.ErrorCode, len(got.RecordBatches))
		}
	})
}
