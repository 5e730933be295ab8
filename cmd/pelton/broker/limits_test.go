package broker_test

import (
	"hash/crc32"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// S22: more connections from one address than allowed are closed at once; one that ends makes room.
func TestConnectionsPerAddress(t *testing.T) {
	n := own(t, "max.connections.per.ip=3")
	conns := []*conn{n.dial(t), n.dial(t), n.dial(t)}
	for _, c := range conns {
		c.works()
	}
	n.dial(t).closed()
	conns[0].close()
	eventually(t, "there is room again", func() bool {
		c, err := n.connect(t)
		if err != nil {
			return false
		}
		defer c.close()
		_, err = tryAsk[*kmsg.ApiVersionsResponse](c, 0, kmsg.NewPtrApiVersionsRequest())
		return err == nil
	})
	conns[1].works()
}

// A connection without traffic is closed after connections.max.idle.ms, one with traffic is not.
func TestIdleConnections(t *testing.T) {
	n := own(t, "connections.max.idle.ms=300")
	busy, idle := n.dial(t), n.dial(t)
	idle.works()
	over := make(chan error, 1)
	go func() { over <- idle.drain() }()
	eventually(t, "the idle connection is closed", func() bool {
		busy.works()
		select {
		case err := <-over:
			return err == nil
		default:
			return false
		}
	})
	busy.works()
}

// S22: the table of fetch sessions is bounded; whoever finds it full is served without a session.
func TestFetchSessionsAreBounded(t *testing.T) {
	n := own(t, "max.incremental.fetch.session.cache.slots=2", "num.shards=1")
	c := n.dial(t)
	name := topic(t, c, 1)
	mustProduce(c, name, values("v"))
	first := sessionOf(c, name, 0).SessionID
	sessionOf(c, name, 0)
	req := fetchRequest(name, 0, 0)
	req.SessionEpoch = 0
	resp := ask[*kmsg.FetchResponse](c, fetchVersion, req)
	want(t, "error", resp.ErrorCode, 0)
	want(t, "session", resp.SessionID, 0)
	want(t, "records", len(unpack(t, resp.Topics[0].Partitions[0].RecordBatches, 0)), 1)
	want(t, "the first session", ask[*kmsg.FetchResponse](c, fetchVersion, next(first, 1)).ErrorCode, 0)
	end := next(first, -1)
	ask[*kmsg.FetchResponse](c, fetchVersion, end)
	if ask[*kmsg.FetchResponse](c, fetchVersion, req).SessionID == 0 {
		t.Error("a session that was closed leaves no room")
	}
}

// S22: groups have a size, sessions have bounds.
func TestGroupLimits(t *testing.T) {
	n := own(t, "group.max.size=2", "group.max.session.timeout.ms=60000", "group.min.session.timeout.ms=1000")
	g := group(t, n)
	a, b, c := newMember(t, n, g), newMember(t, n, g), newMember(t, n, g)
	together(t, a)
	together(t, a, b)
	if code := ask[*kmsg.JoinGroupResponse](c.c, 5, c.join()).ErrorCode; code != 81 && code != 79 {
		t.Errorf("a third member: error %d", code)
	} else if code == 79 {
		c.id = c.ticket()
		want(t, "a third member comes back", ask[*kmsg.JoinGroupResponse](c.c, 5, c.join()).ErrorCode, 81)
	}
	want(t, "the others", a.beat(), 0)
	c.id = ""
	for _, session := range []int32{999, 60_001, -1} {
		c.session = session
		want(t, "session timeout", ask[*kmsg.JoinGroupResponse](c.c, 5, c.join()).ErrorCode, 26)
	}
}

// Large records come back as they were, through a fetch that asks for less.
func TestLargeRecords(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "max.message.bytes=30000000")
	body := values(strings.Repeat("large ", 2_000_000))
	mustProduce(c, name, values("small"))
	mustProduce(c, name, body)
	mustProduce(c, name, values("small"))
	p := fetch(c, name, 1)
	want(t, "error", p.ErrorCode, 0)
	got := unpack(t, p.RecordBatches, 1)
	if len(got) == 0 || got[0].offset != 1 {
		t.Fatalf("%d bytes, %d records", len(p.RecordBatches), len(got))
	}
	want(t, "value", crc32.ChecksumIEEE([]byte(got[0].value)), crc32.ChecksumIEEE([]byte(strings.Repeat("large ", 2_000_000))))
	want(t, "records", len(readAll(c, name, 0, 0)), 3)
}

// S22: many large requests at once wait for memory, in their order, and all are answered; small ones of others pass them by.
func TestLargeRequestsTakeTurns(t *testing.T) {
	n := own(t, "pelton.request.memory.bytes=4194304", "socket.request.max.bytes=1000000", "num.shards=1")
	bystander := n.dial(t)
	req := kmsg.NewPtrDescribeConfigsRequest()
	for range 10 {
		req.Resources = append(req.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic,
			ResourceName: strings.Repeat("x", 30_000)})
	}
	const clients, each = 12, 5
	var frames [each][]byte
	for i := range frames {
		frames[i] = frameOf(int32(i), 1, req)
	}
	var wait sync.WaitGroup
	for range clients {
		wait.Add(1)
		go func() {
			defer wait.Done()
			c, err := n.connect(t)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.close()
			for i := range int32(each) {
				if err := c.tryWrite(frames[i]); err != nil {
					t.Error(err)
					return
				}
			}
			for i := range int32(each) {
				if corr, _, err := c.tryFrame(); err != nil || corr != i {
					t.Errorf("answer %d where %d was due: %v", corr, i, err)
					return
				}
			}
		}()
	}
	for range 20 {
		bystander.works()
	}
	wait.Wait()
	gone, err := n.connect(t) // one that goes away while its request waits leaves nothing behind
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		gone.write(f)
	}
	gone.close()
	ask[*kmsg.DescribeConfigsResponse](bystander, 1, req)
}

// fetch.max.bytes bounds an answer whatever the consumer asks for.
func TestFetchMaxBytesOfTheBroker(t *testing.T) {
	n := own(t, "fetch.max.bytes=5000")
	c := n.dial(t)
	name := topic(t, c, 4)
	for p := range int32(4) {
		want(t, "produce", produceTo(c, name, p, values(strings.Repeat("x", 2000))).ErrorCode, 0)
	}
	req := fetchRequest(name, 0, 0)
	for p := range int32(3) {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, fetchPartition(p+1, 0))
	}
	total := 0
	for _, p := range ask[*kmsg.FetchResponse](c, fetchVersion, req).Topics[0].Partitions {
		total += len(p.RecordBatches)
	}
	if total == 0 || total > 5000 {
		t.Errorf("%d bytes", total)
	}
}
