package load

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Positions in a record batch of format 2.
const (
	batchLength    = 8
	batchCRC       = 17
	batchAttr      = 21
	batchLastDelta = 23
	batchFirstTime = 27
	batchMaxTime   = 35
	batchProducer  = 43
	batchEpoch     = 51
	batchSequence  = 53
	batchCount     = 57
	batchRecords   = 61
)

// BatchSpec is the shape of one record batch.
type BatchSpec struct {
	Records     int
	RecordBytes int      // bytes of a value
	KeyBytes    int      // 0: null keys
	Compression string   // none, gzip, snappy, lz4, zstd
	Random      float64  // share of a value's bytes that compression cannot shrink, 0 … 1
	Sizes       []int    // of each record's value; nil: RecordBytes
	Keys        [][]byte // of each record; nil: KeyBytes of chance
	Seed        int64
	TimeMs      int64
}

// BuildBatch makes the bytes of a batch whose base offset and sequence are zero and whose producer is none.
func BuildBatch(s BatchSpec) ([]byte, error) {
	if s.Records < 1 || s.RecordBytes < 0 || s.KeyBytes < 0 {
		return nil, fmt.Errorf("a batch of %d records of %d bytes with keys of %d bytes cannot be", s.Records, s.RecordBytes, s.KeyBytes)
	}
	rng := rand.New(rand.NewSource(s.Seed))
	value, key := make([]byte, s.RecordBytes), make([]byte, s.KeyBytes)
	var records, one []byte
	for i := range s.Records {
		if s.Sizes != nil {
			value = make([]byte, s.Sizes[i])
		}
		fill(rng, value, s.Random)
		fill(rng, key, 1)
		if s.Keys != nil {
			key = s.Keys[i]
		}
		one = appendRecord(one[:0], i, key, value)
		records = append(binary.AppendVarint(records, int64(len(one))), one...)
	}
	records, codec, err := compress(s.Compression, records)
	if err != nil {
		return nil, err
	}
	be := binary.BigEndian
	b := append(make([]byte, batchRecords, batchRecords+len(records)), records...)
	be.PutUint32(b[batchLength:], uint32(len(b)-12))
	b[16] = 2
	be.PutUint16(b[batchAttr:], codec)
	be.PutUint32(b[batchLastDelta:], uint32(s.Records-1))
	stampTime(b, s.TimeMs)
	stampProducer(b, -1, -1, -1)
	be.PutUint32(b[batchCount:], uint32(s.Records))
	sealBatch(b)
	return b, nil
}

// appendRecord writes a record without its length: attributes, no time of its own, its place, key, value, no headers.
func appendRecord(b []byte, i int, key, value []byte) []byte {
	b = append(b, 0)
	b = binary.AppendVarint(b, 0)
	b = binary.AppendVarint(b, int64(i))
	if len(key) == 0 {
		b = binary.AppendVarint(b, -1)
	} else {
		b = append(binary.AppendVarint(b, int64(len(key))), key...)
	}
	b = append(binary.AppendVarint(b, int64(len(value))), value...)
	return binary.AppendVarint(b, 0)
}

// fill writes letters, the share random of them new for each call and the rest a repeated word.
func fill(rng *rand.Rand, b []byte, random float64) {
	const word = "pelton wheel water jet "
	for i := range b {
		b[i] = word[i%len(word)]
	}
	for i := range int(float64(len(b)) * random) {
		b[i] = byte('!' + rng.Intn(90))
	}
}

func stampProducer(b []byte, id int64, epoch int16, sequence int32) {
	binary.BigEndian.PutUint64(b[batchProducer:], uint64(id))
	binary.BigEndian.PutUint16(b[batchEpoch:], uint16(epoch))
	binary.BigEndian.PutUint32(b[batchSequence:], uint32(sequence))
}

// sealBatch computes the checksum over everything from the attributes on.
func sealBatch(b []byte) {
	binary.BigEndian.PutUint32(b[batchCRC:], crc32.Checksum(b[batchAttr:], castagnoli))
}

func compress(name string, b []byte) ([]byte, uint16, error) {
	switch name {
	case "", "none":
		return b, 0, nil
	case "gzip":
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		_, err := z.Write(b)
		if err == nil {
			err = z.Close()
		}
		return out.Bytes(), 1, err
	case "snappy":
		return s2.EncodeSnappy(nil, b), 2, nil
	case "lz4":
		var out bytes.Buffer
		z := lz4.NewWriter(&out)
		_, err := z.Write(b)
		if err == nil {
			err = z.Close()
		}
		return out.Bytes(), 3, err
	case "zstd":
		z, err := zstd.NewWriter(nil)
		if err != nil {
			return nil, 0, err
		}
		return z.EncodeAll(b, nil), 4, z.Close()
	}
	return nil, 0, fmt.Errorf("compression %q: none, gzip, snappy, lz4 or zstd", name)
}
