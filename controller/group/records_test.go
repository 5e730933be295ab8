package group

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// realRecords are records that real Kafkas wrote: version, key, value, in hex.
func realRecords(t testing.TB) (out []struct {
	version    string
	key, value []byte
}) {
	raw, err := os.ReadFile(filepath.Join("testdata", "records", "kafka.hex"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		f := strings.Fields(line)
		if len(f) != 3 {
			t.Fatalf("line %q", line)
		}
		r := struct {
			version    string
			key, value []byte
		}{version: f[0]}
		if r.key, err = hex.DecodeString(f[1]); err != nil {
			t.Fatal(err)
		}
		if f[2] != "null" {
			if r.value, err = hex.DecodeString(f[2]); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, r)
	}
	return out
}

// TestRecordsAreThoseOf391 decodes what Kafka 3.9.1 wrote and writes the same bytes again.
func TestRecordsAreThoseOf391(t *testing.T) {
	kinds := map[string]int{}
	for _, r := range realRecords(t) {
		k, err := DecodeKey(r.key)
		if err != nil || !k.Known {
			t.Fatalf("%s: key %x: %v", r.version, r.key, err)
		}
		var key, value []byte
		if k.IsOffset {
			key = encodeOffsetKey(k.Group, k.TopicPartition)
			if r.value != nil {
				o, err := DecodeOffsetValue(r.value)
				if err != nil {
					t.Fatalf("%s: offset value %x: %v", r.version, r.value, err)
				}
				value = encodeOffsetValue(&o)
			}
		} else {
			key = encodeGroupKey(k.Group)
			if r.value != nil {
				g, err := DecodeGroupValue(r.value)
				if err != nil {
					t.Fatalf("%s: group value %x: %v", r.version, r.value, err)
				}
				value = encodeGroupValue(&g)
			}
		}
		if r.version != "3.9.1" {
			continue // other versions write other versions of values; that they are read is what counts
		}
		if !bytes.Equal(key, r.key) || !bytes.Equal(value, r.value) {
			t.Errorf("written again:\n%x %x\nKafka wrote:\n%x %x", key, value, r.key, r.value)
		}
		switch {
		case r.value == nil:
			kinds["tombstone"]++
		case k.IsOffset && r.value[1] == offsetValueExpireVersion:
			kinds["offset with expiry"]++
		case k.IsOffset:
			kinds["offset"]++
		default:
			kinds["group"]++
		}
	}
	for _, kind := range []string{"tombstone", "offset with expiry", "offset", "group"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s among Kafka's records: %v", kind, kinds)
		}
	}
}

func TestDecodeOldVersions(t *testing.T) {
	v0 := kmsg.OffsetCommitValue{Version: 0, Offset: 5, Metadata: "m", CommitTimestamp: 77}
	o, err := DecodeOffsetValue(v0.AppendTo(nil))
	if err != nil || o != (Offset{Offset: 5, LeaderEpoch: -1, Metadata: "m", CommitMs: 77, ExpireMs: -1}) {
		t.Errorf("offset value 0: %+v, %v", o, err)
	}
	v4 := kmsg.OffsetCommitValue{Version: 4, Offset: 5, LeaderEpoch: 9, Metadata: "m", CommitTimestamp: 77, TopicID: [16]byte{1}}
	o, err = DecodeOffsetValue(v4.AppendTo(nil))
	if err != nil || o.LeaderEpoch != 9 || o.Metadata != "m" {
		t.Errorf("offset value 4: %+v, %v", o, err)
	}
	for version := int16(0); version <= groupValueNewest; version++ {
		p := "range"
		v := kmsg.GroupMetadataValue{Version: version, ProtocolType: "consumer", Generation: 3, Protocol: &p, CurrentStateTimestamp: 88,
			Members: []kmsg.GroupMetadataValueMember{{MemberID: "a", SessionTimeoutMillis: 10, RebalanceTimeoutMillis: 20, Assignment: []byte("x")}}}
		g, err := DecodeGroupValue(v.AppendTo(nil))
		if err != nil {
			t.Fatalf("group value %d: %v", version, err)
		}
		wantRebalance, wantState := int32(20), int64(88)
		if version == 0 {
			wantRebalance = 10
		}
		if version < 2 {
			wantState = -1
		}
		if m := g.Members[0]; m.RebalanceMs != wantRebalance || m.SessionMs != 10 || string(m.Assignment) != "x" || g.StateMs != wantState {
			t.Errorf("group value %d: %+v", version, g)
		}
	}
}

func TestDecodeRefusesJunk(t *testing.T) {
	for _, b := range [][]byte{nil, {0}, {0, 0}, {0, 1, 0, 5, 'a'}, {0xFF, 0xFF}, {0, 0x7F, 1}} {
		if _, err := DecodeOffsetValue(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("offset value %x: %v", b, err)
		}
		if _, err := DecodeGroupValue(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("group value %x: %v", b, err)
		}
	}
	if _, err := DecodeKey([]byte{0xFF, 0xFE}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("key of version -2: %v", err)
	}
	if k, err := DecodeKey([]byte{0, 3, 9}); err != nil || k.Known {
		t.Errorf("a key of a later Kafka: %+v, %v", k, err)
	}
	lying := []byte{0, 3, 0, 0, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF}
	if _, err := DecodeGroupValue(lying); !errors.Is(err, ErrCorrupt) {
		t.Errorf("two billion members in no bytes: %v", err)
	}
}

// FuzzRecords feeds keys and values to everything that reads the log. What can be read must read the same when it is
// written again.
func FuzzRecords(f *testing.F) {
	for _, r := range realRecords(f) {
		f.Add(r.key, r.value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if len(value) > maxString {
			return // Kafka 4 has room for longer strings than the versions that are written here
		}
		r := NewReplay()
		if r.Add(1, NoProducer, key, value) == nil {
			m := New(testOptions())
			m.Step(Now{WallMs: 1000, MonoMs: 1}, &Loaded{From: r})
			m.Step(Now{WallMs: 1 << 40, MonoMs: 1 << 40}, &Tick{})
		}
		if o, err := DecodeOffsetValue(value); err == nil {
			again, err := DecodeOffsetValue(encodeOffsetValue(&o))
			if o.ExpireMs >= 0 {
				again.LeaderEpoch = o.LeaderEpoch // version 1 has no room for it, and never had one
			} else {
				again.ExpireMs = o.ExpireMs // below zero means none
			}
			if err != nil || again != o {
				t.Errorf("%+v became %+v, %v", o, again, err)
			}
		}
		if g, err := DecodeGroupValue(value); err == nil {
			b := encodeGroupValue(&g)
			again, err := DecodeGroupValue(b)
			if err != nil || !bytes.Equal(b, encodeGroupValue(&again)) {
				t.Errorf("%+v became %+v, %v", g, again, err)
			}
		}
		subscriptionTopics(value, map[string]struct{}{})
	})
}

func testOptions() Options {
	o := DefaultOptions()
	o.NewMemberIDSuffix = func() string { return "id" }
	return o
}
