package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// errClosed is returned when the broker closed the connection instead of answering.
var errClosed = errors.New("connection closed")

// errSilent is returned when nothing came within ten seconds.
var errSilent = errors.New("no answer within 10 s")

// world is one broker with what the probes have made in it.
type world struct {
	addr   string
	conn   net.Conn
	corr   int32
	topics map[[16]byte]string // ids that stand for names when answers are compared
	ids    map[string][16]byte
	vars   map[string]string // what a probe keeps for the next one: member ids, session ids
	ranges map[int16][2]int16
	node   int32 // the broker's own id
}

func connect(addr string) (*world, error) {
	w := &world{addr: addr, topics: map[[16]byte]string{}, ids: map[string][16]byte{}, vars: map[string]string{}, ranges: map[int16][2]int16{}}
	resp, err := w.ask(kmsg.NewPtrApiVersionsRequest(), 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		w.ranges[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
	}
	resp, err = w.ask(kmsg.NewPtrMetadataRequest(), 1)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
		w.node = b.NodeID
	}
	return w, nil
}

// ask sends a request in a version and decodes the answer; errClosed when there is none.
func (w *world) ask(req kmsg.Request, version int16) (kmsg.Response, error) {
	req.SetVersion(version)
	body, err := w.roundTrip(w.frame(req), true)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	resp.SetVersion(version)
	if resp.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) {
		body = body[1:] // the header's empty tags
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("the answer to %T v%d cannot be decoded: %w", req, version, err)
	}
	return resp, nil
}

func (w *world) frame(req kmsg.Request) []byte {
	w.corr++
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("differential")).AppendRequest(nil, req, w.corr)
}

// roundTrip sends a frame and returns the answer behind its correlation id.
func (w *world) roundTrip(frame []byte, wait bool) ([]byte, error) {
	if w.conn == nil {
		conn, err := net.DialTimeout("tcp", w.addr, 5*time.Second)
		if err != nil {
			return nil, err
		}
		w.conn = conn
	}
	if err := w.conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := w.conn.Write(frame); err != nil {
		return nil, w.lost(err)
	}
	if !wait {
		return nil, nil
	}
	var head [8]byte
	if _, err := io.ReadFull(w.conn, head[:]); err != nil {
		return nil, w.lost(err)
	}
	body := make([]byte, int(binary.BigEndian.Uint32(head[:]))-4)
	if _, err := io.ReadFull(w.conn, body); err != nil {
		return nil, w.lost(err)
	}
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != w.corr {
		return nil, fmt.Errorf("answer %d to request %d", got, w.corr)
	}
	return body, nil
}

func (w *world) lost(err error) error {
	w.conn.Close()
	w.conn = nil
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errSilent
	}
	return errClosed
}

// topic makes a topic unless it exists and waits until its leaders are known.
func (w *world) topic(name string, partitions int32, config ...string) error {
	if _, ok := w.ids[name]; ok {
		return nil
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 20_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
	for i := 0; i+1 < len(config); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = config[i], &config[i+1]
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	if _, err := w.ask(req, 5); err != nil {
		return err
	}
	return w.learn(name)
}

// learn waits until a topic has leaders and notes its id.
func (w *world) learn(name string) error {
	for range 200 {
		req := kmsg.NewPtrMetadataRequest()
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
		resp, err := w.ask(req, 12)
		if err != nil {
			return err
		}
		got := resp.(*kmsg.MetadataResponse).Topics[0]
		ready := got.ErrorCode == 0
		for _, p := range got.Partitions {
			ready = ready && p.ErrorCode == 0 && p.Leader >= 0
		}
		if ready && w.leads(name, len(got.Partitions)) {
			w.ids[name], w.topics[got.TopicID] = got.TopicID, name
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s: topic %s has no leader after 10 s", w.addr, name)
}

// leads tells whether every partition answers: a broker may name itself as a leader before it is ready to be one.
func (w *world) leads(name string, partitions int) bool {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = name
	for i := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = int32(i), -1
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	resp, err := w.ask(req, 1)
	if err != nil {
		return false
	}
	for _, p := range resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			return false
		}
	}
	return true
}

// batchOf makes one record batch of format 2 without compression.
func batchOf(producerID int64, epoch int16, sequence int32, times []int64, kvs ...[]byte) []byte {
	first := times[0]
	var records []byte
	for i := 0; i+1 < len(kvs); i += 2 {
		b := []byte{0}
		b = binary.AppendVarint(b, times[i/2]-first)
		b = binary.AppendVarint(b, int64(i/2))
		for _, f := range kvs[i : i+2] {
			if f == nil {
				b = binary.AppendVarint(b, -1)
				continue
			}
			b = binary.AppendVarint(b, int64(len(f)))
			b = append(b, f...)
		}
		b = append(b, 0)
		records = binary.AppendVarint(records, int64(len(b)))
		records = append(records, b...)
	}
	largest := first
	for _, t := range times {
		largest = max(largest, t)
	}
	n := int32(len(kvs) / 2)
	rb := kmsg.RecordBatch{Length: int32(49 + len(records)), PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: n - 1, FirstTimestamp: first,
		MaxTimestamp: largest, ProducerID: producerID, ProducerEpoch: epoch, FirstSequence: sequence, NumRecords: n, Records: records}
	return seal(rb.AppendTo(nil))
}

// seal computes a batch's checksum.
func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}
