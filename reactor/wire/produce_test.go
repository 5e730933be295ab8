package wire

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestProduceEncodesWhatKmsgDoes(t *testing.T) {
	results := []ProduceResult{
		{Index: 0, BaseOffset: 1 << 33, LogAppendTimeMs: -1, LogStart: 4},
		{Index: 1, Err: int16(InvalidRecord), BaseOffset: -1, LogAppendTimeMs: -1, LogStart: -1, BadRecords: 3, Message: "no key"},
		{Index: 2, Err: int16(CorruptMessage), BaseOffset: -1, LogAppendTimeMs: 12, LogStart: -1, Message: "checksum"},
	}
	for version := int16(0); version <= 13; version++ {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) {
			resp := kmsg.NewPtrProduceResponse()
			resp.Version = version
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = "orders", [16]byte{5, 5}
			var w Writer
			ProduceHead(&w, version, 99, 1)
			ProduceTopicHead(&w, version, []byte("orders"), rt.TopicID, len(results))
			for i := range results {
				ProducePartition(&w, version, &results[i])
				for k := range results[i].BadRecords {
					ProduceBadRecord(&w, version, int32(k)*7, "record")
				}
				ProducePartitionTail(&w, version, &results[i])
				rt.Partitions = append(rt.Partitions, kmsgProduced(results[i]))
			}
			ProduceTopicTail(&w, version)
			ProduceTail(&w, version, 0, 0)
			resp.Topics = append(resp.Topics, rt)
			if want := framed(99, resp.IsFlexible(), resp); !bytes.Equal(w.B, want) {
				t.Fatalf("\n got %x\nwant %x", w.B, want)
			}
		})
	}
}

func kmsgProduced(p ProduceResult) kmsg.ProduceResponseTopicPartition {
	rp := kmsg.NewProduceResponseTopicPartition()
	rp.Partition, rp.ErrorCode, rp.BaseOffset, rp.LogAppendTime, rp.LogStartOffset = p.Index, p.Err, p.BaseOffset, p.LogAppendTimeMs, p.LogStart
	if p.Message != "" {
		rp.ErrorMessage = &p.Message
	}
	for k := range p.BadRecords {
		e := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		e.RelativeOffset, e.ErrorMessage = int32(k)*7, kmsg.StringPtr("record")
		rp.ErrorRecords = append(rp.ErrorRecords, e)
	}
	return rp
}

func TestProduceRequestParsesWhatKmsgWrites(t *testing.T) {
	for version := int16(0); version <= 13; version++ {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) {
			req := kmsg.NewPtrProduceRequest()
			req.Version, req.Acks, req.TimeoutMillis, req.TransactionID = version, -1, 1500, kmsg.StringPtr("txn")
			for i := range 2 {
				rt := kmsg.NewProduceRequestTopic()
				rt.Topic, rt.TopicID = fmt.Sprint("t", i), [16]byte{byte(i)}
				for j := range 3 {
					rp := kmsg.NewProduceRequestTopicPartition()
					rp.Partition, rp.Records = int32(j), bytes.Repeat([]byte{byte(j)}, 100*j)
					rt.Partitions = append(rt.Partitions, rp)
				}
				req.Topics = append(req.Topics, rt)
			}
			r := NewReader(req.AppendTo(nil))
			var p ProduceRequest
			if err := p.Parse(&r, version); err != nil || r.Left() != 0 {
				t.Fatalf("err %v, %d bytes left", err, r.Left())
			}
			if p.Acks != -1 || p.TimeoutMs != 1500 || len(p.Topics) != 2 || len(p.Parts) != 6 {
				t.Fatalf("%+v", p)
			}
			if version >= 3 && string(p.TransactionalID) != "txn" {
				t.Fatalf("transactional id %q", p.TransactionalID)
			}
			last := p.Parts[5]
			if last.Topic != 1 || last.Index != 2 || !bytes.Equal(last.Records, bytes.Repeat([]byte{2}, 200)) {
				t.Fatalf("last partition %d/%d, %d bytes", last.Topic, last.Index, len(last.Records))
			}
			if version < 13 && string(p.Topics[1].Name) != "t1" || version >= 13 && p.Topics[1].ID != [16]byte{1} {
				t.Fatalf("topic %+v", p.Topics[1])
			}
		})
	}
}
