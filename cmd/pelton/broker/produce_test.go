package broker_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// seal makes a changed batch's checksum right again.
func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// patched is a batch of two records with some bytes overwritten.
func patched(sealed bool, at int, bytes ...byte) []byte {
	b := values("one", "two")
	copy(b[at:], bytes)
	if sealed {
		seal(b)
	}
	return b
}

// Records that are not what they claim are refused with Kafka's code, nothing of them is kept, and the connection lives on.
func TestProduceBadRecords(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	nested := func(codec byte) []byte { // an attribute that names a codec the records are not in
		return patched(true, 21, 0, codec)
	}
	cases := []struct {
		name    string
		code    []int16
		records []byte
	}{
		{"bad-crc", []int16{2}, patched(false, 65, 0xff)},
		{"magic-7", []int16{2, 87, 43}, patched(false, 16, 7)},
		{"control-bit", []int16{87}, patched(true, 21, 0, 0x20)},
		{"unknown-codec", []int16{2, 87, 76, 74, 42, -1}, nested(7)},
		{"not-gzip", []int16{2, 87, -1}, nested(1)}, {"not-snappy", []int16{2, 87, -1}, nested(2)},
		{"not-lz4", []int16{2, 87, -1}, nested(3)}, {"not-zstd", []int16{2, 87, -1}, nested(4)},
		{"count-too-large", []int16{2, 87}, patched(true, 57, 0, 0, 0, 9)},
		{"count-too-small", []int16{2, 87}, patched(true, 57, 0, 0, 0, 1)},
		{"count-zero", []int16{2, 87}, patched(true, 57, 0, 0, 0, 0)},
		{"count-negative", []int16{2, 87}, patched(true, 57, 0xff, 0, 0, 0)},
		{"last-delta-wrong", []int16{2, 87}, patched(true, 23, 0, 0, 0, 9)},
		{"length-too-small", []int16{2, 87}, patched(true, 8, 0, 0, 0, 3)},
		{"length-too-large", []int16{2, 87}, patched(true, 8, 0, 16, 0, 0)},
		{"length-negative", []int16{2, 87}, patched(true, 8, 0xff, 0xff, 0, 0)},
		{"record-length-lies", []int16{2, 87}, patched(true, 61, 0x7e)},
		{"record-length-endless", []int16{2, 87, -1}, patched(true, 61, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)},
		{"cut-in-the-header", []int16{2, 87}, values("one", "two")[:40]},
		{"cut-in-a-record", []int16{2, 87}, values("one", "two")[:70]},
		{"two-batches", []int16{87}, append(values("one"), values("two")...)},
	}
	for _, bad := range cases {
		t.Run(bad.name, func(t *testing.T) {
			c := shared(t).dial(t)
			got := produce(c, name, bad.records)
			ok := false
			for _, code := range bad.code {
				ok = ok || got.ErrorCode == code
			}
			if !ok {
				t.Errorf("error %d, want one of %d", got.ErrorCode, bad.code)
			}
			if got.BaseOffset != -1 {
				t.Errorf("base offset %d", got.BaseOffset)
			}
			c.works()
		})
	}
	want(t, "the end of the log", listOffset(c, listVersion, name, 0, -1).Offset, 0)
	want(t, "the first good record", mustProduce(c, name, values("good")), 0)
}

// Every bit of a batch matters: whichever is flipped, the batch is refused, or what comes back is what was acknowledged.
func TestProduceFlippedBits(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	good := values("one", "two")
	taken := 0
	for at := range good {
		flipped := values("one", "two")
		flipped[at] ^= 1 << (at % 8)
		got := produce(c, name, flipped)
		if got.ErrorCode == 0 {
			taken++
			if at >= 8 && at != 12 && at != 13 && at != 14 && at != 15 { // base offset and leader epoch are the broker's to fill in
				t.Errorf("a batch with byte %d flipped was taken", at)
			}
		}
	}
	c.works()
	for _, r := range readAll(c, name, 0, 0) {
		if r.value != "one" && r.value != "two" {
			t.Errorf("offset %d: %q", r.offset, r.value)
		}
	}
	want(t, "the end of the log", listOffset(c, listVersion, name, 0, -1).Offset, int64(2*taken))
}

// A record without a key cannot be compacted: INVALID_RECORD, and the record is named.
func TestProduceNullKeyCompacted(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "cleanup.policy=compact")
	got := produce(c, name, builder(batch.None, record{key: "k", value: "v"}, record{value: "no key"}, record{key: "k", value: "w"}).Bytes())
	want(t, "error", got.ErrorCode, 87)
	if len(got.ErrorRecords) == 0 || got.ErrorRecords[0].RelativeOffset != 1 {
		t.Errorf("records named: %+v", got.ErrorRecords)
	}
	want(t, "with keys", mustProduce(c, name, builder(batch.None, record{key: "k", value: "v"}).Bytes()), 0)
}

// Errors of a request as a whole, and of partitions that are not there.
func TestProduceErrors(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "max.message.bytes=1000")
	want(t, "too large", produce(c, name, values(strings.Repeat("x", 2000))).ErrorCode, 10)
	want(t, "unknown topic", produce(c, name+"-none", values("v")).ErrorCode, 3)
	want(t, "unknown partition", produceTo(c, name, 5, values("v")).ErrorCode, 3)
	want(t, "acks 5", ask[*kmsg.ProduceResponse](c, produceVersion, produceRequest(name, 0, 5, values("v"))).Topics[0].Partitions[0].ErrorCode, 21)
	mixed := produceRequest(name, 0, -1, values("v"))
	bad := mixed.Topics[0].Partitions[0]
	bad.Partition = 9
	mixed.Topics[0].Partitions = append(mixed.Topics[0].Partitions, bad)
	got := ask[*kmsg.ProduceResponse](c, produceVersion, mixed).Topics[0].Partitions
	want(t, "the good partition", got[0].ErrorCode, 0)
	want(t, "the bad partition", got[1].ErrorCode, 3)
}

// Versions: each takes records and says where; zstd needs version 7 (C-43).
func TestProduceVersions(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	_, highest := served(c, 0)
	zstd := builder(batch.Zstd, record{value: "v"}).Bytes()
	due := int64(0)
	for v := int16(3); v <= highest; v++ {
		req := produceRequest(name, 0, 1, values("v"))
		req.Topics[0].TopicID = topicID(c, name)
		p := ask[*kmsg.ProduceResponse](c, v, req).Topics[0].Partitions[0]
		if p.ErrorCode != 0 || p.BaseOffset != due {
			t.Errorf("v%d: error %d offset %d, want offset %d", v, p.ErrorCode, p.BaseOffset, due)
		}
		due++
		req.Topics[0].Partitions[0].Records = zstd
		code := ask[*kmsg.ProduceResponse](c, v, req).Topics[0].Partitions[0].ErrorCode
		if v < 7 {
			want(t, fmt.Sprintf("zstd in v%d", v), code, 76)
		} else {
			want(t, fmt.Sprintf("zstd in v%d", v), code, 0)
			due++
		}
	}
}

// acks=0 has no answer; records are kept, and an error can only close the connection.
func TestProduceAcksZero(t *testing.T) {
	n := shared(t)
	c := n.dial(t)
	name := topic(t, c, 1)
	for range 10 {
		c.send(produceVersion, produceRequest(name, 0, 0, values("v")))
	}
	c.works() // the next answer is that of the next request
	eventually(t, "the records are there", func() bool { return listOffset(c, listVersion, name, 0, -1).Offset == 10 })
	refused := n.dial(t)
	refused.send(produceVersion, produceRequest(name, 0, 0, patched(false, 65, 0xff)))
	refused.closed()
	want(t, "the end of the log", listOffset(c, listVersion, name, 0, -1).Offset, 10)
}

// LogAppendTime: the broker's time is answered, stored and found.
func TestProduceLogAppendTime(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "message.timestamp.type=LogAppendTime")
	p := produce(c, name, timed(batch.None, 1000))
	if p.ErrorCode != 0 || p.LogAppendTime < baseTime {
		t.Fatalf("error %d time %d", p.ErrorCode, p.LogAppendTime)
	}
	wantOffset(t, "lookup", listOffset(c, listVersion, name, 0, 2000), 0, p.LogAppendTime)
	want(t, "records", len(readAll(c, name, 0, 0)), 1)
}

// S5: compressed records with any byte changed and a checksum that fits: refused, or such that every consumer can read what was taken.
func TestProduceFlippedCompressed(t *testing.T) {
	if os.Getenv(realBroker) != "" {
		t.Skip(realBroker + " names a real Kafka, which checks less of compressed records and keeps some that nobody can read")
	}
	n := shared(t)
	bystander := n.dial(t)
	for _, codec := range []batch.Codec{batch.Gzip, batch.Snappy, batch.LZ4, batch.Zstd} {
		t.Run(fmt.Sprint("codec-", codec), func(t *testing.T) {
			c := n.dial(t)
			name := topic(t, c, 1)
			good := func() []byte {
				return builder(codec, record{value: strings.Repeat("one ", 20)}, record{value: strings.Repeat("two ", 20)}).Bytes()
			}
			size := len(good())
			for at := batch.HeaderSize; at < size; at++ {
				for _, bit := range []byte{1, 0x80} {
					b := good()
					b[at] ^= bit
					produce(c, name, seal(b))
				}
			}
			for cut := batch.HeaderSize; cut < size; cut += 3 {
				b := good()[:cut]
				binary.BigEndian.PutUint32(b[8:], uint32(cut-12))
				if p := produce(c, name, seal(b)); p.ErrorCode == 0 && codec != batch.Snappy {
					t.Errorf("taken with %d of %d bytes", cut, size)
				}
			}
			end := listOffset(c, listVersion, name, 0, -1).Offset
			want(t, "records that can be read", int64(len(readAll(c, name, 0, 0))), end)
			mustProduce(c, name, good())
		})
	}
	bystander.works()
}
