package main

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestFormatPrintsAsKcatDoes(t *testing.T) {
	r := &kgo.Record{Topic: "logs", Partition: 3, Offset: 42, Key: []byte("k"), Value: []byte("hello"), Timestamp: time.UnixMilli(1700000000123),
		Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b"}}}
	cases := map[string]string{
		`%t [%p] at %o: key %k: %s\n`: "logs [3] at 42: key k: hello\n",
		`%K %S %T %h`:                 "1 5 1700000000123 a=1,b=NULL",
		`%R%s`:                        "\x00\x00\x00\x05hello",
		`100%% \x41\t\\n`:             "100% A\t\\n",
		``:                            "",
	}
	for text, want := range cases {
		f, err := parseFormat(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.append(nil, r)); got != want {
			t.Errorf("%s gives %q, want %q", text, got, want)
		}
	}
	f, _ := parseFormat("%K %S")
	if got := string(f.append(nil, &kgo.Record{})); got != "-1 -1" {
		t.Errorf("lengths of nulls are %q", got)
	}
	for _, bad := range []string{"%x", "end %"} {
		if _, err := parseFormat(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestStartIsRead(t *testing.T) {
	good := map[string]startAt{
		"beginning": {kind: 'b'}, "earliest": {kind: 'b'}, "end": {kind: 'e'}, "latest": {kind: 'e'}, "17": {kind: 'a', number: 17},
		"-5": {kind: 'r', number: 5}, "@1700000000000": {kind: 't', number: 1700000000000}, "@1970-01-01T00:00:01Z": {kind: 't', number: 1000},
	}
	for text, want := range good {
		if got, err := parseStart(text); err != nil || got != want {
			t.Errorf("%s gives %+v, %v", text, got, err)
		}
	}
	bad := map[string]string{
		"ealiest": "-o ealiest: did you mean earliest?", "lastest": "-o lastest: did you mean latest?", "begining": "-o begining: did you mean beginning?",
		"x": "-o x: must be beginning, end, an offset N, -N for the last N, or @time",
	}
	for text, want := range bad {
		if _, err := parseStart(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestEndTrackerKnowsWhenAllIsRead(t *testing.T) {
	e := newEndTracker()
	if e.reached() {
		t.Fatal("at the end before any partition is known")
	}
	e.mu.ends = map[int32]int64{0: 10, 1: 0, 2: 5}
	e.want(0, 3)
	e.want(1, 0)
	if e.reached() {
		t.Fatal("partition 0 stands at 3 of 10")
	}
	e.advance(0, 10)
	if !e.reached() {
		t.Fatal("partition 0 was read and 1 is empty")
	}
	e.assign([]int32{0, 2})
	if e.reached() || !e.unknown() || e.positions("t")["t"][0].Offset != 10 {
		t.Fatal("a partition that came later is not read, and an old one forgot its place")
	}
	e.revoke([]int32{2})
	if !e.reached() || !e.past(0, 10) || e.past(0, 9) {
		t.Fatal("after partition 2 went to another member everything is read")
	}
}

func emptyBatch(base int64, lastDelta, count int32) []byte {
	b := make([]byte, 61)
	binary.BigEndian.PutUint64(b, uint64(base))
	binary.BigEndian.PutUint32(b[8:], 49)
	b[16] = 2
	binary.BigEndian.PutUint32(b[23:], uint32(lastDelta))
	binary.BigEndian.PutUint32(b[57:], uint32(count))
	return b
}

func TestEmptyBatchesMoveTheEnd(t *testing.T) {
	two := append(emptyBatch(10, 4, 0), emptyBatch(15, 0, 0)...)
	if next, empty := onlyEmptyBatches(two); next != 16 || !empty {
		t.Errorf("two empty batches: %d %v, want 16", next, empty)
	}
	if _, empty := onlyEmptyBatches(append(two, emptyBatch(16, 0, 1)...)); empty {
		t.Error("a batch with a record counts as empty")
	}
	if _, empty := onlyEmptyBatches(nil); empty {
		t.Error("nothing counts as an empty batch")
	}
	if next, empty := onlyEmptyBatches(emptyBatch(1, 0, 0)[:40]); empty || next != 0 {
		t.Error("half a header counts as a batch")
	}
}

func FuzzEmptyBatches(f *testing.F) {
	f.Add(append(emptyBatch(10, 4, 0), emptyBatch(15, 0, 3)...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, empty := onlyEmptyBatches(b); empty && len(b) < 61 {
			t.Fatal("less than a header counts as a batch")
		}
	})
}
