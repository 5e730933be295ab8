package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"slices"
	"strings"

	"github.com/pelton-broker/pelton/perf/load"
)

// Cell is one combination of values: the value's position for each knob, in order of knobs.
type Cell struct {
	At        []int
	Overrides map[string]string
	Workload  load.Options
	Cold      bool // what is consumed comes from the disk
	again     bool // the baseline once more, for the A/A check
}

// Measure runs a cell's workload once and gives its metrics.
type Measure func(ctx context.Context, c Cell) (map[string]float64, error)

// Probe starts a broker with a configuration and says what it could not give of what was asked for; or it fails with ErrRefused.
type Probe func(overrides map[string]string) (missing []string, err error)

// Finding is what a value of a knob does to a metric, against the knob's first value.
type Finding struct {
	Knob, Value, Base, Metric string
	Effect
	Sentence string
}

// Outcome is a finished experiment.
type Outcome struct {
	Experiment *Experiment
	Findings   []Finding
	Refused    []string // knobs that this machine cannot turn, with the reason
	Runs       []RunRow
	Machine    string // where and
	Made       string // when
}

// RunRow is one measured run, as it stands in the CSV file.
type RunRow struct {
	Repetition int
	Cell       string
	Again      bool
	Metrics    map[string]float64
	at         []int
}

// Runner carries an experiment out.
type Runner struct {
	Measure     Measure
	Probe       Probe // nil: values of the broker's keys are not tried first
	Host        Host
	JournalPath string
	At          Place     // of the brokers' data
	Progress    io.Writer // nil: none
}

// Run measures every cell in every repetition, in an order drawn anew, and restores what it changed
// however it ends. Knobs that the machine refuses are left out and reported.
func (r *Runner) Run(ctx context.Context, e *Experiment) (out *Outcome, err error) {
	journal, err := OpenJournal(r.JournalPath, r.Host)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Restore()) }()
	out = &Outcome{Experiment: e}
	knobs, err := r.turnable(e, journal, out)
	if err != nil {
		return nil, err
	}
	if len(knobs) == 0 {
		return out, nil
	}
	cells, err := cellsOf(e, knobs)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewSource(e.Seed))
	for rep := range e.Warmups + e.Repetitions {
		for _, i := range rng.Perm(len(cells)) {
			if err := r.one(ctx, e, knobs, cells[i], rep-e.Warmups+1, journal, out); err != nil {
				return out, err
			}
		}
	}
	return out, out.judge(knobs, rng)
}

// turnable tries every value of the machine's knobs and keeps the knobs that take them all. Of interrupts and queues those that
// take all values stay: the kernel keeps some of them for itself.
func (r *Runner) turnable(e *Experiment, journal *Journal, out *Outcome) ([]Knob, error) {
	var knobs []Knob
	for _, k := range e.Knobs {
		files, err := k.files(r.Host, r.At)
		var reason error
		for _, path := range files {
			switch refused := try(journal, path, k.Values); {
			case refused == nil:
				k.paths = append(k.paths, path)
			case !errors.Is(refused, ErrRefused):
				return nil, refused
			case reason == nil:
				reason = refused
			}
		}
		if err == nil && k.BrokerKey() != "" && r.Probe != nil {
			err = r.tryBroker(k, e.Overrides)
		}
		if n := len(k.paths); err == nil && reason != nil && (n == 0 || !k.someWillDo()) {
			err = reason
		}
		switch {
		case err == nil:
			knobs = append(knobs, k)
			if n := len(files) - len(k.paths); n > 0 {
				out.Refused = append(out.Refused, fmt.Sprintf("%s, %d of %d: %s", k.Name, n, len(files), refusal(k.Name, reason)))
			}
		case errors.Is(err, ErrRefused):
			for _, path := range k.paths { // the others took a value
				if err := journal.Undo(path); err != nil {
					return nil, err
				}
			}
			out.Refused = append(out.Refused, fmt.Sprintf("%s: %s", k.Name, refusal(k.Name, err)))
		default:
			return nil, err
		}
	}
	return knobs, nil
}

// tryBroker starts a broker with each value: what it does not start with, and what the kernel grants less for than for the first
// value, cannot be turned here.
func (r *Runner) tryBroker(k Knob, common map[string]string) error {
	var base []string
	for i, v := range k.Values {
		overrides := maps.Clone(common)
		overrides[k.BrokerKey()] = v
		missing, err := r.Probe(overrides)
		if err != nil {
			return fmt.Errorf("%w %s to %q: %w", ErrRefused, k.Name, v, err)
		}
		if i == 0 {
			base = missing
		}
		for _, reason := range missing {
			if !slices.Contains(base, reason) {
				return fmt.Errorf("%w %s to %q: %s", ErrRefused, k.Name, v, reason)
			}
		}
	}
	return nil
}

// refusal is the reason without what the reader knows already.
func refusal(knob string, err error) string {
	text := strings.TrimPrefix(err.Error(), ErrRefused.Error()+" ")
	return strings.TrimPrefix(strings.TrimPrefix(text, knob+": "), knob+" ")
}

// try sets one setting to each of the values, the first one last.
func try(journal *Journal, path string, values []string) error {
	for _, v := range slices.Backward(values) {
		if err := journal.Set(path, v); err != nil {
			return errors.Join(err, journal.Undo(path))
		}
	}
	return nil
}

// turn sets everything behind a knob of the machine to a value.
func (k Knob) turn(journal *Journal, value string) error {
	for _, path := range k.paths {
		if err := journal.Set(path, value); err != nil {
			return err
		}
	}
	return nil
}

// cellsOf lists all combinations, and the baseline a second time.
func cellsOf(e *Experiment, knobs []Knob) ([]Cell, error) {
	ats := [][]int{{}}
	for _, k := range knobs {
		var next [][]int
		for _, at := range ats {
			for v := range k.Values {
				next = append(next, append(slices.Clone(at), v))
			}
		}
		ats = next
	}
	var cells []Cell
	for _, at := range append(ats, make([]int, len(knobs))) {
		c := Cell{At: at, Overrides: maps.Clone(e.Overrides), Workload: e.Workload, Cold: e.Cold, again: len(cells) == len(ats)}
		for i, k := range knobs {
			if key := k.BrokerKey(); key != "" {
				c.Overrides[key] = k.Values[at[i]]
			}
			if k.Kind != KnobWorkload {
				continue
			}
			if err := SetWorkload(&c.Workload, k.Name, k.Values[at[i]]); err != nil {
				return nil, fmt.Errorf("%w %s: knob %s: %w", ErrExperiment, e.File, k.Name, err)
			}
		}
		if err := c.Workload.Check(); err != nil {
			return nil, fmt.Errorf("%w %s: %s: %w", ErrExperiment, e.File, cellName(knobs, at), err)
		}
		cells = append(cells, c)
	}
	return cells, nil
}

func (r *Runner) one(ctx context.Context, e *Experiment, knobs []Knob, c Cell, rep int, journal *Journal, out *Outcome) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, k := range knobs {
		if err := k.turn(journal, k.Values[c.At[i]]); err != nil {
			return err
		}
	}
	name := cellName(knobs, c.At)
	m, err := r.Measure(ctx, c)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, metric := range e.Metrics {
		if _, ok := m[metric]; !ok {
			return fmt.Errorf("%s: the run has no metric %s", name, metric)
		}
	}
	if rep > 0 {
		out.Runs = append(out.Runs, RunRow{Repetition: rep, Cell: name, Again: c.again, Metrics: m, at: c.At})
	}
	if r.Progress != nil {
		fmt.Fprintf(r.Progress, "repetition %d of %d: %s\n", max(rep, 0), e.Repetitions, name)
	}
	return nil
}

func cellName(knobs []Knob, at []int) string {
	parts := make([]string, len(knobs))
	for i, k := range knobs {
		parts[i] = k.Name + "=" + k.Values[at[i]]
	}
	return strings.Join(parts, " ")
}

// judge compares each value of each knob with its first one, over all pairs of runs of a repetition
// that differ in this knob alone; and the baseline with itself.
func (o *Outcome) judge(knobs []Knob, rng *rand.Rand) error {
	runs := map[string]RunRow{}
	key := func(rep int, at []int, again bool) string { return fmt.Sprint(rep, at, again) }
	for _, r := range o.Runs {
		runs[key(r.Repetition, r.at, r.Again)] = r
	}
	find := func(knob, value, base string, other func(r RunRow) (RunRow, bool)) error {
		for _, metric := range o.Experiment.Metrics {
			var a, b []float64
			for _, r := range o.Runs {
				if with, ok := other(r); ok {
					a, b = append(a, r.Metrics[metric]), append(b, with.Metrics[metric])
				}
			}
			e, err := effectOf(a, b, rng)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", knob, metric, err)
			}
			what := fmt.Sprintf("%s %s instead of %s", knob, value, base)
			if base == "" {
				what = knob
			}
			o.Findings = append(o.Findings, Finding{Knob: knob, Value: value, Base: base, Metric: metric, Effect: e, Sentence: e.Sentence(what, metricWords(metric))})
		}
		return nil
	}
	for i, k := range knobs {
		for v := 1; v < len(k.Values); v++ {
			err := find(k.Name, k.Values[v], k.Values[0], func(r RunRow) (RunRow, bool) {
				if r.Again || r.at[i] != 0 {
					return r, false
				}
				at := slices.Clone(r.at)
				at[i] = v
				with, ok := runs[key(r.Repetition, at, false)]
				return with, ok
			})
			if err != nil {
				return err
			}
		}
	}
	return find("A/A check", "", "", func(r RunRow) (RunRow, bool) {
		if r.Again || slices.Max(r.at) != 0 {
			return r, false
		}
		with, ok := runs[key(r.Repetition, r.at, true)]
		return with, ok
	})
}
