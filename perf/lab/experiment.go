package lab

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/pelton-broker/pelton/perf/load"
)

// ErrExperiment is returned when an experiment file says something that cannot be; the message has
// the file, the line, the key and what would be allowed.
var ErrExperiment = errors.New("lab: experiment")

// Experiment is a workload under all combinations of its knobs' values.
type Experiment struct {
	File        string
	Name        string
	Question    string
	Workload    load.Options
	Cold        bool              // consume: what is read was dropped from the page cache first
	Binary      string            // broker program; empty: the one that runs the lab
	Overrides   map[string]string // broker configuration common to all runs
	Knobs       []Knob
	Repetitions int
	Warmups     int // repetitions before them that do not count
	Metrics     []string
	Seed        int64
}

// KnobKind is what a knob turns.
type KnobKind string

// The kinds of knob.
const (
	KnobBroker   KnobKind = "broker"   // a key of the broker's configuration
	KnobWorkload KnobKind = "workload" // a key of the workload
	KnobSysctl   KnobKind = "sysctl"   // a kernel setting by its dotted name
	KnobFile     KnobKind = "file"     // a file under /sys or /proc
	KnobSetting  KnobKind = "setting"  // one of Settings, by its name
)

// Knob is one setting and the values to compare; the first one is what the others are measured against.
type Knob struct {
	Kind   KnobKind
	Name   string
	Values []string
	line   int
	paths  []string // of the machine's knobs: the settings behind it that can be turned here
}

const (
	maxCells       = 64
	maxRepetitions = 1000
)

// metricNames are what an experiment can measure; less is better for those that begin with cpu or p.
func metricNames() []string {
	return []string{"cpu_s_per_gb", "cpu_us_per_request", "records_per_second", "mb_per_second", "p50_us", "p90_us", "p99_us", "p99.9_us"}
}

// metricWords is a metric as a sentence says it.
func metricWords(name string) string {
	switch name {
	case "cpu_s_per_gb":
		return "CPU per GB"
	case "cpu_us_per_request":
		return "CPU per request"
	case "records_per_second":
		return "records per second"
	case "mb_per_second":
		return "MB per second"
	}
	return strings.TrimSuffix(name, "_us") + " latency"
}

// metricUnit is what a metric is counted in.
func metricUnit(name string) string {
	switch name {
	case "cpu_s_per_gb":
		return "s/GB"
	case "records_per_second":
		return "1/s"
	case "mb_per_second":
		return "MB/s"
	}
	return "µs"
}

func lessIsBetter(name string) bool { return name[0] == 'c' || name[0] == 'p' }

// Load reads an experiment file.
func Load(path string) (*Experiment, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExperiment, err)
	}
	return Parse(path, b)
}

// Parse reads an experiment; file is for messages.
func Parse(file string, b []byte) (*Experiment, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrExperiment, file, err)
	}
	if len(doc.Content) != 1 {
		return nil, fmt.Errorf("%w %s: the file is empty", ErrExperiment, file)
	}
	e := &Experiment{File: file, Overrides: map[string]string{}, Repetitions: 10, Warmups: 1, Metrics: []string{"cpu_s_per_gb", "p99_us"}, Seed: 1}
	e.Workload = load.Defaults(load.ModeProduce)
	e.Workload.Duration, e.Workload.Warmup = 2*time.Second, 500*time.Millisecond
	if err := e.parse(doc.Content[0]); err != nil {
		return nil, err
	}
	return e, e.check(doc.Content[0])
}

func (e *Experiment) parse(n *yaml.Node) error {
	return e.fields(n, "", map[string]func(*yaml.Node) error{
		"name":        e.text(&e.Name),
		"question":    e.text(&e.Question),
		"workload":    e.workload,
		"broker":      e.broker,
		"knobs":       e.knobs,
		"repetitions": e.number(&e.Repetitions, minPairs, maxRepetitions),
		"warmups":     e.number(&e.Warmups, 0, 10),
		"seed":        func(n *yaml.Node) error { return n.Decode(&e.Seed) },
		"metrics": func(n *yaml.Node) error {
			e.Metrics = nil
			for _, m := range n.Content {
				if !slices.Contains(metricNames(), m.Value) {
					return e.bad(m, "metric %q: one of %s", m.Value, strings.Join(metricNames(), ", "))
				}
				e.Metrics = append(e.Metrics, m.Value)
			}
			return nil
		},
	})
}

// SetRepetitions overrides what the file says.
func (e *Experiment) SetRepetitions(n int) error {
	if n < minPairs || n > maxRepetitions {
		return fmt.Errorf("%w %s: %d repetitions: from %d to %d", ErrExperiment, e.File, n, minPairs, maxRepetitions)
	}
	e.Repetitions = n
	return nil
}

func (e *Experiment) bad(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%w %s:%d: %s", ErrExperiment, e.File, n.Line, fmt.Sprintf(format, args...))
}

// fields walks a mapping, refusing keys that nobody takes.
func (e *Experiment) fields(n *yaml.Node, where string, take map[string]func(*yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return e.bad(n, "%skeys and values are wanted here", where)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		fn, ok := take[key.Value]
		if !ok {
			return e.bad(key, "%skey %q: one of %s", where, key.Value, strings.Join(slices.Sorted(maps.Keys(take)), ", "))
		}
		if err := fn(value); err != nil {
			if errors.Is(err, ErrExperiment) {
				return err
			}
			return e.bad(value, "%s%s: %v", where, key.Value, err)
		}
	}
	return nil
}

func (e *Experiment) text(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode {
			return e.bad(n, "a single value is wanted")
		}
		*to = n.Value
		return nil
	}
}

func (e *Experiment) number(to *int, low, high int) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		v, err := strconv.Atoi(n.Value)
		if err != nil || v < low || v > high {
			return e.bad(n, "%q: a number from %d to %d", n.Value, low, high)
		}
		*to = v
		return nil
	}
}

func (e *Experiment) broker(n *yaml.Node) error {
	return e.fields(n, "broker ", map[string]func(*yaml.Node) error{
		"binary":    e.text(&e.Binary),
		"overrides": func(n *yaml.Node) error { return n.Decode(&e.Overrides) },
	})
}

func (e *Experiment) knobs(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return e.bad(n, "knobs: a list is wanted")
	}
	for _, item := range n.Content {
		k := Knob{line: item.Line}
		name := func(kind KnobKind) func(*yaml.Node) error {
			return func(n *yaml.Node) error {
				if k.Kind != "" {
					return e.bad(n, "a knob is one of broker, workload, setting, sysctl, file; not %s and %s", k.Kind, kind)
				}
				k.Kind, k.Name = kind, n.Value
				return nil
			}
		}
		err := e.fields(item, "knob ", map[string]func(*yaml.Node) error{
			"broker": name(KnobBroker), "workload": name(KnobWorkload), "sysctl": name(KnobSysctl), "file": name(KnobFile), "setting": name(KnobSetting),
			"values": func(n *yaml.Node) error { return n.Decode(&k.Values) },
		})
		if err != nil {
			return err
		}
		if err := e.checkKnob(item, k); err != nil {
			return err
		}
		e.Knobs = append(e.Knobs, k)
	}
	return nil
}

func (e *Experiment) checkKnob(n *yaml.Node, k Knob) error {
	switch {
	case k.Kind == "":
		return e.bad(n, "knob: say which: broker, workload, setting, sysctl or file, with a name")
	case len(k.Values) < 2:
		return e.bad(n, "knob %s: two values or more", k.Name)
	case k.Kind == KnobSetting && Settings()[k.Name] == (Setting{}):
		return e.bad(n, "knob setting %q: one of %s", k.Name, settingNames())
	case k.Kind == KnobFile && !strings.HasPrefix(k.Name, "/sys/") && !strings.HasPrefix(k.Name, "/proc/"):
		return e.bad(n, "knob file %q: a path under /sys/ or /proc/", k.Name)
	case k.Kind == KnobSysctl && (k.Name == "" || strings.Contains(k.Name, "/") || strings.Contains(k.Name, "..")):
		return e.bad(n, "knob sysctl %q: a dotted name like vm.dirty_ratio", k.Name)
	}
	return nil
}

// checkWorkload tries a knob's values on the workload, which may stand behind it in the file.
func (e *Experiment) checkWorkload(k Knob) error {
	for _, v := range k.Values {
		probe := e.Workload
		err := SetWorkload(&probe, k.Name, v)
		if err == nil {
			err = probe.Check()
		}
		if err != nil {
			return e.bad(&yaml.Node{Line: k.line}, "knob workload %s: %v", k.Name, err)
		}
	}
	return nil
}

// CheckKeys gives every value of the broker's keys to what knows them, and says where in the file one is wrong. A key that nobody
// knows would be found to change nothing.
func (e *Experiment) CheckKeys(check func(key, value string) error) error {
	for _, key := range slices.Sorted(maps.Keys(e.Overrides)) {
		if err := check(key, e.Overrides[key]); err != nil {
			return fmt.Errorf("%w %s: broker overrides %s: %w", ErrExperiment, e.File, key, err)
		}
	}
	for _, k := range e.Knobs {
		for _, v := range k.Values {
			if k.BrokerKey() == "" {
				break
			}
			if err := check(k.BrokerKey(), v); err != nil {
				return e.bad(&yaml.Node{Line: k.line}, "knob %s %s: %v", k.Kind, k.Name, err)
			}
		}
	}
	return nil
}

func (e *Experiment) check(n *yaml.Node) error {
	if e.Name == "" {
		return e.bad(n, "name: is missing")
	}
	if len(e.Knobs) == 0 {
		return e.bad(n, "knobs: at least one")
	}
	cells := 1
	for _, k := range e.Knobs {
		cells *= len(k.Values)
		if k.Kind != KnobWorkload {
			continue
		}
		if err := e.checkWorkload(k); err != nil {
			return err
		}
	}
	if cells > maxCells {
		return e.bad(n, "knobs: %d combinations, %d are the most", cells, maxCells)
	}
	return nil
}
