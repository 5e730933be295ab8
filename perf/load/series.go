package load

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// prepared is a produce request that only lacks its correlation id, partition and sequence.
type prepared struct {
	frame       []byte
	batch       []byte // the records inside frame
	partitionAt int
	records     int64
	sealer      sealer
	sealedMs    int64 // of a batch that no producer stamps: its time, 0 when it must be sealed anew
}

func prepare(topic string, acks int16, timeoutMs int32, records []byte) (*prepared, error) {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, acks, max(timeoutMs, 30000)
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partitionMarker, records
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	e := &prepared{frame: frameOf(req), records: int64(binary.BigEndian.Uint32(records[batchCount:]))}
	at, err := whereIs(e.frame[:len(e.frame)-len(records)], binary.BigEndian.AppendUint32(nil, partitionMarker))
	if err != nil {
		return nil, err
	}
	e.partitionAt = at
	// Behind the records stand only empty tag sections.
	start := bytes.LastIndex(e.frame, records[:batchRecords])
	e.batch = e.frame[start : start+len(records)]
	e.sealer = newSealer(e.batch)
	return e, nil
}

// stampMs makes the batch one of this moment and of no producer. Many go out in a millisecond, and need it once.
func (e *prepared) stampMs(ms int64) {
	if e.sealedMs != ms {
		e.stampNow(ms, -1, -1, -1)
		e.sealedMs = ms
	}
}

// stampNow makes the batch one of this moment, and of a producer (-1: of none).
func (e *prepared) stampNow(ms, producerID int64, epoch int16, sequence int32) {
	stampTime(e.batch, ms)
	stampProducer(e.batch, producerID, epoch, sequence)
	e.sealer.seal(e.batch)
}

// step is one request of a series.
type step struct {
	*prepared
	partition int32
}

// series sends different batches in a fixed order, over and over: those of a pool, or of a recorded workload.
type series struct {
	steps        []step
	acks         int16
	turn, oldest int
	producerID   int64 // -1: not idempotent
	epoch        int16
	sequences    map[int32]int32
}

func (e *series) next(corr int32) []byte {
	s := e.steps[e.turn%len(e.steps)]
	e.turn++
	binary.BigEndian.PutUint32(s.frame[corrAt:], uint32(corr))
	binary.BigEndian.PutUint32(s.frame[s.partitionAt:], uint32(s.partition))
	if e.producerID < 0 {
		s.stampMs(wallMs())
		return s.frame
	}
	at := e.sequences[s.partition]
	s.stampNow(wallMs(), e.producerID, e.epoch, at)
	e.sequences[s.partition] = int32((int64(at) + s.records) & 0x7FFFFFFF)
	return s.frame
}

func (e *series) answers() bool { return e.acks != 0 }

func (e *series) answer(b []byte, s *Stats) error {
	due := e.steps[e.oldest%len(e.steps)]
	e.oldest++
	if e.acks != 0 {
		if err := readProduceAnswer(b, due.partition, s); err != nil {
			return err
		}
	}
	s.Acked[due.partition] += due.records
	s.Records += due.records
	s.Bytes += int64(len(due.batch))
	return nil
}

// readProduceAnswer reads a version 9 response with one topic and one partition: tags, topics, name,
// partitions, index, error, base offset.
func readProduceAnswer(b []byte, partition int32, s *Stats) error {
	r := reader{b: b}
	r.tags()
	topics := r.compactLen()
	r.skip(r.compactLen())
	parts := r.compactLen()
	index, code := r.int32(), r.int16()
	if r.bad || topics != 1 || parts != 1 || index != partition {
		return fmt.Errorf("%w: produce answer for partition %d, expected %d", ErrAnswer, index, partition)
	}
	if code != 0 {
		s.Errors++
		return fmt.Errorf("produce to partition %d: %w", partition, kerr.ErrorForCode(code))
	}
	return nil
}

// pooled is connection i's part of the pool: every n-th batch from the i-th on, of those whose leader is the i-th one's.
func (w Workload) pooled(i int) (steps []step, addr string, err error) {
	n := max(w.Connections, 1)
	addr = w.leader(w.Pool[i%len(w.Pool)].Partition)
	for at := i % len(w.Pool); at < len(w.Pool); at += n {
		u := w.Pool[at]
		if w.leader(u.Partition) != addr {
			continue
		}
		p, err := prepare(w.Topic, w.Acks, 0, u.Batch)
		if err != nil {
			return nil, "", err
		}
		steps = append(steps, step{p, u.Partition})
	}
	return steps, addr, nil
}

// series is connection i's exchange over its part of the pool.
func (w Workload) series(i int) (exchange, string, error) {
	steps, addr, err := w.pooled(i)
	if err != nil {
		return nil, "", err
	}
	e := &series{steps: steps, acks: w.Acks, producerID: -1, sequences: map[int32]int32{}}
	if w.Idempotent {
		e.producerID, e.epoch, err = producerID(addr)
	}
	return e, addr, err
}
