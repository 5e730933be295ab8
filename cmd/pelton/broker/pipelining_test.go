package broker_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// C-49: answers come in the order of the requests, whatever their work takes.
func TestAnswersInOrder(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	name := topic(t, c, 3)
	mustProduce(c, name, values("v"))
	coordinated(t, n, name)
	var reqs []kmsg.Request
	var versions []int16
	add := func(version int16, req kmsg.Request) {
		req.SetVersion(version)
		reqs, versions = append(reqs, req), append(versions, version)
	}
	for i := range 20 {
		add(fetchVersion, waiting(fetchRequest(name, 1, 0), 5, 1)) // waits
		add(produceVersion, produceRequest(name, int32(i%2)*2, -1, values(fmt.Sprint(i))))
		add(3, kmsg.NewPtrApiVersionsRequest())
		reqs[len(reqs)-1].(*kmsg.ApiVersionsRequest).ClientSoftwareName = "x"
		reqs[len(reqs)-1].(*kmsg.ApiVersionsRequest).ClientSoftwareVersion = "1"
		add(listVersion, listRequest(name, 0, -1))
		add(metadataVersion, kmsg.NewPtrMetadataRequest())
		add(7, commit(name, name, int64(i)))
		describe := kmsg.NewPtrDescribeGroupsRequest()
		describe.Groups = []string{name}
		add(4, describe)
	}
	var all []byte
	first := c.corr + 1
	for i, req := range reqs {
		all = append(all, c.encode(versions[i], req)...)
	}
	c.write(all)
	for i, req := range reqs {
		c.receive(first+int32(i), req)
	}
	c.works()
}

func listRequest(name string, partition int32, ts int64) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, ts
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: name, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	return req
}

// acks=0 between others leaves no gap and no answer.
func TestAnswersInOrderAroundSilence(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	var all []byte
	var due []int32
	for i := range 30 {
		acks := int16(i%3 - 1)
		all = append(all, c.encode(produceVersion, produceRequest(name, 0, acks, values(fmt.Sprint(i))))...)
		if acks != 0 {
			due = append(due, c.corr)
		}
	}
	c.write(all)
	for _, corr := range due {
		got, _ := c.frame()
		want(t, "answer", got, corr)
	}
	for i, r := range readAll(c, name, 0, 0) {
		want(t, fmt.Sprint("offset ", r.offset), r.value, fmt.Sprint(i))
	}
}

// C-49: a client that sends without reading is slowed down by its socket, not kept in memory; what it sent is answered once it reads.
func TestClientThatDoesNotRead(t *testing.T) {
	n := own(t, "pelton.request.memory.bytes=8388608", "socket.request.max.bytes=1000000")
	c := n.dial(t)
	name := topic(t, c, 1)
	const requests, size = 1500, 100_000
	b := frameOf(0, produceVersion, produceRequest(name, 0, 1, values(strings.Repeat("x", size))))
	before := resident(t)
	sent := make(chan error, 1)
	go func() {
		for i := range requests { // one frame for all, so that the client's own garbage is not what is measured
			binary.BigEndian.PutUint32(b[8:], uint32(1000+i))
			if err := c.c.SetWriteDeadline(time.Now().Add(answerWithin)); err != nil {
				sent <- err
				return
			}
			if _, err := c.c.Write(b); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	other := n.dial(t)
	eventually(t, "some of it is written", func() bool { return listOffset(other, listVersion, name, 0, -1).Offset > 100 })
	if grown := resident(t) - before; grown > 48<<20 {
		t.Errorf("%d MB more while a client does not read", grown>>20)
	}
	for i := range requests {
		got, _ := c.frame()
		if got != int32(1000+i) {
			t.Fatalf("answer %d where %d was due", got, 1000+i)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	want(t, "records", listOffset(other, listVersion, name, 0, -1).Offset, requests)
}

// resident is the memory of this process, the broker's arenas included, without what earlier tests left to collect.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("what this process holds cannot be read: %v", err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// sockets is how many descriptors of this process are sockets.
func sockets(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("what this process holds cannot be read: %v", err)
	}
	for _, e := range entries {
		if name, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(name, "socket:") {
			n++
		}
	}
	return n
}

// C-50: small socket buffers and readers that take little at a time: every byte arrives once and in order, and nothing is left of readers
// that go away in the middle.
func TestShortSends(t *testing.T) {
	n := own(t, "socket.send.buffer.bytes=4096")
	c := n.dial(t)
	name := topic(t, c, 1, "max.message.bytes=2000000")
	var log bytes.Buffer
	for i := range 5 {
		var records []record
		for j := range 10 {
			records = append(records, record{value: strings.Repeat(fmt.Sprintf("%d.%d ", i, j), 10_000)})
		}
		mustProduce(c, name, builder(0, records...).Bytes())
	}
	req := fetchRequest(name, 0, 0)
	req.Topics[0].Partitions[0].PartitionMaxBytes = 20 << 20
	whole := ask[*kmsg.FetchResponse](c, fetchVersion, req)
	log.Write(whole.Topics[0].Partitions[0].RecordBatches)
	due := crc32.ChecksumIEEE(log.Bytes())
	want(t, "records", len(unpack(t, log.Bytes(), 0)), 50)

	before := sockets(t)
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			slowReader(t, n, name, i, due)
		}()
	}
	wait.Wait()
	eventually(t, "no socket is left", func() bool { c.works(); return sockets(t) <= before })
}

// slowReader reads two fetches with Metadata around them through a small window; every third goes away in the middle.
func slowReader(t *testing.T, n *node, name string, i int, due uint32) {
	d := net.Dialer{Timeout: answerWithin}
	raw, err := d.Dial("tcp", n.addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer raw.Close()
	tcp := raw.(*net.TCPConn)
	if err := tcp.SetReadBuffer(64 << 10); err != nil {
		t.Error(err)
		return
	}
	var all []byte
	var reqs []kmsg.Request
	for corr := range int32(4) {
		var r kmsg.Request = fetchRequest(name, 0, 0)
		if corr%2 == 1 {
			m := kmsg.NewPtrMetadataRequest()
			m.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
			r = m
		} else {
			r.(*kmsg.FetchRequest).Topics[0].Partitions[0].PartitionMaxBytes = 20 << 20
		}
		version := []int16{fetchVersion, 9}[corr%2]
		all = append(all, frameOf(corr, version, r)...)
		reqs = append(reqs, r)
	}
	c := &conn{t: t, c: tcp}
	if err := c.tryWrite(all); err != nil {
		t.Error(err)
		return
	}
	if i%3 == 2 {
		if _, err := io.ReadFull(raw, make([]byte, 1_000_000+i)); err != nil {
			t.Error(err)
		}
		return
	}
	small := &smallReads{r: raw, size: 1000 + 7*i}
	for corr, r := range reqs {
		got, body, err := readFrame(small)
		if err != nil || got != int32(corr) {
			t.Errorf("answer %d where %d was due: %v", got, corr, err)
			return
		}
		resp, err := decode(r, body)
		if err != nil {
			t.Error(err)
			return
		}
		if f, ok := resp.(*kmsg.FetchResponse); ok && crc32.ChecksumIEEE(f.Topics[0].Partitions[0].RecordBatches) != due {
			t.Errorf("reader %d: the bytes are not those of the log", i)
		}
	}
}

// smallReads takes little at a time.
type smallReads struct {
	r    io.Reader
	size int
}

func (s *smallReads) Read(b []byte) (int, error) { return s.r.Read(b[:min(len(b), s.size)]) }

func readFrame(r io.Reader) (int32, []byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	body := make([]byte, be32(head[:])-4)
	_, err := io.ReadFull(r, body)
	return be32(head[4:]), body, err
}

func be32(b []byte) int32 { return int32(b[0])<<24 | int32(b[1])<<16 | int32(b[2])<<8 | int32(b[3]) }

// C-74: connections that close while their fetch waits are gone at once, with everything that was kept for them.
func TestCloseBehindALongPoll(t *testing.T) {
	n := own(t, quiet("admin.listener=127.0.0.1:0")...)
	c := n.dial(t)
	name := topic(t, c, 2)
	fetches := func() float64 { return n.page(t)["broker_purgatory_fetch_waiting_count"] }
	const clients = 500
	conns := make([]*conn, clients)
	for i := range conns {
		var err error
		if conns[i], err = n.connect(t); err != nil {
			t.Fatal(err)
		}
		req := waiting(fetchRequest(name, 0, 0), forLong, 1<<20)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, fetchPartition(1, 0))
		conns[i].send(fetchVersion, req)
	}
	eventually(t, "every fetch waits", func() bool { return fetches() >= clients })
	held := sockets(t)
	for _, x := range conns {
		x.close()
	}
	eventually(t, "every socket is gone", func() bool { c.works(); return sockets(t) <= held-2*clients })
	eventually(t, "no fetch waits any more", func() bool { return fetches() == 0 })
	mustProduce(c, name, values("v"))
	want(t, "records", len(readAll(c, name, 0, 0)), 1)
}

// C-67: the smallest ring, many connections with requests in flight: every one is answered.
func TestMoreInFlightThanTheRingHolds(t *testing.T) {
	for name, settings := range map[string][]string{
		"ring":         {"pelton.disk.backend=uring", "pelton.uring.entries=8"},
		"ring-durable": {"pelton.disk.backend=uring", "pelton.uring.entries=8", "log.flush.interval.messages=1"},
		"portable":     {"pelton.disk.backend=portable", "log.flush.interval.messages=1"},
	} {
		t.Run(name, func(t *testing.T) {
			n := own(t, settings...)
			c := n.dial(t)
			const clients, each, partitions = 100, 20, 16
			name := "many"
			makeTopic(t, c, name, partitions)
			var wait sync.WaitGroup
			for i := range clients {
				wait.Add(1)
				go func() {
					defer wait.Done()
					if err := burst(t, n, name, int32(i%partitions), each); err != nil {
						t.Error(err)
					}
				}()
			}
			wait.Wait()
			total := 0
			for p := range int32(partitions) {
				total += len(readAll(c, name, p, 0))
			}
			want(t, "records", total, clients*each)
		})
	}
}

// burst sends requests without waiting, then takes their answers.
func burst(t *testing.T, n *node, name string, partition int32, count int) error {
	c, err := n.connect(t)
	if err != nil {
		return err
	}
	defer c.close()
	var all []byte
	for range count {
		all = append(all, c.encode(produceVersion, produceRequest(name, partition, -1, values("v")))...)
	}
	if err := c.tryWrite(all); err != nil {
		return err
	}
	for i := range count {
		corr, body, err := c.tryFrame()
		if err != nil {
			return fmt.Errorf("after %d answers: %w", i, err)
		}
		req := produceRequest(name, partition, -1, nil)
		req.SetVersion(produceVersion)
		resp, err := decode(req, body)
		if err != nil {
			return err
		}
		if code := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode; corr != int32(i+1) || code != 0 {
			return fmt.Errorf("answer %d: error %d", corr, code)
		}
	}
	return nil
}
