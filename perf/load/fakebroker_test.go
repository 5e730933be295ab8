package load

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fakeBroker keeps partitions in memory and can be told to lose or to double a batch behind an
// answer that says otherwise.
type fakeBroker struct {
	t     *testing.T
	l     net.Listener
	conns sync.WaitGroup
	mu    sync.Mutex
	open  []net.Conn
	news  chan struct{}       // closed by the next produce
	logs  map[string][][]byte // by topic: each partition's batches, in one slice of bytes
	ends  map[string][]int64
	n     int
	lose  int // the batch of this number is not kept
	twice int // the batch of this number is kept twice

	fetches int64 // requests to fetch
}

func newFakeBroker(t *testing.T) *fakeBroker {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &fakeBroker{t: t, l: l, logs: map[string][][]byte{}, ends: map[string][]int64{}, news: make(chan struct{})}
	b.conns.Add(1)
	go func() {
		defer b.conns.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.conns.Add(1)
			go func() {
				defer b.conns.Done()
				defer c.Close()
				b.mu.Lock()
				b.open = append(b.open, c)
				b.mu.Unlock()
				b.serve(c)
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		b.mu.Lock()
		for _, c := range b.open {
			c.Close()
		}
		b.mu.Unlock()
		b.conns.Wait()
	})
	return b
}

func (b *fakeBroker) addr() string { return b.l.Addr().String() }

func (b *fakeBroker) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		f := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(in, f); err != nil {
			return
		}
		req := kmsg.RequestForKey(int16(binary.BigEndian.Uint16(f)))
		req.SetVersion(int16(binary.BigEndian.Uint16(f[2:])))
		body := f[10+int(binary.BigEndian.Uint16(f[8:])):]
		out := append([]byte{0, 0, 0, 0}, f[4:8]...)
		if req.IsFlexible() {
			body, out = body[1:], append(out, 0)
		}
		if err := req.ReadFrom(body); err != nil {
			b.t.Errorf("request %d: %v", req.Key(), err)
			return
		}
		out = b.answer(req).AppendTo(out)
		binary.BigEndian.PutUint32(out, uint32(len(out)-4))
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

func (b *fakeBroker) answer(req kmsg.Request) kmsg.Response {
	b.mu.Lock()
	defer b.mu.Unlock()
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	switch req := req.(type) {
	case *kmsg.CreateTopicsRequest:
		for _, t := range req.Topics {
			a := kmsg.NewCreateTopicsResponseTopic()
			a.Topic = t.Topic
			if b.logs[t.Topic] != nil {
				a.ErrorCode = 36
			} else {
				b.logs[t.Topic], b.ends[t.Topic] = make([][]byte, t.NumPartitions), make([]int64, t.NumPartitions)
			}
			resp.(*kmsg.CreateTopicsResponse).Topics = append(resp.(*kmsg.CreateTopicsResponse).Topics, a)
		}
	case *kmsg.DeleteTopicsRequest:
		for _, name := range req.TopicNames {
			delete(b.logs, name)
		}
	case *kmsg.MetadataRequest:
		b.metadata(*req.Topics[0].Topic, resp.(*kmsg.MetadataResponse))
	case *kmsg.ListOffsetsRequest:
		b.offsets(req, resp.(*kmsg.ListOffsetsResponse))
	case *kmsg.ProduceRequest:
		b.produce(req, resp.(*kmsg.ProduceResponse))
	case *kmsg.FetchRequest:
		b.fetches++
		b.fetch(req, resp.(*kmsg.FetchResponse))
	case *kmsg.InitProducerIDRequest:
		resp.(*kmsg.InitProducerIDResponse).ProducerID = 5
	}
	return resp
}

func (b *fakeBroker) metadata(topic string, resp *kmsg.MetadataResponse) {
	at := b.l.Addr().(*net.TCPAddr)
	resp.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "127.0.0.1", Port: int32(at.Port)}}
	t := kmsg.NewMetadataResponseTopic()
	t.Topic = &topic
	for p := range b.logs[topic] {
		mp := kmsg.NewMetadataResponseTopicPartition()
		mp.Partition, mp.Leader = int32(p), 1
		t.Partitions = append(t.Partitions, mp)
	}
	resp.Topics = append(resp.Topics, t)
}

func (b *fakeBroker) offsets(req *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
	t := kmsg.NewListOffsetsResponseTopic()
	for _, p := range req.Topics[0].Partitions {
		a := kmsg.NewListOffsetsResponseTopicPartition()
		if a.Partition = p.Partition; p.Timestamp == AtEnd {
			a.Offset = b.ends[req.Topics[0].Topic][p.Partition]
		} else {
			a.Offset = 0
		}
		t.Partitions = append(t.Partitions, a)
	}
	resp.Topics = append(resp.Topics, t)
}

func (b *fakeBroker) produce(req *kmsg.ProduceRequest, resp *kmsg.ProduceResponse) {
	name, p := req.Topics[0].Topic, req.Topics[0].Partitions[0]
	if got, want := crc32.Checksum(p.Records[batchAttr:], castagnoli), binary.BigEndian.Uint32(p.Records[batchCRC:]); got != want {
		b.t.Errorf("a batch to %s-%d has the checksum %08x, it says %08x", name, p.Partition, got, want)
	}
	copies := 1
	if b.n++; b.n == b.lose {
		copies = 0
	} else if b.n == b.twice {
		copies = 2
	}
	for range copies {
		batch := append([]byte(nil), p.Records...)
		binary.BigEndian.PutUint64(batch, uint64(b.ends[name][p.Partition]))
		b.ends[name][p.Partition] += int64(binary.BigEndian.Uint32(batch[batchCount:]))
		b.logs[name][p.Partition] = append(b.logs[name][p.Partition], batch...)
	}
	close(b.news)
	b.news = make(chan struct{})
	a := kmsg.NewProduceResponseTopicPartition()
	a.Partition = p.Partition
	t := kmsg.NewProduceResponseTopic()
	t.Topic, t.Partitions = name, append(t.Partitions, a)
	resp.Topics = append(resp.Topics, t)
}

// fetch answers with whole batches from the one that holds the offset, at most three of them.
func (b *fakeBroker) fetch(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
	name, p := req.Topics[0].Topic, req.Topics[0].Partitions[0]
	a := kmsg.NewFetchResponseTopicPartition()
	a.Partition = p.Partition
	log := b.logs[name][p.Partition]
	for n := 0; len(log) > 0 && n < 3; {
		size := 12 + int(binary.BigEndian.Uint32(log[batchLength:]))
		if int64(binary.BigEndian.Uint64(log))+int64(binary.BigEndian.Uint32(log[batchLastDelta:])) >= p.FetchOffset {
			a.RecordBatches = append(a.RecordBatches, log[:size]...)
			n++
		}
		log = log[size:]
	}
	if a.RecordBatches == nil { // a long poll, shortened
		news := b.news
		b.mu.Unlock()
		select {
		case <-news:
		case <-time.After(20 * time.Millisecond):
		}
		b.mu.Lock()
	}
	t := kmsg.NewFetchResponseTopic()
	t.Topic, t.Partitions = name, append(t.Partitions, a)
	resp.Topics = append(resp.Topics, t)
}

// atOneTime gives every batch of a topic the same time.
func (b *fakeBroker) atOneTime(topic string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, log := range b.logs[topic] {
		for len(log) > 0 {
			n := 12 + int(binary.BigEndian.Uint32(log[batchLength:]))
			stampTime(log[:n], 1000)
			log = log[n:]
		}
	}
}
