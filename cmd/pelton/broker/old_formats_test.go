package broker_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// message is one message of format 0 or 1, made here and by nothing of the product's.
func message(magic int8, offset, ts int64, attr byte, key, value []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(offset))
	b = append(b, make([]byte, 8)...)
	b = append(b, byte(magic), attr)
	if magic == 1 {
		b = binary.BigEndian.AppendUint64(b, uint64(ts))
	}
	for _, f := range [][]byte{key, value} {
		if f == nil {
			b = binary.BigEndian.AppendUint32(b, 0xffffffff)
			continue
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(f))), f...)
	}
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[12:], crc32.ChecksumIEEE(b[16:]))
	return b
}

// oldSet is a message set of these values, in one wrapper unless the codec is none. Offsets inside are those of the clients of its format.
func oldSet(t *testing.T, magic int8, codec batch.Codec, values ...string) []byte {
	t.Helper()
	var set []byte
	for i, v := range values {
		set = append(set, message(magic, int64(i), baseTime+int64(i), 0, []byte("k"), []byte(v))...)
	}
	if codec == batch.None {
		return set
	}
	packed, err := batch.Compress(nil, codec, set)
	if err != nil {
		t.Fatal(err)
	}
	if codec == batch.LZ4 && magic == 0 {
		packed[6] ^= 0x5a // clients of format 0 computed the frame's checksum over the wrong bytes, and none looks at it
	}
	own := int64(0)
	if magic == 1 {
		own = int64(len(values) - 1)
	}
	return message(magic, own, baseTime+int64(len(values)-1), byte(codec), nil, packed)
}

// oldProduce writes a set to partition 0 in an old version.
func oldProduce(c *conn, version int16, name string, set []byte) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	return ask[*kmsg.ProduceResponse](c, version, produceRequest(name, 0, 1, set)).Topics[0].Partitions[0]
}

// oldFetch reads partition 0 in an old version.
func oldFetch(c *conn, version int16, name string, offset int64) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	return ask[*kmsg.FetchResponse](c, version, fetchRequest(name, 0, offset)).Topics[0].Partitions[0]
}

// told lists what a fetched set says from an offset on: format, codec, offset, time (behind baseTime), value.
func told(t *testing.T, set []byte, from int64) string {
	t.Helper()
	var out []string
	if err := batch.Iterate(set, func(r batch.Record) bool {
		if r.Offset >= from {
			ts := r.Timestamp
			if ts > 0 {
				ts -= baseTime
			}
			out = append(out, fmt.Sprintf("%d/%s/%d/%d/%s", r.Batch.Magic, r.Batch.Codec(), r.Offset, ts, r.Value))
		}
		return true
	}); err != nil {
		t.Fatalf("%d fetched bytes: %v", len(set), err)
	}
	return strings.Join(out, " ")
}

// C-44: sets of three of both old formats, plain and wrapped, in every version that clients of them speak, are taken and read back by
// consumers of every age, each in the format that it knows.
func TestOldSetsAreTaken(t *testing.T) {
	c := shared(t).dial(t)
	for magic := int8(0); magic <= 1; magic++ {
		for codec := batch.None; codec <= batch.LZ4; codec++ {
			for version := int16(0); version <= 2; version++ {
				t.Run(fmt.Sprintf("magic-%d-%s-v%d", magic, codec, version), func(t *testing.T) {
					c := shared(t).dial(t)
					name := topic(t, c, 1)
					for i := range int64(2) {
						p := oldProduce(c, version, name, oldSet(t, magic, codec, "a", "b", "c"))
						if p.ErrorCode != 0 || p.BaseOffset != 3*i {
							t.Fatalf("set %d: error %d offset %d", i, p.ErrorCode, p.BaseOffset)
						}
					}
					for fetched := int16(0); fetched <= 4; fetched++ {
						kind := []int8{0, 0, 1, 1, 2}[fetched]
						var due []string
						for i, v := range []string{"c", "a", "b", "c"} {
							ts := (i + 2) % 3
							if kind == 0 || magic == 0 {
								ts = -1
							}
							due = append(due, fmt.Sprintf("%d/%s/%d/%d/%s", kind, codec, i+2, ts, v))
						}
						p := oldFetch(c, fetched, name, 2)
						want(t, fmt.Sprintf("Fetch v%d", fetched), told(t, p.RecordBatches, 2), strings.Join(due, " "))
						want(t, "high watermark", p.HighWatermark, 6)
					}
				})
			}
		}
	}
	c.works()
}

// C-44: what is broken is refused whole.
func TestOldSetsThatAreBroken(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	good := oldSet(t, 1, batch.None, "a", "b", "c")
	flipped := func(at int) []byte { b := append([]byte(nil), good...); b[at] ^= 1; return b }
	inner := message(1, 0, baseTime, 0, nil, []byte("v"))
	inner[20] ^= 1
	packed, err := batch.Compress(nil, batch.Gzip, inner)
	if err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string]struct {
		set  []byte
		code int16
	}{
		"first":       {flipped(30), 2},
		"last":        {flipped(len(good) - 1), 2},
		"inner-crc":   {message(1, 0, baseTime, 1, nil, packed), 2},
		"magic-5":     {message(5, 0, baseTime, 0, nil, nil), 2},
		"mixed":       {append(oldSet(t, 0, batch.None, "a"), good...), 87},
		"two-wrapped": {append(oldSet(t, 1, batch.Gzip, "a"), oldSet(t, 1, batch.Gzip, "b")...), 87},
		"null-value":  {message(1, 0, baseTime, 1, nil, nil), 87},
	} {
		for version := int16(0); version <= 2; version++ {
			p := oldProduce(c, version, name, b.set)
			want(t, fmt.Sprintf("%s v%d", what, version), p.ErrorCode, b.code)
			want(t, what+": offset", p.BaseOffset, -1)
		}
	}
	cut := oldProduce(c, 1, name, good[:len(good)-1])
	want(t, "a set whose last message is cut off", cut.ErrorCode, 0)
	want(t, "an empty set", oldProduce(c, 1, name, nil).ErrorCode, 0)
	want(t, "records", told(t, oldFetch(c, 2, name, 0).RecordBatches, 0), "1/none/0/0/a 1/none/1/1/b")
	compacted := unique(t) + "-compacted"
	makeTopic(t, c, compacted, 1, "cleanup.policy=compact")
	want(t, "a null key", oldProduce(c, 0, compacted, message(0, 0, 0, 0, nil, []byte("v"))).ErrorCode, 87)
}

// Old versions may bring new batches: some clients did.
func TestNewBatchInOldProduce(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	for version := int16(0); version <= 2; version++ {
		want(t, fmt.Sprintf("v%d", version), oldProduce(c, version, name, values("v")).BaseOffset, int64(version))
	}
	want(t, "records", len(readAll(c, name, 0, 0)), 3)
}

// What a consumer below version 4 cannot know is not shown to it: record headers, zstd, and markers (C-72).
func TestOldFetchHides(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1)
	b := builder(batch.None, record{value: "plain"})
	b.Add(baseTime, nil, []byte("headed"), batch.RecordHeader{Key: "h", Value: []byte("x")})
	mustProduce(c, name, b.Bytes())
	for version := int16(2); version <= 3; version++ {
		want(t, fmt.Sprintf("v%d", version), told(t, oldFetch(c, version, name, 0).RecordBatches, 0), "1/none/0/0/plain 1/none/1/0/headed")
	}
	squeezed := unique(t) + "-zstd"
	makeTopic(t, c, squeezed, 1)
	mustProduce(c, squeezed, values("before"))
	mustProduce(c, squeezed, builder(batch.Zstd, record{value: "zstd"}).Bytes())
	for version := int16(0); version <= 9; version++ {
		p, due := oldFetch(c, version, squeezed, 1), int16(0)
		if version <= 3 {
			due = 76
			want(t, "high watermark", p.HighWatermark, -1)
			want(t, "what comes before", strings.Count(told(t, oldFetch(c, version, squeezed, 0).RecordBatches, 0), "before"), 1)
		}
		want(t, fmt.Sprintf("zstd records in v%d", version), p.ErrorCode, due)
		if version > 3 { // stored as the producer sent it, it goes out as it is (C-43)
			want(t, "the stored batch", strings.Count(told(t, p.RecordBatches, 0), "/zstd/"), 1)
		}
	}
}

// C-43: the topic's codec decides before version 10.
func TestZstdTopic(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "compression.type=zstd")
	mustProduce(c, name, values("v"))
	for version := int16(0); version <= 11; version++ {
		p := oldFetch(c, version, name, 0)
		if version < 10 {
			want(t, fmt.Sprintf("v%d", version), p.ErrorCode, 76)
			want(t, "watermark", p.HighWatermark, -1)
			want(t, "bytes", len(p.RecordBatches), 0)
			continue
		}
		want(t, fmt.Sprintf("v%d", version), told(t, p.RecordBatches, 0), "2/zstd/0/0/v")
	}
}

// compression.type: records are stored as the topic says, whatever the producer used.
func TestCompressionType(t *testing.T) {
	for _, stored := range []string{"uncompressed", "gzip", "snappy", "lz4", "zstd"} {
		c := shared(t).dial(t)
		name := unique(t) + "-" + stored
		makeTopic(t, c, name, 1, "compression.type="+stored)
		mustProduce(c, name, builder(batch.None, record{value: "a"}, record{value: "b"}).Bytes())
		mustProduce(c, name, builder(batch.Snappy, record{value: "c"}).Bytes())
		want(t, "old set", oldProduce(c, 2, name, oldSet(t, 1, batch.Gzip, "d")).BaseOffset, 3)
		codec := strings.Replace(stored, "uncompressed", "none", 1)
		due := strings.ReplaceAll("2/X/0/0/a 2/X/1/1/b 2/X/2/0/c 2/X/3/0/d", "X", codec)
		want(t, stored, told(t, oldFetch(c, 11, name, 0).RecordBatches, 0), due)
	}
}

// How hard the broker compresses is the topic's to say, and may change.
func TestCompressionLevel(t *testing.T) {
	c := shared(t).dial(t)
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "%d turns of wheel %d, ", i*i%977, i%13)
	}
	for codec, levels := range map[string][2]string{"gzip": {"1", "9"}, "lz4": {"9", "12"}, "zstd": {"1", "19"}} {
		name := unique(t) + "-" + codec
		makeTopic(t, c, name, 1, "compression.type="+codec, "compression."+codec+".level="+levels[0])
		size := func(at int64) int {
			mustProduce(c, name, builder(batch.None, record{value: text.String()}).Bytes())
			return len(fetch(c, name, at).RecordBatches)
		}
		fast := size(0)
		want(t, "changing the level", change(c, name, kmsg.IncrementalAlterConfigOpSet, "compression."+codec+".level", levels[1]), 0)
		if hard := size(1); hard >= fast || hard == 0 {
			t.Errorf("%s: %d bytes at level %s, %d at level %s", codec, fast, levels[0], hard, levels[1])
		}
	}
}

// Conversion can be forbidden.
func TestDownConversionDisabled(t *testing.T) {
	c := shared(t).dial(t)
	name := topic(t, c, 1, "message.downconversion.enable=false")
	mustProduce(c, name, values("v"))
	for version := int16(0); version <= 4; version++ {
		p, due := oldFetch(c, version, name, 0), int16(35)
		if version == 4 {
			due = 0
		}
		want(t, fmt.Sprintf("v%d", version), p.ErrorCode, due)
		want(t, "has records", len(p.RecordBatches) > 0, version == 4)
	}
}
