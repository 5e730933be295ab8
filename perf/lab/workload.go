package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/pelton-broker/pelton/perf/load"
)

// preparedRecords is how much is there to read when a consume workload does not say.
const preparedRecords = 100_000

// workloadModes are the modes of pelton perf that an experiment may have.
func workloadModes() []string {
	return []string{load.ModeProduce, load.ModeConsume, load.ModeMixed, load.ModeLatency, load.ModeReplay}
}

func (e *Experiment) workload(n *yaml.Node) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "mode" {
			if err := e.mode(n.Content[i+1]); err != nil {
				return err
			}
		}
	}
	take := map[string]func(*yaml.Node) error{"mode": func(*yaml.Node) error { return nil }, "cold": func(n *yaml.Node) error {
		if e.Workload.Mode != load.ModeConsume {
			return e.bad(n, "workload cold: for mode consume, whose records are then dropped from the page cache before they are read, once")
		}
		if err := n.Decode(&e.Cold); err != nil {
			return e.bad(n, "workload cold %q: true or false", n.Value)
		}
		if e.Cold {
			e.Workload.Duration = 0
		}
		return nil
	}}
	for _, k := range WorkloadKeys() {
		take[k] = func(n *yaml.Node) error { return SetWorkload(&e.Workload, k, n.Value) }
	}
	if err := e.fields(n, "workload ", take); err != nil {
		return err
	}
	err := e.Workload.Check()
	if err == nil {
		return nil
	}
	at, key := n, ""
	for i := 0; i+1 < len(n.Content); i += 2 {
		// The option that is at fault is named first.
		if name := n.Content[i].Value; strings.HasPrefix(err.Error(), load.ErrOption.Error()+" "+name) {
			at, key = n.Content[i+1], " "+name
		}
	}
	return e.bad(at, "workload%s: %v", key, err)
}

// SetDuration overrides how long each run lasts; work that ends by itself still does.
func (e *Experiment) SetDuration(d time.Duration) {
	if e.Workload.Duration > 0 {
		e.Workload.Duration, e.Workload.Warmup = d, 0
	}
	e.Warmups = 0
}

// mode gives the workload the defaults of a mode of pelton perf.
func (e *Experiment) mode(n *yaml.Node) error {
	if !slices.Contains(workloadModes(), n.Value) {
		return e.bad(n, "workload mode %q: one of %s", n.Value, strings.Join(workloadModes(), ", "))
	}
	d := load.Defaults(n.Value)
	d.Duration, d.Warmup = e.Workload.Duration, e.Workload.Warmup
	switch n.Value {
	case load.ModeConsume:
		d.Records, d.Warmup = preparedRecords, 0
	case load.ModeMixed, load.ModeReplay:
		d.Warmup = 0
	}
	if n.Value == load.ModeReplay {
		d.Duration = 0
	}
	e.Workload = d
	return nil
}

// WorkloadKeys are the workload's keys, as `pelton perf` names them.
func WorkloadKeys() []string {
	return []string{"acks", "batch-bytes", "compression", "connections", "consumers", "duration", "fetch-bytes", "file", "idempotent", "in-flight", "key-distribution", "key-size", "keys",
		"linger", "partitions", "random", "rate", "record-size", "records", "sizes", "speed", "warmup"}
}

// SetWorkload sets one key of a workload.
func SetWorkload(o *load.Options, key, value string) (err error) {
	texts := map[string]*string{"acks": &o.Acks, "compression": &o.Compress, "sizes": &o.Sizes, "key-distribution": &o.KeyDistribution, "file": &o.File}
	numbers := map[string]*int{"batch-bytes": &o.BatchBytes, "connections": &o.Connections, "in-flight": &o.InFlight, "key-size": &o.KeySize, "keys": &o.Keys,
		"partitions": &o.Partitions, "record-size": &o.RecordSize, "consumers": &o.Consumers, "fetch-bytes": &o.FetchBytes}
	reals := map[string]*float64{"random": &o.Random, "rate": &o.Rate, "speed": &o.Speed}
	times := map[string]*time.Duration{"duration": &o.Duration, "warmup": &o.Warmup, "linger": &o.Linger}
	switch {
	case texts[key] != nil:
		*texts[key] = value
	case numbers[key] != nil:
		*numbers[key], err = strconv.Atoi(value)
	case reals[key] != nil:
		*reals[key], err = strconv.ParseFloat(value, 64)
	case times[key] != nil:
		*times[key], err = time.ParseDuration(value)
	case key == "records":
		o.Records, err = strconv.ParseInt(value, 10, 64)
	case key == "idempotent":
		o.Idempotent, err = strconv.ParseBool(value)
	default:
		return fmt.Errorf("key %q: one of %s", key, strings.Join(WorkloadKeys(), ", "))
	}
	if err != nil {
		return fmt.Errorf("%q is no value for %s", value, key)
	}
	return nil
}
