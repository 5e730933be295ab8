package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func small(mode, addr string) Options {
	o := Defaults(mode)
	o.Bootstrap, o.Partitions, o.Records, o.Warmup, o.BatchBytes, o.RecordSize, o.Connections = addr, 3, 600, 0, 2000, 100, 2
	o.Duration, o.Keep = 0, true
	return o
}

func TestRunProducesThenConsumesEverything(t *testing.T) {
	b := newFakeBroker(t)
	o := small(ModeProduce, b.addr())
	o.Acks, o.Idempotent, o.JSON = "all", true, true
	var out bytes.Buffer
	r, err := Run(context.Background(), o, &out)
	if err != nil {
		t.Fatal(err)
	}
	var got Result
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	// 17 records a batch: 36 requests are the fewest that hold 600.
	if r.Records != 612 || got.Records != 612 || got.Requests != 36 || got.LatencyUs["p99"] <= 0 {
		t.Fatalf("%+v", got)
	}
	c := small(ModeConsume, b.addr())
	c.Partitions, c.Records = 0, 0
	out.Reset()
	if r, err = Run(context.Background(), c, &out); err != nil || r.Records != 612 {
		t.Fatalf("%v: %s", err, out.String())
	}
	for _, want := range []string{"612", "p99.9", "MB/s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %s:\n%s", want, out.String())
		}
	}
}

func TestRunFindsALostAndADoubledBatch(t *testing.T) {
	for name, spoil := range map[string]func(*fakeBroker){"lost": func(b *fakeBroker) { b.lose = 20 }, "doubled": func(b *fakeBroker) { b.twice = 20 }} {
		b := newFakeBroker(t)
		b.mu.Lock()
		spoil(b)
		b.mu.Unlock()
		r, err := Run(context.Background(), small(ModeProduce, b.addr()), &bytes.Buffer{})
		if !errors.Is(err, ErrCounts) || r == nil || r.Records != 612 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunMeasuresEndToEnd(t *testing.T) {
	b := newFakeBroker(t)
	o := small(ModeLatency, b.addr())
	o.Rate, o.Records, o.patience = 2000, 400, 200*time.Millisecond
	var out bytes.Buffer
	r, err := Run(context.Background(), o, &out)
	if err != nil {
		t.Fatal(err)
	}
	if r.Records != 400 || r.out.Latency.TotalCount() != 400 || r.LatencyUs["p50"] <= 0 {
		t.Fatalf("%d records, %d latencies, %v", r.Records, r.out.Latency.TotalCount(), r.LatencyUs)
	}
	b.mu.Lock()
	b.lose = b.n + 100
	b.mu.Unlock()
	if _, err = Run(context.Background(), o, &out); !errors.Is(err, ErrCounts) {
		t.Fatalf("a lost record: %v", err)
	}
}

func TestRunLeavesNoTopicThatItMade(t *testing.T) {
	b := newFakeBroker(t)
	o := small(ModeProduce, b.addr())
	o.Keep = false
	if _, err := Run(context.Background(), o, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.logs) != 0 {
		t.Fatalf("%d topics are left", len(b.logs))
	}
}

func TestRunStopsWhenItsContextEnds(t *testing.T) {
	b := newFakeBroker(t)
	o := small(ModeProduce, b.addr())
	o.Records, o.Duration = 0, time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := Run(ctx, o, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
}

func TestSelfTestNamesTheGeneratorsOwnLimit(t *testing.T) {
	o := Defaults(ModeSelfTest)
	o.Duration, o.Warmup, o.BatchBytes = 50*time.Millisecond, 0, 2000
	r, err := Run(context.Background(), o, &bytes.Buffer{})
	if err != nil || r.RecordsPerSecond <= 0 {
		t.Fatalf("%v %+v", err, r)
	}
	fast := &Result{RecordsPerSecond: math.Inf(1)}
	if err := fast.ownLimit(context.Background(), o); err != nil || len(fast.Notes) != 1 || !strings.Contains(fast.Notes[0], "within 80 %") {
		t.Fatalf("a result at the limit must say so: %v %v", err, fast.Notes)
	}
	slow := &Result{RecordsPerSecond: 1}
	if err := slow.ownLimit(context.Background(), o); err != nil || len(slow.Notes) != 0 {
		t.Fatalf("%v %v", err, slow.Notes)
	}
}

func TestLimitIsNearFromEightyPercentOn(t *testing.T) {
	for rate, notes := range map[float64]int{790: 0, 810: 1, 1200: 1} {
		r := &Result{RecordsPerSecond: rate, LimitPerSecond: 1000}
		if r.noteLimit(); len(r.Notes) != notes {
			t.Errorf("%v of 1000 records/s: %q", rate, r.Notes)
		}
	}
}

// Whatever was run, at full speed or at a rate, what the tool itself can do stands beside it; a replay has no such limit.
func TestRunsKnowTheGeneratorsOwnLimit(t *testing.T) {
	ctx := context.Background()
	for _, mode := range []string{ModeProduce, ModeMixed} {
		r, limit := &Result{RecordsPerSecond: 1}, Defaults(mode)
		limit.Rate, limit.Linger, limit.RecordSize = 10_000, 5*time.Millisecond, 100 // 12 records a request on each of four connections
		if err := r.ownLimit(ctx, limit); err != nil || r.LimitPerSecond < 20_000 {
			t.Errorf("%s: %v, limit %v: the rate that was asked for is not the tool's limit", mode, err, r.LimitPerSecond)
		}
	}
	// Answers of 64 KiB with 512 records.
	slow, fast := Result{Requests: 10, Bytes: 655360, Records: 5120, RecordsPerSecond: 1}, Result{Requests: 10, Bytes: 655360, Records: 5120, RecordsPerSecond: math.Inf(1)}
	if err := errors.Join(slow.ownLimit(ctx, Defaults(ModeConsume)), fast.ownLimit(ctx, Defaults(ModeConsume))); err != nil || len(slow.Notes) != 0 || len(fast.Notes) != 1 || slow.LimitPerSecond < 10_000 {
		t.Errorf("consume: %v %v %v", err, slow.LimitPerSecond, fast.Notes)
	}
	replay := &Result{RecordsPerSecond: math.Inf(1)}
	if err := replay.ownLimit(ctx, Defaults(ModeReplay)); err != nil || replay.LimitPerSecond != 0 || len(replay.Notes) != 0 {
		t.Errorf("replay: %v %v", err, replay.Notes)
	}
}

func TestConsumeDiscardsItsWarmUp(t *testing.T) {
	b := newFakeBroker(t)
	if _, err := Run(context.Background(), small(ModeProduce, b.addr()), &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	o := small(ModeConsume, b.addr())
	o.Partitions, o.Records, o.Duration, o.Warmup = 0, 0, 50*time.Millisecond, 50*time.Millisecond
	r, err := Run(context.Background(), o, &bytes.Buffer{})
	if err != nil || r.Records == 0 {
		t.Fatalf("%v %+v", err, r)
	}
	b.mu.Lock()
	all := b.fetches
	b.mu.Unlock()
	if r.Requests == 0 || r.Requests >= all {
		t.Errorf("%d of %d requests counted: those of the warm-up must not", r.Requests, all)
	}
}

func TestReportFilesAreWhole(t *testing.T) {
	dir := t.TempDir()
	b := newFakeBroker(t)
	o := small(ModeProduce, b.addr())
	o.Rate, o.HTML, o.HDR = 20_000, filepath.Join(dir, "r.html"), filepath.Join(dir, "r.hgrm")
	o.Topic = `<b>&"x`
	var progress bytes.Buffer
	o.Progress = &progress
	if _, err := Run(context.Background(), o, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(o.HTML)
	if err != nil {
		t.Fatal(err)
	}
	s := string(page)
	if strings.Count(s, "<svg") != 3 || strings.Contains(s, "<b>&") || strings.Contains(s, "http") || strings.Contains(s, "NaN") {
		t.Fatalf("the report must have three charts, escape names, fetch nothing and hold no NaN:\n%s", s)
	}
	for _, want := range []string{"Up: megabytes a second. To the right: seconds of the run. A rate is asked for: flat is good", "Up: latency; each line is ten times the one below. To the right: the share of requests",
		"what is left. Lower is better.", "Lower is better, and a lone cell", ">p50<", ">p90<"} {
		if !strings.Contains(s, want) {
			t.Errorf("who reads the report is not told: %s", want)
		}
	}
	if full := (&Result{Mode: ModeProduce}).pace(); full != "Higher is better." {
		t.Errorf("at full speed: %s", full)
	}
	if h, err := os.ReadFile(o.HDR); err != nil || !strings.Contains(string(h), "Percentile") {
		t.Fatalf("%v %s", err, h)
	}
	if !strings.Contains(progress.String(), "requests/s") {
		t.Fatalf("progress %q", progress.String())
	}
}

func TestOptionsNameWhatIsWrong(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"mode":        func(o *Options) { o.Mode = "x" },
		"acks":        func(o *Options) { o.Acks = "2" },
		"compression": func(o *Options) { o.Compress = "brotli" },
		"idempotent":  func(o *Options) { o.Idempotent = true },
		"record-size": func(o *Options) { o.RecordSize = -1 },
		"connections": func(o *Options) { o.Connections = 0 },
		"duration":    func(o *Options) { o.Duration = 0 },
		"rate 0":      func(o *Options) { o.Mode = ModeLatency },
		"rate 5":      func(o *Options) { o.Mode, o.Warmup, o.Rate = ModeConsume, 0, 5 },
		"warmup 1s":   func(o *Options) { *o = Defaults(ModeConsume); o.Warmup = time.Second },
		"warmup 2s":   func(o *Options) { o.Mode, o.Warmup = ModeMixed, 2*time.Second },
	} {
		o := Defaults(ModeProduce)
		change(&o)
		if _, err := Run(context.Background(), o, &bytes.Buffer{}); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestHeatRowsCoverEveryLatencyOnce(t *testing.T) {
	for row := range heatRows - 1 {
		end := heatEnd(row)
		if heatRow(end-1) != row || heatRow(end) != row+1 {
			t.Fatalf("row %d ends at %d: %d is in %d, %d in %d", row, end, end-1, heatRow(end-1), end, heatRow(end))
		}
	}
}

func TestResultJoinsAShortLastIntervalToTheOneBefore(t *testing.T) {
	r := &Result{Intervals: []Interval{{AtSeconds: 1, Requests: 10, Bytes: 100, Heat: []int64{10}}}}
	r.last(Interval{AtSeconds: 1.1, Requests: 5, Bytes: 50, Heat: []int64{1, 4}})
	got := r.Intervals[len(r.Intervals)-1]
	if len(r.Intervals) != 1 || got.AtSeconds != 1.1 || got.Requests != 15 || got.Bytes != 150 || got.Heat[0] != 11 || got.Heat[1] != 4 {
		t.Fatalf("%+v", r.Intervals)
	}
	if r.last(Interval{AtSeconds: 1.9, Requests: 5}); len(r.Intervals) != 2 {
		t.Fatalf("%+v", r.Intervals)
	}
}
