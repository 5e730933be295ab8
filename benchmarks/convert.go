//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/perf/load"
)

// Conversion rows: megabytes of records of 1 kB from a producer and to a consumer of 0.10, which know format 1 only.
const (
	convertRecords = 1000
	convertBytes   = 1000
)

// upRow is an old producer on a topic of the new format.
func (b *bench) upRow(brokers []*target) (*opened, error) {
	const name = "convert-up-1m"
	o := b.convertContest(name)
	set := oldSet()
	for _, t := range brokers {
		if err := t.topic(name, 1, recycled(b.bytes)); err != nil {
			return o, err
		}
		o.side(t.name, func() (sample, error) {
			return t.converse(b, func(c *oldConn) (int64, error) { return convertRecords, c.produce(name, set) })
		})
	}
	o.claimConversion(name, brokers)
	return o, nil
}

// downRow is an old consumer on a topic of the new format.
func (b *bench) downRow(brokers []*target) (*opened, error) {
	const name = "convert-down-1m"
	o := b.convertContest(name)
	batch, err := load.BuildBatch(load.BatchSpec{Records: convertRecords, RecordBytes: convertBytes, Random: 1, TimeMs: nowMs()})
	if err != nil {
		return o, err
	}
	for _, t := range brokers {
		if _, err := b.filled(t, name, 1, batch); err != nil {
			return o, err
		}
		o.side(t.name, func() (sample, error) {
			return t.converse(b, func(c *oldConn) (int64, error) { return c.fetch(name) })
		})
	}
	o.claimConversion(name, brokers)
	return o, nil
}

func (b *bench) convertContest(name string) *opened {
	return b.open(name, map[string]any{"record_bytes": convertBytes, "set_records": convertRecords, "connections": 1, "in_flight": 1, "partitions": 1,
		"compression": "none", "client": "format 1", "round_bytes": b.bytes})
}

// claimConversion compares with a real Kafka where one runs.
func (o *opened) claimConversion(name string, brokers []*target) {
	for _, t := range brokers {
		if t.name != "pelton" {
			continue
		}
		for _, other := range brokers {
			if strings.HasPrefix(other.name, "kafka-") {
				o.atMost(name+": CPU per GB", t.name, "cpu_s_per_gb", "s/GB", other.name, 0.5)
			}
		}
		o.info(name+": CPU per GB", t.name, "cpu_s_per_gb", "s/GB", "")
		o.info(name+": rate", t.name, "mb_per_s", "MB/s", "")
	}
}

// converse repeats a request that moves so many records until a round's bytes are through.
func (t *target) converse(b *bench, once func(c *oldConn) (int64, error)) (sample, error) {
	conn, err := net.Dial("tcp", t.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := &oldConn{conn: conn}
	before, err := t.CPU()
	if err != nil {
		return nil, err
	}
	begin, moved := time.Now(), int64(0)
	for moved*convertBytes < b.bytes {
		n, err := once(c)
		if err != nil {
			return nil, err
		}
		moved += n
	}
	sec := time.Since(begin).Seconds()
	after, err := t.CPU()
	if err != nil {
		return nil, err
	}
	gb := float64(moved*convertBytes) / 1e9
	return sample{"cpu_s_per_gb": (after - before) / gb, "mb_per_s": gb * 1e3 / sec}, nil
}

// oldConn is a connection of a client of 0.10.
type oldConn struct {
	conn   net.Conn
	corr   int32
	buf    []byte
	offset int64
}

// ask sends a request in version 2 and decodes the answer.
func (c *oldConn) ask(req kmsg.Request, resp kmsg.Response) error {
	c.corr++
	req.SetVersion(2)
	resp.SetVersion(2)
	if _, err := c.conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, c.corr)); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(head[:])) - 4
	if cap(c.buf) < n {
		c.buf = make([]byte, n)
	}
	if _, err := io.ReadFull(c.conn, c.buf[:n]); err != nil {
		return err
	}
	return resp.ReadFrom(c.buf[:n])
}

func (c *oldConn) produce(topic string, set []byte) error {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = 1, 10_000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = set
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{p}}}
	resp := kmsg.NewPtrProduceResponse()
	if err := c.ask(req, resp); err != nil {
		return err
	}
	if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
		return fmt.Errorf("producing to %s: error %d", topic, code)
	}
	return nil
}

// fetch reads the next megabyte, at the end from the beginning again, and tells how many records it had.
func (c *oldConn) fetch(topic string) (records int64, err error) {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes = -1, 500, 1
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = c.offset, 1<<20
	req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	resp := kmsg.NewPtrFetchResponse()
	if err := c.ask(req, resp); err != nil {
		return 0, err
	}
	got := &resp.Topics[0].Partitions[0]
	if got.ErrorCode != 0 {
		return 0, fmt.Errorf("fetching %s at %d: error %d", topic, c.offset, got.ErrorCode)
	}
	for b := got.RecordBatches; len(b) >= 12; {
		size := int(binary.BigEndian.Uint32(b[8:])) + 12
		if size > len(b) {
			break
		}
		c.offset, b = int64(binary.BigEndian.Uint64(b))+1, b[size:]
		records++
	}
	if c.offset >= got.HighWatermark {
		c.offset = 0
	}
	if records == 0 {
		return 0, fmt.Errorf("fetching %s at %d: nothing", topic, c.offset)
	}
	return records, nil
}

// oldSet is a message set of format 1 whose values do not compress.
func oldSet() []byte {
	value := make([]byte, convertBytes)
	x := uint32(1)
	var set []byte
	for i := range convertRecords {
		for j := range value {
			x = x*1664525 + 1013904223
			value[j] = byte(x >> 24)
		}
		at := len(set)
		set = binary.BigEndian.AppendUint64(set, uint64(i))
		set = append(set, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0)
		set = binary.BigEndian.AppendUint64(set, uint64(nowMs()))
		set = binary.BigEndian.AppendUint32(set, 0xffffffff)
		set = binary.BigEndian.AppendUint32(set, convertBytes)
		set = append(set, value...)
		binary.BigEndian.PutUint32(set[at+8:], uint32(len(set)-at-12))
		binary.BigEndian.PutUint32(set[at+12:], crc32.ChecksumIEEE(set[at+16:]))
	}
	return set
}
