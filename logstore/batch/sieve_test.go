package batch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"
	"testing"
)

// odd is a batch of records of every shape: null and empty fields, long ones, headers, timestamps before the first, offsets with gaps.
func odd(rng *rand.Rand, codec Codec) []byte {
	bd := NewBuilder(codec)
	bd.BaseOffset, bd.ProducerID, bd.Transactional = rng.Int63n(1<<40), 7, true
	field := func() []byte {
		switch rng.Intn(8) {
		case 0:
			return nil
		case 1:
			return []byte{}
		case 2:
			return make([]byte, 60+rng.Intn(10)) // lengths of one byte and of two
		case 3:
			return make([]byte, 8185+rng.Intn(20)) // of two and of three
		}
		return fmt.Appendf(nil, "f%d", rng.Intn(50))
	}
	delta, gap := int32(0), []int32{1, 1, 3, 200, 70_000, 1 << 21}[rng.Intn(6)]
	for range 1 + rng.Intn(200) {
		ts := int64(1_600_000_000_000)
		if rng.Intn(4) == 0 {
			ts += rng.Int63n(1<<uint(1+rng.Intn(40))) - rng.Int63n(1<<20)
		}
		var headers []RecordHeader
		if rng.Intn(3) == 0 {
			headers = []RecordHeader{{Key: "h", Value: field()}}
		}
		bd.AddAt(delta, ts, field(), field(), headers...)
		delta += 1 + rng.Int31n(gap)
	}
	return bd.Bytes()
}

func sameField(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// What the short way tells of a record is what the complete one does, and what it makes of those that stay is what the builder makes of them.
func TestSieveTellsWhatTheIteratorDoes(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	var s Sieve
	defer s.Release()
	for round := range 150 {
		codec := Codec(rng.Intn(5))
		b := odd(rng, codec)
		h, err := ParseHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		want := []KeyOf{}
		bd := NewBuilder(codec)
		bd.BaseOffset, bd.ProducerID, bd.Transactional, bd.LastDelta = h.BaseOffset, h.ProducerID, true, h.LastOffsetDelta
		seed := rng.Int63()
		stays := func(offset int64) bool { return (offset*2654435761^seed)%3 == 0 }
		if err := Iterate(b, func(r Record) bool {
			want = append(want, KeyOf{Offset: r.Offset, Key: slices.Clone(r.Key), Null: r.Value == nil})
			if stays(r.Offset) {
				bd.Copy(&r)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		n := 0
		stay, err := s.Sift(b, func(group []KeyOf) {
			for i := range group {
				got := &group[i]
				if n >= len(want) || got.Offset != want[n].Offset || got.Null != want[n].Null || !sameField(got.Key, want[n].Key) || got.Keep {
					t.Fatalf("round %d, record %d: %+v", round, n, *got)
				}
				got.Keep = stays(got.Offset)
				n++
			}
		})
		if err != nil || n != len(want) || stay != int(bd.Count()) {
			t.Fatalf("round %d: %d of %d records, %d stay, %d should: %v", round, n, len(want), stay, bd.Count(), err)
		}
		if stay == 0 {
			continue
		}
		made := NewBuilder(codec)
		made.BaseOffset, made.ProducerID, made.Transactional, made.LastDelta = h.BaseOffset, h.ProducerID, true, h.LastOffsetDelta
		if err := s.Copy(made); err != nil || !bytes.Equal(made.Bytes(), bd.Bytes()) {
			t.Fatalf("round %d, %s: what stays is another batch: %v", round, codec, err)
		}
	}
}

// Keys ends when it is told to, with the group at hand.
func TestSieveStops(t *testing.T) {
	var s Sieve
	groups := 0
	if err := s.Keys(set(None, 3*KeyGroup, 10), func([]KeyOf) bool { groups++; return groups < 2 }); err != nil || groups != 2 {
		t.Fatal(groups, err)
	}
}

// A null value is one in however many bytes its length says so.
func TestSieveKnowsALongNull(t *testing.T) {
	body := []byte{0, 0, 0, 4, 'k', 'k', 0x81, 0, 0}
	for len(body) < headRoom { // a header, so that the short way is open
		body[len(body)-1] = 2
		body = append(body, 16, 'h', 'h', 'h', 'h', 'h', 'h', 'h', 'h', 1)
		body[8] = 2
	}
	b := make([]byte, HeaderSize)
	h := Header{Magic: 2, Count: 1, Length: int32(HeaderSize - LogOverhead + 1 + len(body)), ProducerID: NoProducerID}
	h.Put(b)
	b = append(binary.AppendVarint(b, int64(len(body))), body...)
	SealCRC(b)
	nulls := 0
	if err := Iterate(b, func(r Record) bool { nulls++; return r.Value == nil }); err != nil || nulls != 1 {
		t.Fatal("the test's own batch:", nulls, err)
	}
	var s Sieve
	if err := s.Keys(b, func(group []KeyOf) bool {
		if len(group) != 1 || !group[0].Null || string(group[0].Key) != "kk" {
			t.Errorf("%+v", group)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
}

// Any bytes are told about or refused, and whatever the iterator reads the sieve reads the same.
func FuzzSieve(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		size, magic, err := EntrySize(b)
		if err != nil || magic != 2 || size > len(b) {
			return
		}
		b = b[:size]
		s := Sieve{MaxDecompressed: 1 << 20}
		defer s.Release()
		var got []KeyOf
		_, sieved := s.Sift(b, func(group []KeyOf) {
			for i := range group {
				group[i].Keep = true
				k := group[i]
				k.Key = slices.Clone(k.Key)
				got = append(got, k)
			}
		})
		if sieved == nil {
			_ = s.Copy(NewBuilder(None))
		}
		n, stopped := 0, false
		it := Iterator{MaxDecompressed: 1 << 20}
		read := it.Each(b, func(r Record) bool {
			if n >= len(got) && sieved != nil { // the fault is in the same group, which is not told then
				stopped = true
				return false
			}
			if n >= len(got) || got[n].Offset != r.Offset || got[n].Null != (r.Value == nil) || !sameField(got[n].Key, r.Key) {
				t.Fatalf("record %d is %+v", n, r)
			}
			n++
			return true
		})
		if !stopped && read == nil && (sieved != nil || n != len(got)) {
			t.Fatalf("%d records read, %d told: %v", n, len(got), sieved)
		}
	})
}
