package expected

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Record is all that a consumer can see of a record.
type Record struct {
	Offset        int64
	Timestamp     int64
	TimestampType int8
	Key, Value    *string // in hex
	Headers       [][2]*string
	Codec         uint8
	Transactional bool
	Control       bool
	ProducerID    int64
	ProducerEpoch int16
}

// Topic is a topic of one partition.
type Topic struct {
	LogStartOffset, HighWatermark int64
	Records                       []Record
	ReadCommitted                 []int64 // offsets that a read_committed consumer is given
	LastStableOffset              *int64
}

// View is what a broker shows: topics, and what groups committed as [offset, metadata] by partition.
type View struct {
	Topics map[string]Topic
	Groups map[string]map[string][2]any
}

// Read reads an expected.json.
func Read(path string) (v View, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// Seen is a record as franz-go gives it.
func Seen(r *kgo.Record) Record {
	g := Record{Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), TimestampType: r.Attrs.TimestampType(), Key: Hex(r.Key), Value: Hex(r.Value),
		Codec: r.Attrs.CompressionType(), Transactional: r.Attrs.IsTransactional(), Control: r.Attrs.IsControl(), ProducerID: r.ProducerID, ProducerEpoch: r.ProducerEpoch}
	if r.Timestamp.IsZero() {
		g.Timestamp = -1
	}
	for i := range r.Headers {
		g.Headers = append(g.Headers, [2]*string{&r.Headers[i].Key, Hex(r.Headers[i].Value)})
	}
	return g
}

// Hex is nil for nil.
func Hex(b []byte) *string {
	if b == nil {
		return nil
	}
	s := hex.EncodeToString(b)
	return &s
}
