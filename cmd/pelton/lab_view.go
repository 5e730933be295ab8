package main

import (
	"math"

	"github.com/pelton-broker/pelton/perf/lab"
)

// experimentView is a finished experiment as programs read it.
type experimentView struct {
	Name     string        `json:"name"`
	Question string        `json:"question,omitempty"`
	Findings []findingView `json:"findings"`
	LeftOut  []string      `json:"left_out"`
	Runs     int           `json:"runs"`
}

// findingView is what one value of a knob does to one metric, against its base.
type findingView struct {
	Knob     string   `json:"knob"`
	Value    string   `json:"value"`
	Base     string   `json:"base"`
	Metric   string   `json:"metric"`
	Change   *float64 `json:"change"` // a share: 0.1 is a tenth more; null with too few pairs
	Low      *float64 `json:"low"`    // of the 95 % interval
	High     *float64 `json:"high"`
	Pairs    int      `json:"pairs"`
	Sentence string   `json:"sentence"`
}

func viewOfExperiment(o *lab.Outcome) experimentView {
	v := experimentView{Name: o.Experiment.Name, Question: o.Experiment.Question, Findings: []findingView{}, LeftOut: append([]string{}, o.Refused...), Runs: len(o.Runs)}
	for _, f := range o.Findings {
		v.Findings = append(v.Findings, findingView{f.Knob, f.Value, f.Base, f.Metric, finite(f.Change), finite(f.Low), finite(f.High), f.Pairs, f.Sentence})
	}
	return v
}

// finite is nil for what JSON has no number for.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}
