package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/internal/clock"
)

func batchOf(t *testing.T, s BatchSpec) []byte {
	t.Helper()
	b, err := BuildBatch(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBatchIsReadByTheProtocolLibrary(t *testing.T) {
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		b := batchOf(t, BatchSpec{Records: 30, RecordBytes: 100, KeyBytes: 8, Compression: codec, Random: 0.5, TimeMs: 1234})
		var rb kmsg.RecordBatch
		if err := rb.ReadFrom(b); err != nil {
			t.Fatalf("%s: %v", codec, err)
		}
		if rb.NumRecords != 30 || rb.LastOffsetDelta != 29 || rb.Magic != 2 || rb.ProducerID != -1 || rb.FirstTimestamp != 1234 {
			t.Errorf("%s: %+v", codec, rb)
		}
		if want := crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)); uint32(rb.CRC) != want {
			t.Errorf("%s: checksum %08x, want %08x", codec, uint32(rb.CRC), want)
		}
		if codec != "none" {
			continue
		}
		rest := rb.Records
		for i := range 30 {
			var r kmsg.Record
			n, used := binary.Varint(rest)
			if err := r.ReadFrom(rest[:used+int(n)]); err != nil {
				t.Fatalf("record %d: %v", i, err)
			}
			if len(r.Value) != 100 || len(r.Key) != 8 || r.OffsetDelta != int32(i) {
				t.Fatalf("record %d: key %d value %d delta %d", i, len(r.Key), len(r.Value), r.OffsetDelta)
			}
			rest = rest[used+int(n):]
		}
		if len(rest) != 0 {
			t.Fatalf("%d bytes behind the last record", len(rest))
		}
	}
	if _, err := BuildBatch(BatchSpec{Records: 1, Compression: "brotli"}); err == nil {
		t.Fatal("an unknown compression was taken")
	}
}

func sentProduce(t *testing.T, frame []byte) *kmsg.ProduceRequest {
	t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Version = 9
	// length, key, version, correlation id, client id, tags
	body := frame[4+2+2+4+2+len(clientID)+1:]
	if err := req.ReadFrom(body); err != nil {
		t.Fatal(err)
	}
	return req
}

func TestProduceRestampsInPlace(t *testing.T) {
	batch := batchOf(t, BatchSpec{Records: 10, RecordBytes: 50, Random: 1})
	p, err := newProduce(ProduceSpec{Topic: "t", Partitions: []int32{4, 9}, Acks: -1, Batch: batch, ProducerID: 77, Epoch: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ partition, sequence int32 }{{4, 0}, {9, 0}, {4, 10}, {9, 10}} {
		before := time.Now().UnixMilli()
		frame := p.next(int32(100 + i))
		after := time.Now().UnixMilli()
		if corr := binary.BigEndian.Uint32(frame[8:]); corr != uint32(100+i) {
			t.Fatalf("correlation id %d", corr)
		}
		part := sentProduce(t, frame).Topics[0].Partitions[0]
		var rb kmsg.RecordBatch
		if err := rb.ReadFrom(part.Records); err != nil {
			t.Fatal(err)
		}
		if part.Partition != want.partition || rb.FirstSequence != want.sequence || rb.ProducerID != 77 || rb.ProducerEpoch != 3 {
			t.Errorf("request %d: partition %d sequence %d producer %d/%d", i, part.Partition, rb.FirstSequence, rb.ProducerID, rb.ProducerEpoch)
		}
		if rb.FirstTimestamp < before || rb.FirstTimestamp > after || rb.MaxTimestamp != rb.FirstTimestamp {
			t.Errorf("request %d: sent at %d, its records are from %d to %d", i, before, rb.FirstTimestamp, rb.MaxTimestamp)
		}
		if uint32(rb.CRC) != crc32.Checksum(part.Records[21:], crc32.MakeTable(crc32.Castagnoli)) {
			t.Errorf("request %d: the checksum was not made new", i)
		}
	}
}

func produceAnswer(partition int32, code int16) []byte {
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = 9
	p := kmsg.NewProduceResponseTopicPartition()
	p.Partition, p.ErrorCode, p.BaseOffset = partition, code, 5
	t := kmsg.NewProduceResponseTopic()
	t.Topic, t.Partitions = "t", append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp.AppendTo([]byte{0}) // the header's tags
}

func TestProduceCountsAnswersAndNamesErrors(t *testing.T) {
	batch := batchOf(t, BatchSpec{Records: 10, RecordBytes: 50})
	p, err := newProduce(ProduceSpec{Topic: "t", Partitions: []int32{4, 9}, Acks: 1, Batch: batch, ProducerID: -1})
	if err != nil {
		t.Fatal(err)
	}
	s := newStats([]int32{4, 9})
	if err := p.answer(produceAnswer(4, 0), s); err != nil {
		t.Fatal(err)
	}
	if err := p.answer(produceAnswer(9, 6), s); !errors.Is(err, kerr.NotLeaderForPartition) {
		t.Fatalf("err = %v", err)
	}
	if err := p.answer(produceAnswer(9, 0), s); !errors.Is(err, ErrAnswer) {
		t.Fatalf("an answer for another partition: %v", err)
	}
	if s.Acked[4] != 10 || s.Acked[9] != 0 || s.Errors != 1 || s.Bytes != int64(len(batch)) {
		t.Fatalf("%+v", s)
	}
}

func fetchAnswer(records []byte, code int16) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = 12
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.ErrorCode, p.RecordBatches = 3, code, records
	p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 1, FirstOffset: 2}}
	t := kmsg.NewFetchResponseTopic()
	t.Topic, t.Partitions = "t", append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp.AppendTo([]byte{0})
}

func TestFetchFollowsTheBatchesAndStartsOver(t *testing.T) {
	at := func(base int64) []byte {
		b := batchOf(t, BatchSpec{Records: 10, RecordBytes: 5})
		binary.BigEndian.PutUint64(b, uint64(base))
		return b
	}
	f, err := newFetch(FetchSpec{Topic: "t", Stretches: []Stretch{{3, 105, 130}, {4, 7, 7}}, MaxBytes: 1 << 20, Rewind: true})
	if err != nil {
		t.Fatal(err)
	}
	asked := func() int64 {
		req := kmsg.NewPtrFetchRequest()
		req.Version = 12
		if err := req.ReadFrom(f.next(1)[4+2+2+4+2+len(clientID)+1:]); err != nil {
			t.Fatal(err)
		}
		return req.Topics[0].Partitions[0].FetchOffset
	}
	s := newStats(nil)
	if got := asked(); got != 105 {
		t.Fatalf("asked for %d", got)
	}
	two := append(at(100), at(110)...)
	if err := f.answer(fetchAnswer(append(two, at(120)[:40]...), 0), s); err != nil { // the last one is cut off
		t.Fatal(err)
	}
	if got := asked(); got != 120 || s.Records != 15 {
		t.Fatalf("asked for %d after %d records", got, s.Records)
	}
	if err := f.answer(fetchAnswer(at(110), 0), s); !errors.Is(err, ErrAnswer) {
		t.Fatalf("records that were read before: %v", err)
	}
	if err := f.answer(fetchAnswer(at(121), 0), s); !errors.Is(err, ErrAnswer) {
		t.Fatalf("a gap: %v", err)
	}
	if err := f.answer(fetchAnswer(at(120), 0), s); err != nil || asked() != 105 {
		t.Fatalf("at the end it must start over: asked for %d, %v", asked(), err)
	}
	if err := f.answer(fetchAnswer(nil, 1), s); !errors.Is(err, kerr.OffsetOutOfRange) {
		t.Fatalf("err = %v", err)
	}
}

func TestSendPathAllocatesNothing(t *testing.T) {
	batch := batchOf(t, BatchSpec{Records: 1, RecordBytes: 100})
	p, err := newProduce(ProduceSpec{Topic: "t", Partitions: []int32{0, 1, 2}, Acks: 1, Batch: batch, ProducerID: 5})
	if err != nil {
		t.Fatal(err)
	}
	answers := [][]byte{produceAnswer(0, 0), produceAnswer(1, 0), produceAnswer(2, 0)}
	sim := &canned{answers: answers}
	l := newLoop(sim, p, clock.NewReal(), newStats([]int32{0, 1, 2}))
	var quota int64
	n := testing.AllocsPerRun(100, func() {
		quota += 30
		if err := l.closed(10, func(sent int64) bool { return sent < quota }); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0 {
		t.Fatalf("30 requests and answers allocate %v times", n)
	}
	if l.stats.Records != quota {
		t.Fatalf("%d records acked of %d", l.stats.Records, quota)
	}
}

// canned answers each read with the next of a few fixed answers.
type canned struct {
	answers [][]byte
	n       int32
}

func (c *canned) Write(b []byte) (int, error) { return len(b), nil }
func (c *canned) Wait(int64) (bool, error)    { return true, nil }
func (c *canned) Read(b []byte) (int, error) {
	body := c.answers[int(c.n)%len(c.answers)]
	binary.BigEndian.PutUint32(b, uint32(4+len(body)))
	binary.BigEndian.PutUint32(b[4:], uint32(c.n))
	c.n++
	return 8 + copy(b[8:], body), nil
}

// manyAborted is an answer to a fetch that counts two billion aborted transactions and ends there.
func manyAborted() []byte {
	b := fetchAnswer(nil, 0)
	one := bytes.Index(b, []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2}) // the one that it has, behind their number
	return append(b[:one-1], 0xFF, 0xFF, 0xFF, 0xFF, 0x07)
}

func FuzzAnswer(f *testing.F) {
	f.Add(produceAnswer(0, 0), fetchAnswer([]byte("not a batch"), 0))
	batch, err := BuildBatch(BatchSpec{Records: 2, RecordBytes: 10})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(produceAnswer(0, 3), fetchAnswer(batch, 0))
	f.Add(produceAnswer(0, 0), manyAborted())
	f.Fuzz(func(t *testing.T, produced, fetched []byte) {
		p, err := newProduce(ProduceSpec{Topic: "t", Partitions: []int32{0}, Acks: 1, Batch: batch, ProducerID: -1})
		if err != nil {
			t.Fatal(err)
		}
		e, err := newFetch(FetchSpec{Topic: "t", Stretches: []Stretch{{3, 0, -1}}})
		if err != nil {
			t.Fatal(err)
		}
		s := newStats([]int32{0})
		_ = p.answer(produced, s)
		_ = e.answer(fetched, s)
	})
}
