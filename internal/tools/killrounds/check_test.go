package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Every way in which a partition can break its promise is seen, and a partition that keeps it is not blamed.
func TestHolds(t *testing.T) {
	plain, keyed, kept := kind{name: "cached"}, kind{name: "compacted", keys: 40}, kind{name: "kept", expires: true}
	acked := map[place]string{}
	for _, k := range []string{"cached", "compacted", "kept"} {
		acked[place{k, 0, 3}], acked[place{k, 0, 4}], acked[place{k, 1, 9}] = "three", "four", "elsewhere"
	}
	last := map[place]int64{{"compacted", 0, 7}: 4}
	values := func(v ...string) map[int64]string {
		m := map[int64]string{}
		for i, s := range v {
			if s != "" {
				m[int64(3+i)] = s
			}
		}
		return m
	}
	for _, c := range []struct {
		what string
		k    kind
		have content
		due  string
	}{
		{"all there", plain, content{0, 6, values("three", "four", "unanswered"), nil}, ""},
		{"lost", plain, content{0, 6, values("three"), nil}, "not there"},
		{"lost at the end", plain, content{0, 4, values("three"), nil}, "behind the end"},
		{"changed", plain, content{0, 6, values("three", "five"), nil}, `"four" was acknowledged`},
		{"start moved", plain, content{4, 6, values("", "four"), nil}, "start has moved"},
		{"kept by size", kept, content{4, 6, values("", "four"), nil}, ""},
		{"kept by size, with a hole", kept, content{4, 6, values("", "", "x"), nil}, "not there"},
		{"compacted", keyed, content{0, 6, values("", "four"), map[string]int64{"key-7": 4}}, ""},
		{"compacted, newer without an answer", keyed, content{0, 6, values("", "", "x"), map[string]int64{"key-7": 5}}, ""},
		{"compacted, last value gone", keyed, content{0, 6, values("three"), map[string]int64{"key-7": 3}}, "last value"},
		{"compacted, key gone", keyed, content{0, 6, values("three"), map[string]int64{}}, "last value"},
	} {
		err := c.k.holds(&c.have, 0, acked, last)
		if c.due == "" && err != nil || c.due != "" && (err == nil || !strings.Contains(err.Error(), c.due)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.due)
		}
	}
}

// Two records that were given one offset are told apart at once.
func TestAnOffsetIsGivenOnce(t *testing.T) {
	told := newTold()
	if err := told.note(record("t", 5, "a"), -1); err != nil {
		t.Fatal(err)
	}
	if err := told.note(record("t", 5, "b"), -1); err == nil {
		t.Fatal("offset 5 was given twice")
	}
}

func record(topic string, offset int64, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Offset: offset, Value: []byte(value)}
}
