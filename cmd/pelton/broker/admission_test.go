package broker_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// manyParts is a fetch of partition 0 and of many that do not exist: large once decoded.
func manyParts(name string, n int32) *kmsg.FetchRequest {
	req := fetchRequest(name, 0, 0)
	for i := int32(1); i < n; i++ {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, fetchPartition(i+100, 0))
	}
	return req
}

// Fetches whose partitions would cost more memory than the shard has wait as bytes, and go on when others have been answered.
func TestFetchWaitsForMemory(t *testing.T) {
	n := own(t, "admin.listener=127.0.0.1:0", "num.shards=1", "socket.request.max.bytes=1048576", "pelton.request.memory.bytes=2097152")
	c := n.dial(t)
	name := topic(t, c, 1)
	const readers = 6
	came := func() uint64 { return n.broker.Counters()[0].Net.Frames }
	before := came()
	req := waiting(manyParts(name, 1000), forLong, 1)
	var conns []*conn
	for range readers {
		r := n.dial(t)
		r.send(fetchVersion, req)
		conns = append(conns, r)
	}
	eventually(t, "all requests have come", func() bool { return came() == before+readers })
	// One has most of the memory, one the lane that is kept for large requests.
	if in := n.page(t)["broker_purgatory_fetch_waiting_count"]; in < 1 || in > 2 {
		t.Errorf("%v of %d fetches were taken in", in, readers)
	}
	c.works() // small requests do not
	mustProduce(c, name, values("v"))
	for _, r := range conns {
		resp := r.receive(r.corr, req).(*kmsg.FetchResponse)
		if got := len(resp.Topics[0].Partitions); got != 1000 || len(resp.Topics[0].Partitions[0].RecordBatches) == 0 {
			t.Fatalf("%d partitions, %d bytes", got, len(resp.Topics[0].Partitions[0].RecordBatches))
		}
	}
}

// A produce request of partitions without records costs many times its bytes, so it asks for that memory too.
func TestProduceOfManyPartitionsWaitsForMemory(t *testing.T) {
	n := own(t, "admin.listener=127.0.0.1:0", "num.shards=1", "socket.request.max.bytes=1048576", "pelton.request.memory.bytes=2097152")
	c := n.dial(t)
	name := topic(t, c, 1)
	req := produceRequest(name, 0, -1, values("v"))
	for i := int32(1); i < 20_000; i++ {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition = i
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
	}
	var conns []*conn
	for range 4 {
		w := n.dial(t)
		w.send(produceVersion, req)
		conns = append(conns, w)
	}
	for _, w := range conns {
		resp := w.receive(w.corr, req).(*kmsg.ProduceResponse)
		want(t, "partitions", len(resp.Topics[0].Partitions), 20_000)
		want(t, "the one that is there", resp.Topics[0].Partitions[0].ErrorCode, 0)
	}
}

// Frames that have begun and do not end hold up to 56 KiB each without asking the budget. All buffers of a shard together are bounded:
// connections are closed before memory is taken beyond that, and the shard goes on.
func TestBuffersOfAShardAreBounded(t *testing.T) {
	n := own(t, "num.shards=1", "socket.request.max.bytes=1048576", "pelton.request.memory.bytes=2097152")
	const bound = 3*2097152 + 1048576 + 8<<20
	part := make([]byte, 55<<10)
	part[1] = 1 // of 64 KiB
	var conns []*conn
	for range 300 {
		c := n.dial(t)
		_ = c.tryWrite(part) // it may be closed already
		conns = append(conns, c)
	}
	closed := func() uint64 { return n.broker.Counters()[0].Net.Closed }
	eventually(t, "connections are closed for want of memory", func() bool { return closed() > 0 })
	if got := n.broker.Counters()[0].ArenaBytes; got > bound {
		t.Errorf("%d bytes of buffers, the bound is %d", got, bound)
	}
	for _, c := range conns {
		c.close()
	}
	eventually(t, "a new connection is served", func() bool {
		c, err := n.connect(t)
		if err != nil {
			return false
		}
		defer c.close()
		_, err = tryAsk[*kmsg.ApiVersionsResponse](c, 0, kmsg.NewPtrApiVersionsRequest())
		return err == nil
	})
}
