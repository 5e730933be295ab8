package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// exchange is one connection's side of a workload: what it sends, and how it takes the answer.
type exchange interface {
	// next stamps the prepared frame and returns it; it is valid until the next call.
	next(corr int32) []byte
	// answer takes the oldest outstanding request's answer, from behind its correlation id.
	answer(body []byte, s *Stats) error
	// answers is false when the peer sends none (acks=0).
	answers() bool
}

const corrAt = 8 // in a frame: length, API key, version, correlation id

// frameOf encodes a request with its header and length.
func frameOf(req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, req, 0)
}

// whereIs finds the one place of a marker that was encoded into a frame.
func whereIs(frame, marker []byte) (int, error) {
	at := bytes.Index(frame, marker)
	if at < 0 || bytes.Contains(frame[at+1:], marker) {
		return 0, fmt.Errorf("load: the marker % x is not in the frame exactly once", marker)
	}
	return at, nil
}

const (
	partitionMarker = 0x5E1A7C3D
	offsetMarker    = 0x71C4B83A5E0D9F26
)

// produce sends one prepared batch over and over, to its partitions in turn.
type produce struct {
	*prepared
	acks       int16
	partitions []int32
	turn       int   // of the next request
	oldest     int   // of the oldest outstanding one
	producerID int64 // -1: not idempotent
	epoch      int16
	sequences  []int32
}

// ProduceSpec is a connection's produce workload.
type ProduceSpec struct {
	Topic      string
	Partitions []int32
	Acks       int16
	TimeoutMs  int32
	Batch      []byte // from BuildBatch
	ProducerID int64  // -1: not idempotent
	Epoch      int16
}

func newProduce(s ProduceSpec) (*produce, error) {
	p, err := prepare(s.Topic, s.Acks, s.TimeoutMs, s.Batch)
	if err != nil {
		return nil, err
	}
	return &produce{prepared: p, acks: s.Acks, partitions: s.Partitions, producerID: s.ProducerID, epoch: s.Epoch, sequences: make([]int32, len(s.Partitions))}, nil
}

func (e *produce) next(corr int32) []byte {
	i := e.turn % len(e.partitions)
	e.turn++
	binary.BigEndian.PutUint32(e.frame[corrAt:], uint32(corr))
	binary.BigEndian.PutUint32(e.frame[e.partitionAt:], uint32(e.partitions[i]))
	if e.producerID < 0 {
		e.stampMs(wallMs())
		return e.frame
	}
	e.stampNow(wallMs(), e.producerID, e.epoch, e.sequences[i])
	e.sequences[i] = int32((int64(e.sequences[i]) + e.records) & 0x7FFFFFFF)
	return e.frame
}

func (e *produce) answers() bool { return e.acks != 0 }

func (e *produce) answer(b []byte, s *Stats) error {
	partition := e.partitions[e.oldest%len(e.partitions)]
	e.oldest++
	if e.acks != 0 {
		if err := readProduceAnswer(b, partition, s); err != nil {
			return err
		}
	}
	e.acked(partition, s)
	return nil
}

func (e *produce) acked(partition int32, s *Stats) {
	s.Acked[partition] += e.records
	s.Records += e.records
	s.Bytes += int64(len(e.batch))
}

// fetch reads stretches of partitions one after the other, and then, when told so, again.
type fetch struct {
	frame       []byte
	offsetAt    int
	partitionAt int
	stretches   []Stretch
	turn        int   // the stretch that is being read
	at          int64 // the next offset wanted
	rewind      bool
	stay        bool
	ended       bool
	arrived     func(batch []byte) // each whole batch, as it is taken; may be nil
}

// Stretch is a part of a partition: offsets From up to but without To; To -1: follow the tail.
type Stretch struct {
	Partition int32
	From, To  int64
}

// FetchSpec is a connection's fetch workload.
type FetchSpec struct {
	Topic     string
	Stretches []Stretch
	MaxBytes  int32
	MinBytes  int32
	MaxWaitMs int32
	Rewind    bool // start over after the last one
	Stay      bool // read the same bytes each time, so that several requests may be outstanding
	Arrived   func(batch []byte)
}

func newFetch(s FetchSpec) (*fetch, error) {
	if len(s.Stretches) == 0 {
		return nil, errors.New("load: a consumer without partitions")
	}
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 12, -1, s.MaxWaitMs, s.MinBytes, s.MaxBytes
	req.SessionEpoch = -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch, p.LogStartOffset, p.PartitionMaxBytes = partitionMarker, -1, offsetMarker, -1, -1, s.MaxBytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = s.Topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	e := &fetch{frame: frameOf(req), stretches: s.Stretches, rewind: s.Rewind, stay: s.Stay, arrived: s.Arrived}
	var err, err2 error
	e.offsetAt, err = whereIs(e.frame, binary.BigEndian.AppendUint64(nil, offsetMarker))
	e.partitionAt, err2 = whereIs(e.frame, binary.BigEndian.AppendUint32(nil, partitionMarker))
	e.begin(0)
	return e, errors.Join(err, err2)
}

// begin turns to a stretch, past those that hold nothing.
func (e *fetch) begin(turn int) {
	for ; turn < len(e.stretches); turn++ {
		if s := e.stretches[turn]; s.To < 0 || s.From < s.To {
			e.turn, e.at = turn, s.From
			binary.BigEndian.PutUint32(e.frame[e.partitionAt:], uint32(s.Partition))
			return
		}
	}
	e.ended = true
}

func (e *fetch) next(corr int32) []byte {
	binary.BigEndian.PutUint32(e.frame[corrAt:], uint32(corr))
	binary.BigEndian.PutUint64(e.frame[e.offsetAt:], uint64(e.at))
	return e.frame
}

func (e *fetch) answers() bool { return true }

// answer reads a version 12 response with one topic and one partition, and walks its batches.
func (e *fetch) answer(b []byte, s *Stats) error {
	r := reader{b: b}
	r.tags()
	r.skip(4)
	whole := r.int16()
	r.skip(4)
	topics := r.compactLen()
	r.skip(r.compactLen())
	parts := r.compactLen()
	partition, code := r.int32(), r.int16()
	due := e.stretches[e.turn].Partition
	r.skip(24)
	for range r.compactLen() { // aborted transactions
		if r.skip(16); r.bad {
			break // the count may be in the billions
		}
		r.tags()
	}
	r.skip(4)
	n := r.compactLen()
	if err := kerr.ErrorForCode(whole); err != nil {
		s.Errors++
		return fmt.Errorf("fetch: %w", err)
	}
	if r.bad || topics != 1 || parts != 1 || partition != due || n > len(r.b) {
		return fmt.Errorf("%w: fetch answer for partition %d, expected %d", ErrAnswer, partition, due)
	}
	if err := kerr.ErrorForCode(code); err != nil {
		s.Errors++
		return fmt.Errorf("fetch from partition %d at %d: %w", partition, e.at, err)
	}
	s.Bytes += int64(n)
	return e.walk(r.b[:n], s)
}

// walk moves behind the last whole batch. A batch may begin before the offset asked for; it must not end before it.
func (e *fetch) walk(records []byte, s *Stats) error {
	if e.stay {
		return nil
	}
	for len(records) >= batchRecords {
		size := 12 + int(binary.BigEndian.Uint32(records[batchLength:]))
		if size > len(records) {
			break
		}
		base := int64(binary.BigEndian.Uint64(records))
		end := base + int64(binary.BigEndian.Uint32(records[batchLastDelta:])) + 1
		if end <= e.at || base > e.at {
			return fmt.Errorf("%w: batch %d…%d where offset %d was asked for", ErrAnswer, base, end, e.at)
		}
		if e.arrived != nil {
			e.arrived(records[:size])
		}
		s.Records += end - e.at
		e.at = end
		records = records[size:]
	}
	if to := e.stretches[e.turn].To; to >= 0 && e.at >= to {
		e.begin(e.turn + 1)
		if e.ended && e.rewind {
			e.ended = false
			e.begin(0)
		}
	}
	return nil
}

// floor sends another workload's frames to a floor program, which answers with the correlation id
// and, the source, with as many bytes as it was told.
type floor struct{ exchange }

// answer counts the bytes that the floor's program handled: the frame's records, or the answer's.
func (e *floor) answer(body []byte, s *Stats) error {
	switch inner := e.exchange.(type) {
	case *produce:
		s.Records += inner.records
		s.Bytes += int64(len(inner.batch))
	case *fetch:
		s.Bytes += int64(len(body))
	}
	return nil
}

// message is a fixed-size message for the ping-pong floor, framed like a request.
type message struct{ frame []byte }

func newMessage(n int) *message {
	m := &message{frame: make([]byte, max(n, 12))}
	binary.BigEndian.PutUint32(m.frame, uint32(len(m.frame)-4))
	return m
}

func (m *message) next(corr int32) []byte {
	// Where a request and where an answer keep the id: the echo returns what it got.
	binary.BigEndian.PutUint32(m.frame[4:], uint32(corr))
	binary.BigEndian.PutUint32(m.frame[corrAt:], uint32(corr))
	return m.frame
}

func (m *message) answers() bool                   { return true }
func (m *message) answer(b []byte, s *Stats) error { s.Bytes += int64(len(b)); return nil }

// reader takes fields of an answer; reading past its end sets bad and gives zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) skip(n int) {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}

func (r *reader) int16() int16 {
	b := r.b
	if r.skip(2); r.bad {
		return 0
	}
	return int16(binary.BigEndian.Uint16(b))
}

func (r *reader) int32() int32 {
	b := r.b
	if r.skip(4); r.bad {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

func (r *reader) uvarint() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > math.MaxInt32 {
		r.bad, r.b = true, nil
		return 0
	}
	r.skip(n)
	return int(v)
}

// varint is a signed length or number of a record.
func (r *reader) varint() int {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.skip(n)
	return int(v)
}

// compactLen is a length or count of the flexible versions; null is 0.
func (r *reader) compactLen() int { return max(0, r.uvarint()-1) }

func (r *reader) tags() {
	for range r.uvarint() {
		r.uvarint()
		r.skip(r.uvarint())
		if r.bad {
			return
		}
	}
}
