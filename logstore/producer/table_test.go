package producer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"testing"
)

func add(t *Table, id int64, epoch int16, seq, n int32, offset int64, txn bool) {
	t.Add(id, epoch, Batch{FirstSeq: seq, LastSeq: seq + n - 1, LastOffset: offset + int64(n) - 1, OffsetDelta: n - 1, Timestamp: offset}, txn, 0)
}

// case C-19, as verdicts.
func TestTableCheck(t *testing.T) {
	x := NewTable()
	for i := range int32(6) {
		add(x, 1, 3, i*2, 2, int64(i*2), false)
	}
	for _, c := range []struct {
		name        string
		id          int64
		epoch       int16
		first, last int32
		want        Verdict
	}{
		{"next", 1, 3, 12, 13, Next},
		{"last again", 1, 3, 10, 11, Written},
		{"fifth last again", 1, 3, 2, 3, Written},
		{"sixth last again", 1, 3, 0, 1, OutOfOrder},
		{"part of one", 1, 3, 10, 10, OutOfOrder},
		{"gap", 1, 3, 13, 13, OutOfOrder},
		{"old epoch", 1, 2, 12, 12, OldEpoch},
		{"new epoch", 1, 4, 0, 5, Next},
		{"new epoch in the middle", 1, 4, 12, 12, OutOfOrder},
		{"unknown producer", 2, 0, 500, 500, Next},
	} {
		got, found := x.Check(c.id, c.epoch, c.first, c.last)
		if got != c.want || (got == Written && found.Batch.FirstOffset() != int64(c.first)) {
			t.Errorf("%s: %d %+v", c.name, got, found)
		}
	}
}

func TestTablePendingHalf(t *testing.T) {
	x := NewTable()
	x.Begin(1, 0, 0, 1, "a", 0)
	x.Begin(1, 0, 2, 2, "b", 0)
	if v, f := x.Check(1, 0, 0, 1); v != Pending || f.Ticket != "a" {
		t.Fatalf("%v %v", v, f)
	}
	if v, _ := x.Check(1, 0, 3, 3); v != Next {
		t.Fatalf("behind what is pending: %v", v)
	}
	x.Commit(1, Batch{FirstSeq: 0, LastSeq: 1, LastOffset: 1, OffsetDelta: 1}, false, 0)
	if v, f := x.Check(1, 0, 0, 1); v != Written || f.Batch.LastOffset != 1 {
		t.Fatalf("%v %v", v, f)
	}
	x.DropPending()
	if v, _ := x.Check(1, 0, 2, 2); v != Next || x.PendingLen() != 0 {
		t.Fatalf("the dropped batch may be sent again: %v", v)
	}
	x.Begin(9, 0, 0, 0, "c", 0)
	x.DropPending()
	if x.Len() != 1 {
		t.Fatal("a producer that never wrote is remembered")
	}
}

func TestTableTransactions(t *testing.T) {
	x := NewTable()
	add(x, 1, 0, 0, 2, 0, true)
	add(x, 2, 0, 0, 2, 2, true)
	add(x, 1, 0, 2, 1, 4, true)
	if x.FirstUnstable() != 0 {
		t.Fatalf("first unstable %d", x.FirstUnstable())
	}
	done, ok := x.Marker(1, 0, 7, true, 5, 5, 0)
	if !ok || done != (Txn{ProducerID: 1, FirstOffset: 0, LastOffset: 5, Aborted: true}) || x.LastStableIfEnded(done) != 2 {
		t.Fatalf("%+v %v", done, ok)
	}
	if x.FirstUnstable() != 0 {
		t.Fatal("an ended transaction is unstable until its marker is below the high watermark")
	}
	if x.HighWatermark(5); x.FirstUnstable() != 0 {
		t.Fatal("the marker is at the high watermark, not below")
	}
	if x.HighWatermark(6); x.FirstUnstable() != 2 {
		t.Fatalf("first unstable %d", x.FirstUnstable())
	}
	if _, ok := x.Marker(1, 0, 7, false, 6, 6, 0); ok {
		t.Fatal("a marker without a transaction ended one")
	}
	x.Expire(1<<40, 1)
	if x.Len() != 1 {
		t.Fatalf("%d producers: the one with an open transaction must stay", x.Len())
	}
}

func TestSnapshotRoundTrip(t *testing.T) {
	x := NewTable()
	add(x, 5, 2, 0x7ffffffe, 1, 10, true)
	x.Add(6, 0, Batch{FirstSeq: 0x7fffffff, LastSeq: 1, LastOffset: 20, OffsetDelta: 2, Timestamp: 9}, false, 0)
	x.Marker(7, 1, 3, false, 30, 31, 0)
	b := x.EncodeSnapshot()
	y, err := DecodeSnapshot(b, 0)
	if err != nil || !bytes.Equal(y.EncodeSnapshot(), b) || y.FirstUnstable() != 10 {
		t.Fatalf("%v", err)
	}
	if v, f := y.Check(6, 0, 0x7fffffff, 1); v != Written || f.Batch.FirstOffset() != 18 {
		t.Fatalf("across the wrap: %v %+v", v, f)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 4
		if _, err := DecodeSnapshot(bad, 0); !errors.Is(err, ErrSnapshot) {
			t.Fatalf("a flipped bit in byte %d was not seen: %v", i, err)
		}
		if _, err := DecodeSnapshot(b[:i], 0); !errors.Is(err, ErrSnapshot) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
}

// testdata/kafka-3.9.1.snapshot is of the golden topic txn, at offset 51: two producers, one in its transaction.
func TestSnapshotOfKafka(t *testing.T) {
	b, err := os.ReadFile("testdata/kafka-3.9.1.snapshot")
	if err != nil {
		t.Fatal(err)
	}
	x, err := DecodeSnapshot(b, 0)
	if err != nil || x.Len() != 2 {
		t.Fatalf("%v", err)
	}
	seen := map[int64]State{}
	x.Each(func(s State) { seen[s.ProducerID] = s })
	if s := seen[2]; s.TxnStart != 39 || s.CoordinatorEpoch != 0 {
		t.Fatalf("%+v", s)
	}
	if y, err := DecodeSnapshot(x.EncodeSnapshot(), 0); err != nil || y.Len() != 2 || len(x.EncodeSnapshot()) != len(b) {
		t.Fatalf("%v", err)
	}
}

// What a snapshot holds is written as it was read, but for producers that have nothing written.
func FuzzSnapshot(f *testing.F) {
	f.Add(NewTable().EncodeSnapshot())
	one := make([]byte, snapshotHeader+snapshotEntry)
	one[1], one[snapshotHeader-1] = snapshotVersion, 1
	f.Add(one)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < snapshotHeader {
			return
		}
		// The fuzzer cannot make a checksum, and would never get behind it.
		b = bytes.Clone(b)
		binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[6:], crc32.MakeTable(crc32.Castagnoli)))
		x, err := DecodeSnapshot(b, 0)
		if err != nil {
			return
		}
		written := 0
		x.Each(func(State) { written++ })
		once := x.EncodeSnapshot()
		y, err := DecodeSnapshot(once, 0)
		if err != nil || y.Len() != written || !bytes.Equal(y.EncodeSnapshot(), once) {
			t.Fatalf("%x, of %d producers with something written, is read as %d: %v", once, written, y.Len(), err)
		}
	})
}
