package lab

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pelton-broker/pelton/perf/load"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a machine in memory: some settings refuse a value, some take it and show another.
type host struct {
	values  map[string]string
	refuses map[string]string // path → value
	ignores map[string]bool
	locked  map[string]bool // takes no write at all, not even of what it holds
	broken  bool            // no write succeeds any more
	writes  int
}

func (h *host) Read(path string) (string, error) {
	v, ok := h.values[path]
	if !ok {
		return "", fs.ErrNotExist
	}
	return v, nil
}

func (h *host) Write(path, value string) error {
	h.writes++
	switch {
	case h.broken, h.locked[path]:
		return fs.ErrPermission
	case h.refuses[path] == value:
		return fs.ErrInvalid
	case h.ignores[path]:
		return nil
	case strings.HasSuffix(path, "_bytes") && value == "0":
		return fs.ErrInvalid
	}
	if twin := twinOf(path); h.values[twin] != "" {
		h.values[twin] = "0" // as the kernel does
	}
	h.values[path] = value
	return nil
}

func (h *host) Find(pattern string) ([]string, error) {
	var found []string
	for path := range h.values {
		if ok, err := filepath.Match(pattern, path); ok || err != nil {
			found = append(found, path)
		}
	}
	return found, nil
}

func newHost() *host {
	return &host{values: map[string]string{"/proc/sys/vm/dirty_ratio": "20", "/sys/block/x/queue/scheduler": "none"}, refuses: map[string]string{}, ignores: map[string]bool{}, locked: map[string]bool{}}
}

const twoKnobs = `
name: two knobs
workload: {mode: produce, duration: 1s}
knobs:
  - broker: num.shards
    values: [2, 1]
  - sysctl: vm.dirty_ratio
    values: [20, 40]
repetitions: 10
warmups: 1
metrics: [cpu_s_per_gb]
`

func parsed(t *testing.T, text string) *Experiment {
	t.Helper()
	e, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestRunFindsTheKnobThatMattersAndRestores(t *testing.T) {
	h, rng := newHost(), rand.New(rand.NewSource(4))
	journal := filepath.Join(t.TempDir(), "j", "journal.json")
	order := map[string]int{}
	r := &Runner{Host: h, JournalPath: journal, Measure: func(_ context.Context, c Cell) (map[string]float64, error) {
		order[c.Overrides["num.shards"]+"/"+h.values["/proc/sys/vm/dirty_ratio"]]++
		cost := 1.0
		if c.Overrides["num.shards"] == "1" {
			cost = 0.9
		}
		return map[string]float64{"cpu_s_per_gb": cost * math.Exp(0.02*rng.NormFloat64())}, nil
	}}
	out, err := r.Run(context.Background(), parsed(t, twoKnobs))
	if err != nil {
		t.Fatal(err)
	}
	// Eleven repetitions of four cells and of the baseline once more, the setting being what the cell says.
	if want := map[string]int{"2/20": 22, "2/40": 11, "1/20": 11, "1/40": 11}; !maps.Equal(order, want) {
		t.Fatalf("runs %v, want %v", order, want)
	}
	if len(out.Findings) != 3 || len(out.Runs) != 50 {
		t.Fatalf("%d findings, %d runs", len(out.Findings), len(out.Runs))
	}
	shards, dirty, same := out.Findings[0], out.Findings[1], out.Findings[2]
	if !shards.Shown() || shards.Change > -0.05 || shards.Pairs != 20 || dirty.Shown() || same.Shown() || same.Knob != "A/A check" || same.Pairs != 10 {
		t.Fatalf("%+v\n%+v\n%+v", shards, dirty, same)
	}
	if h.values["/proc/sys/vm/dirty_ratio"] != "20" {
		t.Fatalf("left behind: %v", h.values)
	}
	if _, err := os.Stat(journal); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the journal is left: %v", err)
	}
	var text, page, table bytes.Buffer
	if err := errors.Join(out.Text(&text), out.HTML(&page), out.CSV(&table)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "num.shards 1 instead of 2: −") || strings.Count(text.String(), "no change") != 2 {
		t.Fatal(text.String())
	}
	if s := page.String(); strings.Count(s, `class="dot"`) != 3 || !strings.Contains(s, "Less is better, to the left") || !strings.Contains(s, "<th>seed</th><td>1</td>") || strings.Contains(s, "http") || strings.Contains(s, "NaN") {
		t.Fatal(s)
	}
	if rows, err := csv.NewReader(&table).ReadAll(); err != nil || len(rows) != 51 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
}

// A short run on a busy machine may move nothing; it is made again, but not for ever.
func TestRunThatMovedNothingIsMadeAgain(t *testing.T) {
	for empty, want := range map[int]error{0: nil, 2: nil, 3: ErrEmpty} {
		runs := 0
		r, err := moving(func() (*load.Result, error) {
			if runs++; runs <= empty {
				return &load.Result{}, nil
			}
			return &load.Result{Requests: 1, Bytes: 1}, nil
		})
		if !errors.Is(err, want) || err == nil && r.Requests != 1 || runs != min(empty+1, 3) {
			t.Errorf("%d empty runs: %v after %d runs", empty, err, runs)
		}
	}
	broken := errors.New("broken")
	if _, err := moving(func() (*load.Result, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// A reader who was not there is told what each knob turns; ticks of an axis stand apart.
func TestPageSaysWhatAKnobTurnsAndKeepsTicksApart(t *testing.T) {
	o := &Outcome{Experiment: parsed(t, "name: x\nworkload: {mode: produce}\nmetrics: [p99_us]\nknobs: [{setting: thp, values: [madvise, never]}]\n"),
		Findings: []Finding{{Knob: "thp", Value: "never", Base: "madvise", Metric: "p99_us", Effect: Effect{Change: 1, Low: -0.9, High: 1.9}}}}
	var page bytes.Buffer
	if err := o.HTML(&page); err != nil || !strings.Contains(page.String(), "transparent_hugepage/enabled (always, madvise, never): madvise, never") {
		t.Errorf("%v: the page does not say what thp is", err)
	}
	if ticks := o.intervals("p99_us").Ticks; len(ticks) != 4 {
		t.Errorf("where the left side is short its middle has no tick: %v", ticks)
	}
	o.Findings[0].High = 0.5
	if ticks := o.intervals("p99_us").Ticks; len(ticks) != 5 {
		t.Errorf("%v", ticks)
	}
}

// Whatever drifts while an experiment runs must meet all combinations alike: each repetition has every one of them once, and its own order.
func TestRunInterleavesInAnOrderDrawnAnew(t *testing.T) {
	h, seen := newHost(), []string{}
	r := &Runner{Host: h, JournalPath: filepath.Join(t.TempDir(), "j"), Measure: func(_ context.Context, c Cell) (map[string]float64, error) {
		seen = append(seen, fmt.Sprint(c.At, c.again))
		return map[string]float64{"cpu_s_per_gb": 1}, nil
	}}
	if _, err := r.Run(context.Background(), parsed(t, twoKnobs)); err != nil || len(seen) != 55 {
		t.Fatalf("%v, %d runs", err, len(seen))
	}
	orders := map[string]bool{}
	for at := 0; at < len(seen); at += 5 {
		repetition, once := seen[at:at+5], map[string]bool{}
		for _, cell := range repetition {
			once[cell] = true
		}
		if len(once) != 5 {
			t.Errorf("a repetition does not have each combination once: %v", repetition)
		}
		orders[strings.Join(repetition, " ")] = true
	}
	if len(orders) < 8 {
		t.Errorf("eleven repetitions have %d different orders", len(orders))
	}
}

func TestRunRestoresHoweverItEnds(t *testing.T) {
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, measure := range map[string]Measure{
		"error": func(context.Context, Cell) (map[string]float64, error) { return nil, broken },
		"cancel": func(context.Context, Cell) (map[string]float64, error) {
			cancel()
			return map[string]float64{"cpu_s_per_gb": 1}, nil
		},
	} {
		h := newHost()
		journal := filepath.Join(t.TempDir(), "journal.json")
		r := &Runner{Host: h, JournalPath: journal, Measure: measure}
		if _, err := r.Run(ctx, parsed(t, twoKnobs)); !errors.Is(err, broken) && !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", name, err)
		}
		if h.values["/proc/sys/vm/dirty_ratio"] != "20" {
			t.Fatalf("%s: left behind: %v", name, h.values)
		}
	}
}

func TestRunLeavesOutWhatTheMachineRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*host){
		"absent":  func(h *host) { delete(h.values, "/proc/sys/vm/dirty_ratio") },
		"invalid": func(h *host) { h.refuses["/proc/sys/vm/dirty_ratio"] = "40" },
		"locked":  func(h *host) { h.locked["/proc/sys/vm/dirty_ratio"] = true },
		"ignored": func(h *host) { h.ignores["/proc/sys/vm/dirty_ratio"] = true },
	} {
		h := newHost()
		spoil(h)
		r := &Runner{Host: h, JournalPath: filepath.Join(t.TempDir(), "journal.json"), Measure: func(context.Context, Cell) (map[string]float64, error) {
			return map[string]float64{"cpu_s_per_gb": 1}, nil
		}}
		out, err := r.Run(context.Background(), parsed(t, twoKnobs))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(out.Refused) != 1 || !strings.Contains(out.Refused[0], "vm/dirty_ratio") || len(out.Findings) != 2 {
			t.Fatalf("%s: refused %v, %d findings", name, out.Refused, len(out.Findings))
		}
	}
}

// What the broker does not start with, or is granted less for, is left out with its reason: a run would show no change, and lie.
func TestRunLeavesOutWhatTheBrokerCannotGive(t *testing.T) {
	e := parsed(t, `
name: broker
workload: {mode: produce, duration: 1s}
knobs:
  - setting: send-path
    values: [sendfile, zerocopy]
  - setting: sqpoll
    values: ["false", "true"]
  - setting: shards
    values: [2, 1]
repetitions: 5
metrics: [cpu_s_per_gb]
`)
	cells := map[string]bool{}
	r := &Runner{Host: newHost(), JournalPath: filepath.Join(t.TempDir(), "j"), Probe: func(o map[string]string) ([]string, error) {
		switch {
		case o["pelton.send.path"] == "zerocopy":
			return nil, errors.New("pelton: this kernel has no MSG_ZEROCOPY")
		case o["pelton.uring.sqpoll"] == "true":
			return []string{"always", "no polling thread was granted"}, nil
		}
		return []string{"always"}, nil
	}, Measure: func(_ context.Context, c Cell) (map[string]float64, error) {
		cells[fmt.Sprint(c.Overrides)] = true
		return map[string]float64{"cpu_s_per_gb": 1}, nil
	}}
	out, err := r.Run(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	refused := strings.Join(out.Refused, "\n")
	if !strings.Contains(refused, `send-path: to "zerocopy": pelton: this kernel has no MSG_ZEROCOPY`) || !strings.Contains(refused, `sqpoll: to "true": no polling thread`) || len(cells) != 2 {
		t.Fatalf("%s\n%v", refused, cells)
	}
}

func TestCheckKeysNamesTheLine(t *testing.T) {
	e := parsed(t, "name: x\nworkload: {mode: produce}\nknobs:\n  - {setting: shards, values: [1, 2]}\n  - {broker: nonsense, values: [1, 2]}\n")
	err := e.CheckKeys(func(key, value string) error {
		if key == "num.shards" {
			return nil
		}
		return fmt.Errorf("no key %s, %s", key, value)
	})
	if !errors.Is(err, ErrExperiment) || !strings.Contains(err.Error(), "x.yaml:5: knob broker nonsense: no key nonsense, 1") {
		t.Fatal(err)
	}
}

// A crash is a journal that nobody restored: the next run must not start, restore must bring the old values back.
func TestJournalOutlivesACrash(t *testing.T) {
	h := newHost()
	path := filepath.Join(t.TempDir(), "journal.json")
	j, err := OpenJournal(path, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"30", "40"} {
		if err := j.Set("/proc/sys/vm/dirty_ratio", v); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Set("/sys/block/x/queue/scheduler", "bfq"); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(path, h); !errors.Is(err, ErrUnrestored) {
		t.Fatalf("a second run: %v", err)
	}
	h.broken = true
	if _, err := RestoreFrom(path, h); err == nil {
		t.Fatal("a restore that failed said nothing")
	}
	h.broken = false
	paths, err := RestoreFrom(path, h)
	if err != nil || len(paths) != 2 || h.values["/proc/sys/vm/dirty_ratio"] != "20" || h.values["/sys/block/x/queue/scheduler"] != "none" {
		t.Fatalf("%v %v %v", paths, err, h.values)
	}
	if paths, err = RestoreFrom(path, h); err != nil || paths != nil {
		t.Fatalf("a second restore: %v %v", paths, err)
	}
}

func TestJournalIsSafeBeforeTheChange(t *testing.T) {
	h := newHost()
	j, err := OpenJournal(filepath.Join(t.TempDir(), "no", "journal.json"), h)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Dir(filepath.Dir(j.path))+"/no", nil, 0o644); err != nil { // its directory cannot be made
		t.Fatal(err)
	}
	if err := j.Set("/proc/sys/vm/dirty_ratio", "40"); err == nil || h.writes != 0 {
		t.Fatalf("%d writes without a journal, %v", h.writes, err)
	}
}

// Of two settings that say the same in two units the kernel knows one: what was 0 before does not come back by writing 0.
func TestJournalBringsBackTheTwinOfASetting(t *testing.T) {
	const ratio, bytes = "/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes"
	for _, was := range [][2]string{{"20", "0"}, {"0", "100000000"}, {"0", "0"}} {
		for _, first := range [][2]string{{bytes, "50000000"}, {ratio, "40"}} {
			h := newHost()
			h.values[ratio], h.values[bytes] = was[0], was[1]
			j, err := OpenJournal(filepath.Join(t.TempDir(), "j"), h)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Set(first[0], first[1]); err != nil {
				t.Fatal(err)
			}
			other := map[string][2]string{bytes: {ratio, "30"}, ratio: {bytes, "60000000"}}[first[0]]
			if err := j.Set(other[0], other[1]); err != nil {
				t.Fatal(err)
			}
			if err := j.Restore(); err != nil || h.values[ratio] != was[0] || h.values[bytes] != was[1] {
				t.Errorf("%v, %s first: %v, %v afterwards", was, first[0], err, h.values)
			}
		}
	}
}

// Two runs at once would each take the other's values for the old ones.
func TestJournalIsOneRunsAlone(t *testing.T) {
	h, path := newHost(), filepath.Join(t.TempDir(), "j")
	var runs [2]*Journal
	for i := range runs { // both have started before one of them changes anything
		var err error
		if runs[i], err = OpenJournal(path, h); err != nil {
			t.Fatal(err)
		}
	}
	if err := runs[0].Set("/proc/sys/vm/dirty_ratio", "30"); err != nil {
		t.Fatal(err)
	}
	if err := runs[1].Set("/proc/sys/vm/dirty_ratio", "40"); !errors.Is(err, ErrUnrestored) || h.values["/proc/sys/vm/dirty_ratio"] != "30" {
		t.Fatalf("%v, %v", err, h.values)
	}
	if err := errors.Join(runs[0].Restore(), runs[1].Restore()); err != nil || h.values["/proc/sys/vm/dirty_ratio"] != "20" {
		t.Fatalf("%v, %v", err, h.values)
	}
}

func TestRestoreThatDoesNotTakeIsToldAndKept(t *testing.T) {
	h, path := newHost(), filepath.Join(t.TempDir(), "j")
	j, err := OpenJournal(path, h)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Set("/proc/sys/vm/dirty_ratio", "30"); err != nil {
		t.Fatal(err)
	}
	h.ignores["/proc/sys/vm/dirty_ratio"] = true
	if err := j.Restore(); err == nil || !strings.Contains(err.Error(), `reads "30" afterwards`) {
		t.Fatalf("%v", err)
	}
	delete(h.ignores, "/proc/sys/vm/dirty_ratio")
	if paths, err := RestoreFrom(path, h); err != nil || len(paths) != 1 || h.values["/proc/sys/vm/dirty_ratio"] != "20" {
		t.Fatalf("%v %v %v", paths, err, h.values)
	}
}

func TestMasksAreEqualHoweverTheyAreWritten(t *testing.T) {
	for _, c := range []struct {
		path, a, b string
		same       bool
	}{
		{"/proc/irq/24/smp_affinity", "3", "00000000,00000003", true},
		{"/sys/class/net/eth0/queues/rx-0/rps_cpus", "0", "00", true},
		{"/proc/irq/24/smp_affinity", "3", "00000000,00000001", false},
		{"/proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456", "4096\t131072\t6291456", true},
		{"/proc/sys/vm/swappiness", "1", "01", false},
	} {
		if sameSetting(c.path, c.a, c.b) != c.same {
			t.Errorf("%s: %q and %q", c.path, c.a, c.b)
		}
	}
}

func TestParseNamesFileLineKeyAndChoices(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"nome: x\n", `x.yaml:1: key "nome": one of broker, knobs, metrics, name`},
		{"name: x\nworkload:\n  recordsize: 5\n", `x.yaml:3: workload key "recordsize": one of acks`},
		{"name: x\nworkload:\n  acks: 7\n", `x.yaml:3: workload acks: load: option acks "7": 0, 1 or all`},
		{"name: x\nworkload: {mode: fly}\n", `workload mode "fly": one of produce, consume, mixed, latency, replay`},
		{"name: x\nworkload:\n  mode: produce\n  cold: true\n", "x.yaml:4: workload cold: for mode consume"},
		{"name: x\nworkload:\n  mode: consume\n  cold: icy\n", `x.yaml:4: workload cold "icy": true or false`},
		{"name: x\nworkload:\n  linger: 5ms\n  acks: all\n", "x.yaml:3: workload linger: load: option linger 5ms"},
		{"name: x\nworkload:\n  mode: replay\n", "x.yaml:3: workload: load: option file: the workload's file is wanted"},
		{"name: x\nknobs:\n  - {workload: linger, values: [1ms, 2ms]}\n", "x.yaml:3: knob workload linger: load: option linger 1ms"},
		{"name: x\nrepetitions: 1\n", `x.yaml:2: "1": a number from 5 to 1000`},
		{"name: x\nmetrics: [speed]\n", `metric "speed": one of cpu_s_per_gb`},
		{"name: x\n", "at least one"},
		{"knobs: [{broker: a, values: [1, 2]}]\n", "name: is missing"},
		{"name: x\nknobs: [{broker: a, values: [1]}]\n", "two values or more"},
		{"name: x\nknobs: [{broker: a, sysctl: b, values: [1, 2]}]\n", "not broker and sysctl"},
		{"name: x\nknobs: [{file: /etc/passwd, values: [1, 2]}]\n", "under /sys/ or /proc/"},
		{"name: x\nknobs: [{sysctl: ../x, values: [1, 2]}]\n", "dotted name"},
		{"name: x\nknobs: [{workload: in-flight, values: [1, many]}]\n", `"many" is no value for in-flight`},
		{"name: x\nknobs:\n  - {broker: a, values: [1,2,3,4,5,6,7,8,9]}\n  - {broker: b, values: [1,2,3,4,5,6,7,8,9]}\n", "81 combinations, 64 are the most"},
		{"name: [x\n", "x.yaml"},
		{"", "empty"},
	} {
		if _, err := Parse("x.yaml", []byte(c.text)); !errors.Is(err, ErrExperiment) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// What belongs together may stand in any order.
func TestParseTakesKeysInAnyOrder(t *testing.T) {
	e := parsed(t, "knobs:\n  - {workload: linger, values: [1ms, 2ms]}\nworkload:\n  linger: 5ms\n  rate: 1000\n  mode: produce\nname: x\n")
	if e.Workload.Rate != 1000 || e.Workload.Linger.Milliseconds() != 5 {
		t.Fatalf("%+v", e.Workload)
	}
	e = parsed(t, "name: x\nworkload: {mode: consume, cold: true, records: 500}\nknobs:\n  - {workload: fetch-bytes, values: [65536, 1048576]}\n")
	if e.SetDuration(time.Second); !e.Cold || e.Workload.Duration != 0 || e.Workload.Records != 500 || e.Warmups != 0 {
		t.Fatalf("what is read from the disk is read once: %+v", e.Workload)
	}
	e = parsed(t, "name: x\nworkload: {mode: consume}\nknobs:\n  - {workload: fetch-bytes, values: [65536, 1048576]}\n")
	if e.SetDuration(time.Second); e.Workload.Duration != time.Second || e.Workload.Records == 0 {
		t.Fatalf("%+v", e.Workload)
	}
}

func TestSetRepetitionsKeepsTheBounds(t *testing.T) {
	e := parsed(t, twoKnobs)
	if err := e.SetRepetitions(2); !errors.Is(err, ErrExperiment) || e.Repetitions != 10 {
		t.Fatalf("%v, %d", err, e.Repetitions)
	}
	if err := e.SetRepetitions(5); err != nil || e.Repetitions != 5 {
		t.Fatalf("%v, %d", err, e.Repetitions)
	}
}

func TestExamplesParse(t *testing.T) {
	files, err := filepath.Glob("../../examples/lab/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		if _, err := Load(f); err != nil {
			t.Error(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(twoKnobs))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Parse("x.yaml", b)
		if err == nil && (e.Name == "" || len(e.Knobs) == 0) {
			t.Fatal("an experiment without a name or knobs was taken")
		}
	})
}

func TestSettingsAreFoundOrRefusedWithTheReason(t *testing.T) {
	h := newHost()
	h.values["/sys/block/sdx/queue/scheduler"], h.values["/sys/block/sdx/queue/read_ahead_kb"] = "none", "128"
	h.values["/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"], h.values["/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"] = "powersave", "powersave"
	h.refuses["/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"] = "performance"
	for _, irq := range []string{"24", "25", "26"} {
		h.values["/proc/irq/"+irq+"/smp_affinity"] = "3"
	}
	h.locked["/proc/irq/25/smp_affinity"] = true // the kernel manages it
	e := parsed(t, `
name: settings
workload: {mode: produce, duration: 1s}
knobs:
  - setting: scheduler
    values: [none, mq-deadline]
  - setting: governor
    values: [powersave, performance]
  - setting: rps-mask
    values: [0, 3]
  - setting: irq-mask
    values: [3, 1]
  - setting: shards
    values: [1, 2]
repetitions: 5
metrics: [cpu_s_per_gb]
`)
	seen := map[string]int{}
	r := &Runner{Host: h, JournalPath: filepath.Join(t.TempDir(), "j"), At: Place{Device: "sdx", Mount: "/"}, Measure: func(_ context.Context, c Cell) (map[string]float64, error) {
		seen[h.values["/sys/block/sdx/queue/scheduler"]+" "+c.Overrides["num.shards"]+" "+h.values["/proc/irq/24/smp_affinity"]]++
		if h.values["/proc/irq/24/smp_affinity"] != h.values["/proc/irq/26/smp_affinity"] {
			t.Error("the interrupts that can be turned are not turned together")
		}
		if h.values["/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"] != "powersave" {
			t.Error("a refused knob has left a value behind")
		}
		return map[string]float64{"cpu_s_per_gb": 1 + float64(len(seen))/10}, nil
	}}
	out, err := r.Run(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	refused := strings.Join(out.Refused, "\n")
	for _, want := range []string{"governor", "rps-mask: there is no /sys/class/net", "irq-mask, 1 of 3: /proc/irq/25"} {
		if !strings.Contains(refused, want) {
			t.Errorf("the refusals lack %q:\n%s", want, refused)
		}
	}
	if len(seen) != 8 || h.values["/sys/block/sdx/queue/scheduler"] != "none" || h.values["/proc/irq/26/smp_affinity"] != "3" {
		t.Errorf("cells %v, scheduler %s afterwards", seen, h.values["/sys/block/sdx/queue/scheduler"])
	}
	if _, err := Parse("x.yaml", []byte("name: x\nknobs:\n  - setting: turbo\n    values: [1, 2]\n")); !errors.Is(err, ErrExperiment) || !strings.Contains(err.Error(), "x.yaml:3") || !strings.Contains(err.Error(), "readahead") {
		t.Errorf("an unknown setting: %v", err)
	}
}
