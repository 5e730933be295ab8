package inspect

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore/batch"
)

// Parser makes a record's key and value readable; nil for what is not shown.
type Parser func(r *batch.Record) (key, value *string, err error)

// Decoder makes bytes readable.
type Decoder func(b []byte) (string, error)

// DecoderFor finds the decoder that a Java class name stands for; the package does not matter.
func DecoderFor(class string) (Decoder, error) {
	switch class[strings.LastIndexByte(class, '.')+1:] {
	case "StringDecoder", "":
		return func(b []byte) (string, error) { return javaString(b), nil }, nil
	case "DefaultDecoder", "ByteArrayDecoder":
		return func(b []byte) (string, error) { return fmt.Sprintf("%x", b), nil }, nil
	case "IntegerDecoder":
		return func(b []byte) (string, error) {
			if len(b) != 4 {
				return "", fmt.Errorf("%d bytes are no int", len(b))
			}
			return strconv.Itoa(int(int32(binary.BigEndian.Uint32(b)))), nil
		}, nil
	case "LongDecoder":
		return func(b []byte) (string, error) {
			if len(b) != 8 {
				return "", fmt.Errorf("%d bytes are no long", len(b))
			}
			return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10), nil
		}, nil
	}
	return nil, fmt.Errorf("%s: %w", class, ErrDecoder)
}

// javaString is the text of UTF-8 bytes with one replacement character for each piece that is none, as Java cuts the pieces.
func javaString(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = badLength(b)
		}
		s.WriteRune(r)
		b = b[n:]
	}
	return s.String()
}

// badLength is how many bytes at the start of b could have begun a character together; halves of a pair count as one.
func badLength(b []byte) int {
	want, low, high := 0, byte(0x80), byte(0xbf)
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		want = 1
	case c >= 0xe0 && c <= 0xef:
		want = 2
		if c == 0xe0 {
			low = 0xa0
		}
	case c >= 0xf0 && c <= 0xf4:
		want = 3
		if c == 0xf0 {
			low = 0x90
		}
		if c == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for ; n <= want && n < len(b) && b[n] >= low && b[n] <= high; n++ {
		low, high = 0x80, 0xbf
	}
	return n
}

// Plain parses keys and values each by its own decoder.
func Plain(key, value Decoder) Parser {
	return func(r *batch.Record) (k, v *string, err error) {
		if r.Key != nil {
			s, err := key(r.Key)
			if err != nil {
				return nil, nil, fmt.Errorf("key of offset %d: %w", r.Offset, err)
			}
			k = &s
		}
		if r.Value != nil {
			s, err := value(r.Value)
			if err != nil {
				return nil, nil, fmt.Errorf("value of offset %d: %w", r.Offset, err)
			}
			v = &s
		}
		return k, v, nil
	}
}

// TxnLog parses __transaction_state.
func TxnLog() Parser {
	return func(r *batch.Record) (k, v *string, err error) {
		var key kmsg.TxnMetadataKey
		if r.Key == nil || key.ReadFrom(r.Key) != nil || key.Version != 0 {
			return unknownKey(r)
		}
		name := "transaction_metadata::transactionalId=" + key.TransactionalID
		if r.Value == nil {
			s := "<DELETE>"
			return &name, &s, nil
		}
		var x kmsg.TxnMetadataValue
		if err := x.ReadFrom(r.Value); err != nil {
			return nil, nil, fmt.Errorf("transaction at offset %d: %w", r.Offset, err)
		}
		var parts []string
		for _, t := range x.Topics {
			for _, p := range t.Partitions {
				parts = append(parts, fmt.Sprintf("%s-%d", t.Topic, p))
			}
		}
		s := fmt.Sprintf("producerId:%d,producerEpoch:%d,state=%s,partitions=[%s],txnLastUpdateTimestamp=%d,txnTimeoutMs=%d",
			x.ProducerID, x.ProducerEpoch, x.State, strings.Join(parts, ","), x.LastUpdateTimestamp, x.TimeoutMillis)
		return &name, &s, nil
	}
}

func unknownKey(r *batch.Record) (k, v *string, err error) {
	version := int16(-1)
	if len(r.Key) >= 2 {
		version = int16(binary.BigEndian.Uint16(r.Key))
	}
	s, none := fmt.Sprintf("unknown::version=%d", version), ""
	return &s, &none, nil
}

// Offsets parses __consumer_offsets.
func Offsets() Parser {
	return func(r *batch.Record) (k, v *string, err error) {
		if len(r.Key) < 2 {
			return unknownKey(r)
		}
		version := binary.BigEndian.Uint16(r.Key)
		var key object
		var value func([]byte) (object, error)
		switch version {
		case 0, 1:
			var x kmsg.OffsetCommitKey
			if err := x.ReadFrom(r.Key); err != nil {
				return unknownKey(r)
			}
			key, value = object{{"group", x.Group}, {"topic", x.Topic}, {"partition", x.Partition}}, commitValue
		case 2:
			var x kmsg.GroupMetadataKey
			if err := x.ReadFrom(r.Key); err != nil {
				return unknownKey(r)
			}
			key, value = object{{"group", x.Group}}, groupValue
		default:
			return unknownKey(r)
		}
		name := object{{"type", strconv.Itoa(int(version))}, {"data", key}}.String()
		text := "<DELETE>"
		if r.Value != nil {
			data, err := value(r.Value)
			if err != nil {
				return nil, nil, fmt.Errorf("value of offset %d: %w", r.Offset, err)
			}
			text = object{{"version", strconv.Itoa(int(binary.BigEndian.Uint16(r.Value)))}, {"data", data}}.String()
		}
		return &name, &text, nil
	}
}

func commitValue(b []byte) (object, error) {
	var x kmsg.OffsetCommitValue
	if err := x.ReadFrom(b); err != nil {
		return nil, err
	}
	o := object{{"offset", x.Offset}}
	if x.Version >= 3 {
		o = append(o, field{"leaderEpoch", x.LeaderEpoch})
	}
	o = append(o, field{"metadata", x.Metadata}, field{"commitTimestamp", x.CommitTimestamp})
	if x.Version == 1 {
		o = append(o, field{"expireTimestamp", x.ExpireTimestamp})
	}
	return o, nil
}

func groupValue(b []byte) (object, error) {
	var x kmsg.GroupMetadataValue
	if err := x.ReadFrom(b); err != nil {
		return nil, err
	}
	o := object{{"protocolType", x.ProtocolType}, {"generation", x.Generation}, {"protocol", x.Protocol}, {"leader", x.Leader}}
	if x.Version >= 2 {
		o = append(o, field{"currentStateTimestamp", x.CurrentStateTimestamp})
	}
	members := []any{}
	for i := range x.Members {
		m := &x.Members[i]
		one := object{{"memberId", m.MemberID}}
		if x.Version >= 3 {
			one = append(one, field{"groupInstanceId", m.InstanceID})
		}
		one = append(one, field{"clientId", m.ClientID}, field{"clientHost", m.ClientHost})
		if x.Version >= 1 {
			one = append(one, field{"rebalanceTimeout", m.RebalanceTimeoutMillis})
		}
		one = append(one, field{"sessionTimeout", m.SessionTimeoutMillis})
		if x.ProtocolType == "consumer" {
			one = append(one, field{"subscription", subscription(m.Subscription)}, field{"assignment", assignment(m.Assignment)})
		} else {
			one = append(one, field{"subscription", m.Subscription}, field{"assignment", m.Assignment})
		}
		members = append(members, one)
	}
	return append(o, field{"members", members}), nil
}

// subscription is a consumer's; what cannot be read is shown as it is.
func subscription(b []byte) any {
	var x kmsg.ConsumerMemberMetadata
	if len(b) == 0 || x.ReadFrom(b) != nil {
		return b
	}
	topics := make([]any, len(x.Topics))
	for i, t := range x.Topics {
		topics[i] = t
	}
	owned := []any{}
	for _, t := range x.OwnedPartitions {
		owned = append(owned, object{{"topic", t.Topic}, {"partitions", ints(t.Partitions)}})
	}
	if x.Version < 2 {
		x.Generation = -1
	}
	return object{{"topics", topics}, {"userData", x.UserData}, {"ownedPartitions", owned}, {"generationId", x.Generation}, {"rackId", x.Rack}}
}

func assignment(b []byte) any {
	var x kmsg.ConsumerMemberAssignment
	if len(b) == 0 || x.ReadFrom(b) != nil {
		return b
	}
	list := []any{}
	for _, t := range x.Topics {
		list = append(list, object{{"topic", t.Topic}, {"partitions", ints(t.Partitions)}})
	}
	return object{{"assignedPartitions", list}, {"userData", x.UserData}}
}

func ints(list []int32) []any {
	sorted := append([]int32(nil), list...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
	out := make([]any, len(sorted))
	for i, n := range sorted {
		out[i] = n
	}
	return out
}

// object is a JSON object whose fields keep their order.
type object []field

type field struct {
	name  string
	value any
}

// String implements fmt.Stringer.
func (o object) String() string {
	var s strings.Builder
	o.write(&s)
	return s.String()
}

func (o object) write(s *strings.Builder) {
	s.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			s.WriteByte(',')
		}
		quote(s, f.name)
		s.WriteByte(':')
		writeJSON(s, f.value)
	}
	s.WriteByte('}')
}

func writeJSON(s *strings.Builder, v any) {
	switch v := v.(type) {
	case object:
		v.write(s)
	case []any:
		s.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				s.WriteByte(',')
			}
			writeJSON(s, x)
		}
		s.WriteByte(']')
	case string:
		quote(s, v)
	case *string:
		if v == nil {
			s.WriteString("null")
			return
		}
		quote(s, *v)
	case []byte:
		if v == nil {
			s.WriteString("null")
			return
		}
		quote(s, base64.StdEncoding.EncodeToString(v))
	default:
		fmt.Fprint(s, v)
	}
}

// quote escapes what JSON demands and nothing else.
func quote(s *strings.Builder, text string) {
	s.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			s.WriteByte('\\')
			s.WriteRune(r)
		case r == '\n':
			s.WriteString(`\n`)
		case r == '\r':
			s.WriteString(`\r`)
		case r == '\t':
			s.WriteString(`\t`)
		case r == '\b':
			s.WriteString(`\b`)
		case r == '\f':
			s.WriteString(`\f`)
		case r < 0x20:
			fmt.Fprintf(s, `\u%04X`, r)
		default:
			s.WriteRune(r)
		}
	}
	s.WriteByte('"')
}
