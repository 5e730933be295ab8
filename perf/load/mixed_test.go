package load

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pelton-broker/pelton/internal/clock"
)

func TestRunMixedComparesBothSidesWithTheLog(t *testing.T) {
	b := newFakeBroker(t)
	o := small(ModeMixed, b.addr())
	o.Consumers, o.Keys, o.KeySize, o.patience = 2, 20, 4, 200*time.Millisecond
	o.Acks, o.Idempotent = "all", true
	var out bytes.Buffer
	r, err := Run(context.Background(), o, &out)
	if err != nil {
		t.Fatal(err)
	}
	if r.Records < 600 || r.Consumed.Records != 2*r.Records || !strings.Contains(out.String(), "by 2 consumers") {
		t.Fatalf("%d produced, %+v consumed\n%s", r.Records, r.Consumed, out.String())
	}
	b.mu.Lock()
	b.lose = b.n + 5
	b.mu.Unlock()
	if _, err = Run(context.Background(), o, &out); !errors.Is(err, ErrCounts) || !strings.Contains(err.Error(), "came to consumer 1") {
		t.Fatalf("a lost batch: %v", err)
	}
}

func TestRecordedWorkloadIsReplayedBatchByBatch(t *testing.T) {
	b := newFakeBroker(t)
	o := small(ModeProduce, b.addr())
	o.Keys, o.KeySize, o.Sizes = 30, 4, SizesUniform
	if _, err := Run(context.Background(), o, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	b.atOneTime(o.Topic)
	rec := small(ModeRecord, b.addr())
	rec.Records, rec.File = 0, filepath.Join(t.TempDir(), "w.load")
	r, err := Run(context.Background(), rec, &bytes.Buffer{})
	if err != nil || !strings.Contains(strings.Join(r.Notes, " "), "the same time") {
		t.Fatalf("%v %v", err, r)
	}
	was, err := LoadTrace(rec.File)
	if err != nil {
		t.Fatal(err)
	}
	rep := small(ModeReplay, b.addr())
	rep.File, rep.Topic, rep.Acks, rep.Idempotent = rec.File, "other", "all", true
	got, err := Run(context.Background(), rep, &bytes.Buffer{})
	if err != nil || got.Records != r.Records || got.Requests != int64(len(was.Entries)) {
		t.Fatalf("%v: %d records of %d in %d requests of %d", err, got.Records, r.Records, got.Requests, len(was.Entries))
	}
	b.atOneTime("other")
	rec.Topic, rec.File = "other", filepath.Join(t.TempDir(), "again.load")
	if _, err := Run(context.Background(), rec, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	again, err := LoadTrace(rec.File)
	if err != nil || len(again.Entries) != len(was.Entries) {
		t.Fatal(err)
	}
	count := func(list []TraceEntry) map[TraceEntry]int {
		m := map[TraceEntry]int{}
		for _, e := range list {
			e.Bytes = 0
			m[e]++
		}
		return m
	}
	for e, n := range count(was.Entries) {
		if count(again.Entries)[e] != n {
			t.Fatalf("%+v came %d times, was there %d times", e, count(again.Entries)[e], n)
		}
	}
}

func TestReplayShapesAreNearTheRecordedOnes(t *testing.T) {
	for _, e := range []TraceEntry{{Records: 1, Bytes: 400}, {Records: 25, Bytes: 21097}, {Records: 1000, Bytes: 999_999}, {Records: 3, Bytes: 65_000}} {
		b, err := shapeOf(e).batch(1)
		if err != nil {
			t.Fatal(err)
		}
		if off := float64(len(b)-e.Bytes) / float64(e.Bytes); off < -0.05 || off > 0.05 {
			t.Errorf("%+v became %d bytes", e, len(b))
		}
	}
}

// A batch leaves at its own time, and its latency counts from then.
func TestPacedKeepsAGivenSchedule(t *testing.T) {
	clk := clock.NewManual(0)
	sim := &simulated{clk: clk, service: func() int64 { return 10_000 }, stallFrom: 400e6, stallTo: 500e6}
	l := newLoop(sim, newMessage(64), clk, newStats(nil))
	at := []int64{100e6, 100e6, 350e6, 410e6, 900e6}
	var raw []int64
	l.rawLatency = func(ns int64) { raw = append(raw, ns) }
	n := 0
	err := l.paced(lateNs, func() (int64, bool) {
		if n == len(at) {
			return 0, false
		}
		n++
		return at[n-1], true
	})
	if err != nil || len(raw) != 5 || raw[2] > 20_000 || raw[3] != 90e6 || clk.Mono() < 900e6 {
		t.Fatalf("%v: latencies %v at %v", err, raw, clk.Mono())
	}
}

// With linger a request leaves when its last record is due, and its latency counts from its first.
func TestOpenLoopWithLingerCountsFromTheFirstRecord(t *testing.T) {
	clk := clock.NewManual(0)
	sim := &simulated{clk: clk, service: func() int64 { return 10_000 }}
	l := newLoop(sim, newMessage(64), clk, newStats(nil))
	l.hold = 4e6
	if err := l.open(clk.Mono(), 5e6, clk.Mono()+1e9); err != nil {
		t.Fatal(err)
	}
	if p := l.stats.Quantile(0.5); l.stats.Requests != 200 || p < 4.0e6 || p > 4.1e6 || l.stats.Late != 0 {
		t.Fatalf("%d requests, p50 %d, %d late", l.stats.Requests, p, l.stats.Late)
	}
	o := Defaults(ModeProduce)
	o.Rate, o.Linger, o.Connections = 20_000, 5*time.Millisecond, 4
	if o.perBatch() != 25 || o.holdNs() != 24*200_000 {
		t.Fatalf("%d records a batch, held %d", o.perBatch(), o.holdNs())
	}
}

func TestTraceFilesSayWhatIsWrongWhere(t *testing.T) {
	const head = `{"pelton_workload":1,"topic":"x","partitions":2}` + "\n"
	for text, want := range map[string]string{
		"":                                     "f:1: the first line",
		`{"pelton_workload":2,"partitions":1}`: "f:1: pelton_workload 2",
		`{"pelton_workload":1,"partitions":0}`: "f:1: partitions 0",
		head:                                   "f:1: no batches",
		head + "1 0 5 100\n2 0 5\n":            "f:3: 3 fields",
		`{"pelton_workload":1,"topic":"` + strings.Repeat("<", 12000) + `","partitions":2}` + "\n1 1 1 100\n": "f:1: a topic of 12000 bytes",
		head + "1 2 5 100\n":                     `f:2: partition "2": a number from 0 to 1`,
		head + "1 1 0 100\n":                     `f:2: records "0"`,
		head + "1 1 1 x\n":                       `f:2: bytes "x"`,
		head + "5 1 1 100\n4 1 1 100\n":          "f:3: time 4 is before",
		head + strings.Repeat("9", 70000) + "\n": "token too long",
	} {
		if _, err := ReadTrace("f", strings.NewReader(text)); !errors.Is(err, ErrTrace) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add([]byte("{\"pelton_workload\":1,\"topic\":\"x\",\"partitions\":2}\n1 1 1 100\n"))
	f.Add([]byte(`{"pelton_workload":1,"topic":"` + strings.Repeat("<", 12000) + `","partitions":2}` + "\n1 1 1 100\n")) // six times as long in JSON
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := ReadTrace("f", bytes.NewReader(b))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := tr.Write(&out); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadTrace("f", &out); err != nil || len(again.Entries) != len(tr.Entries) {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
	})
}

func TestHistogramLogCanBeReadByTheTools(t *testing.T) {
	b := newFakeBroker(t)
	o := small(ModeProduce, b.addr())
	o.HDR = filepath.Join(t.TempDir(), "x.hlog")
	r, err := Run(context.Background(), o, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(o.HDR)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := hdrhistogram.NewHistogramLogReader(f).NextIntervalHistogram()
	if err != nil || h == nil || h.TotalCount() != r.Requests || h.ValueAtQuantile(99) != r.out.Quantile(0.99) {
		t.Fatalf("%v: %+v", err, h)
	}
}
