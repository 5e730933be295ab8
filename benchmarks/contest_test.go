//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pelton-broker/pelton/perf/lab"
)

func TestContestDiscardsFirstRoundsAndDrawsTheOrder(t *testing.T) {
	orders, warmed := map[string]int{}, 0
	var now string
	c := &contest{name: "c", keep: 20, discard: 2, prepare: func(context.Context) error { warmed++; return nil }}
	n := map[string]float64{}
	for _, name := range []string{"a", "b"} {
		c.sides = append(c.sides, side{name: name, round: func(context.Context) (sample, error) {
			n[name]++
			if now += name; len(now) == 2 {
				orders[now]++
				now = ""
			}
			return sample{"m": n[name]}, nil
		}})
	}
	out, err := c.run(context.Background(), rand.New(rand.NewSource(1)), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(out["a"]) != 20 || out["a"][0]["m"] != 3 || warmed != 44 {
		t.Fatalf("%d rounds kept, the first is round %v, warmed %d times", len(out["a"]), out["a"][0]["m"], warmed)
	}
	if orders["ab"] == 0 || orders["ba"] == 0 || orders["ab"]+orders["ba"] != 22 {
		t.Fatalf("orders %v: both must occur, and each round have both sides", orders)
	}
}

func TestContestStopsAtAFailedRound(t *testing.T) {
	broken := errors.New("broken")
	c := &contest{name: "c", keep: 3, sides: []side{{name: "a", round: func(context.Context) (sample, error) { return nil, broken }}}}
	if _, err := c.run(context.Background(), rand.New(rand.NewSource(1)), func(string) {}); !errors.Is(err, broken) {
		t.Fatalf("err = %v", err)
	}
}

func TestJudgePairsRoundsAndKeepsTheBound(t *testing.T) {
	o := outcome{}
	// The machine halves its speed in the third round: both sides feel it, the ratio does not.
	for _, v := range []float64{10, 12, 20, 11, 10} {
		o["ours"] = append(o["ours"], sample{"m": v * 1.3})
		o["floor"] = append(o["floor"], sample{"m": v})
	}
	f, err := o.judge(claim{row: "r", side: "ours", metric: "m", over: "floor", bound: 1.31, atMost: true})
	if err != nil || !f.Met || f.Ratio < 1.299 || f.High > 1.301 || f.Other != 11 || f.Rounds != 5 {
		t.Fatalf("%+v %v", f, err)
	}
	if f, _ = o.judge(claim{row: "r", side: "ours", metric: "m", over: "floor", bound: 1.2, atMost: true}); f.Met {
		t.Fatal("1.3 keeps no bound of 1.2")
	}
	if f, _ = o.judge(claim{row: "r", side: "ours", metric: "m", over: "floor", bound: 1.35}); f.Met {
		t.Fatal("1.3 is not at least 1.35")
	}
	if _, err := o.judge(claim{row: "r", side: "ours", metric: "missing"}); err == nil {
		t.Fatal("a metric that was not measured must be an error")
	}
}

func TestCompareAddsARatioForEveryMetricOfBothBuilds(t *testing.T) {
	c := &contest{sides: []side{{name: "pelton"}, {name: "floor"}}, claims: []claim{
		{row: "r", side: "pelton", metric: "m", over: "floor", bound: 1}, {row: "r", side: "pelton", metric: "m", over: "echo", bound: 1}, {row: "r", side: "kafka", metric: "m"}}}
	c.compare("pelton", "reference")
	if len(c.claims) != 3 {
		t.Fatal("compared with a side that takes no part")
	}
	c.sides = append(c.sides, side{name: "reference"})
	c.compare("pelton", "reference")
	if got := c.claims[len(c.claims)-1]; len(c.claims) != 4 || got.over != "reference" || !got.info {
		t.Fatalf("%+v", c.claims)
	}
}

func TestPoolsFindTheTailAndItsInterval(t *testing.T) {
	rng, p := rand.New(rand.NewSource(5)), newPools(1)
	for round := range 11 {
		for side, scale := range map[string]float64{"ours": 1.4, "floor": 1} {
			h := hdrhistogram.New(1, 1e9, 2)
			for range 10_000 {
				_ = h.RecordValue(int64(scale * (100_000 + rng.ExpFloat64()*50_000)))
			}
			if round == 0 { // the first round is wild and must not count
				_ = h.RecordValues(9e8, 5_000)
			}
			p.keep(side, h)
		}
	}
	ratio, low, high := p.ratio("ours", "floor", 0.999, rng)
	if ratio < 1.33 || ratio > 1.47 || low > ratio || high < ratio || high-low > 0.25 {
		t.Fatalf("ratio %v, interval %v … %v; 1.4 was put in", ratio, low, high)
	}
	if got := pooledCount(p.bySide["ours"]); got != 100_000 {
		t.Fatalf("%d samples", got)
	}
}

func TestReportShowsWhatIsNotMetAndKeepsItsConditions(t *testing.T) {
	r := &report{base: map[string]any{"kernel": "6.1"}}
	c := &contest{name: "c", detail: map[string]any{"acks": 1}, claims: []claim{
		{row: "good", side: "a", metric: "m", over: "b", bound: 2, atMost: true},
		{row: "bad", side: "a", metric: "m", bound: 5, unit: "ms", atMost: true},
	}}
	if err := r.add(c, outcome{"a": {{"m": 6}}, "b": {{"m": 4}}}, nil); err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := r.table(&table); err != nil {
		t.Fatal(err)
	}
	if s := table.String(); !strings.Contains(s, "1.50") || strings.Count(s, "NOT MET") != 1 || !strings.Contains(s, "≤ 5") {
		t.Fatalf("table:\n%s", s)
	}
	path := filepath.Join(t.TempDir(), "history.jsonl")
	for range 2 {
		if err := r.keep(path); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	var got struct {
		Kernel, Contest string
		Acks            int
		Figures         []struct {
			Ratio, Bound float64
			Met          bool
		}
	}
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil || len(lines) != 2 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	if got.Kernel != "6.1" || got.Acks != 1 || got.Figures[0].Ratio != 1.5 || !got.Figures[0].Met || got.Figures[1].Met {
		t.Fatalf("%+v", got)
	}
}

// A round that measured nothing must not cost the others their place in the record.
func TestRecordTakesWhatIsNoNumber(t *testing.T) {
	r := &report{base: map[string]any{}}
	c := &contest{name: "c", claims: []claim{{row: "r", side: "a", metric: "m", over: "b", bound: 2, atMost: true}}}
	if err := r.add(c, outcome{"a": {{"m": 0}}, "b": {{"m": 0}}}, nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "history.jsonl")
	if err := r.keep(path); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), `"ratio":null`) || !strings.Contains(string(b), `"met":false`) {
		t.Fatalf("%v %s", err, b)
	}
}

func TestWarmLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	if err := lab.Warm(dir, 3<<20); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Fatalf("%v %v", left, err)
	}
}

func TestProcessTimeGrowsWithWork(t *testing.T) {
	p := &lab.Process{PID: os.Getpid()}
	before, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for i := range 1_000_000 {
		sum += i & 7
	}
	after, err := p.CPU()
	if err != nil || after <= before {
		t.Fatalf("%v s, then %v s, %v (%d)", before, after, err, sum)
	}
}

func TestComparisonOfBuildsHasAnInterval(t *testing.T) {
	o := outcome{}
	for i := range 8 {
		noise := 1 + float64(i%3)/100
		o["pelton"] = append(o["pelton"], sample{"cpu": 1.2 * noise})
		o["reference"] = append(o["reference"], sample{"cpu": 1 + float64(i%2)/100})
	}
	f, err := o.judge(claim{row: "x", side: "pelton", metric: "cpu", over: "reference", info: true})
	if err != nil || f.Effect == nil || !f.Effect.Shown() || f.Effect.Low < 0.15 || f.Effect.High > 0.25 {
		t.Fatalf("%v %+v", err, f.Effect)
	}
	var b strings.Builder
	if err := (&report{figures: []figure{f}}).table(&b); err != nil || !strings.Contains(b.String(), "+20 % cpu, 95 % interval") {
		t.Fatalf("%v\n%s", err, b.String())
	}
	for name := range o {
		o[name] = o[name][:3]
	}
	if f, err = o.judge(claim{row: "x", side: "pelton", metric: "cpu", over: "reference", info: true}); err != nil || f.Effect != nil {
		t.Fatalf("three rounds make no interval: %v %+v", err, f.Effect)
	}
}

func TestSamplesAreLinesForBenchstat(t *testing.T) {
	s, dir := samples{}, t.TempDir()
	c := &contest{claims: []claim{{row: "produce-1m: CPU per GB", side: "pelton", metric: "cpu", unit: "s/GB", over: "reference"}, {row: "no comparison", side: "pelton", metric: "cpu"}}}
	s.add(c, outcome{"pelton": {{"cpu": 0.5}, {"cpu": 0.75}}, "reference": {{"cpu": 1}}})
	if err := s.write(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"pelton.txt":    "Benchmarkproduce-1m/CPU_per_GB 1 0.5 s/GB\nBenchmarkproduce-1m/CPU_per_GB 1 0.75 s/GB\n",
		"reference.txt": "Benchmarkproduce-1m/CPU_per_GB 1 1 s/GB\n",
	} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v", name, b, err)
		}
	}
}
