//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand"
	"slices"

	"github.com/pelton-broker/pelton/perf/lab"
)

// sample is what one round of one side measured, by metric.
type sample map[string]float64

// side is a program doing the contest's work.
type side struct {
	name  string
	round func(ctx context.Context) (sample, error)
}

// claim is a line of the table: a metric of a side as a ratio to the same of another side (or, without
// one, the metric itself) and the bound that it must keep.
type claim struct {
	row    string
	side   string
	metric string
	unit   string
	over   string // side; empty: the figure itself
	bound  float64
	atMost bool // else at least
	info   bool // a line without a bound
}

// contest is the same work for several sides, in rounds; the order inside each round is drawn anew.
type contest struct {
	name    string
	sides   []side
	claims  []claim
	prepare func(ctx context.Context) error // before each side's round: warms memory
	keep    int                             // rounds that count
	discard int                             // rounds before them that do not
	detail  map[string]any                  // conditions of the workload, for the record
}

// outcome is a contest's samples: by side, in order of round.
type outcome map[string][]sample

func (c *contest) run(ctx context.Context, rng *rand.Rand, progress func(string)) (outcome, error) {
	out := outcome{}
	for round := range c.keep + c.discard {
		for _, i := range rng.Perm(len(c.sides)) {
			s := c.sides[i]
			if err := ctx.Err(); err != nil {
				return out, err
			}
			if c.prepare != nil {
				if err := c.prepare(ctx); err != nil {
					return out, fmt.Errorf("%s: warming: %w", c.name, err)
				}
			}
			got, err := s.round(ctx)
			if err != nil {
				return out, fmt.Errorf("%s: %s: %w", c.name, s.name, err)
			}
			if round >= c.discard {
				out[s.name] = append(out[s.name], got)
			}
			progress(fmt.Sprintf("%s round %d/%d %s %v", c.name, round-c.discard+1, c.keep, s.name, got))
		}
	}
	return out, nil
}

// compare adds, for every figure of one side, its ratio to the same of another, when both take part.
func (c *contest) compare(name, with string) {
	if !slices.ContainsFunc(c.sides, func(s side) bool { return s.name == with }) {
		return
	}
	seen := map[string]bool{}
	for _, cl := range slices.Clone(c.claims) {
		if cl.side == name && !seen[cl.metric] {
			seen[cl.metric] = true
			c.claims = append(c.claims, claim{row: cl.row, side: name, metric: cl.metric, unit: cl.unit, over: with, info: true})
		}
	}
}

// figure is a claim's numbers.
type figure struct {
	claim
	Value  float64 // median of the side's metric
	Other  float64 // median of the other side's
	Ratio  float64 // median of the rounds' ratios (without another side: Value)
	Low    float64 // smallest and largest of them
	High   float64
	Rounds int
	// Samples is the number of pooled latencies behind a far percentile.
	Samples int64
	Met     bool
	// Effect is the change against another build of the broker, with its interval; nil otherwise, and with too few rounds.
	Effect *lab.Effect
}

// judge makes a claim's figure. Rounds are paired in time, so a slow minute of the machine hits both sides.
func (o outcome) judge(c claim) (figure, error) {
	f := figure{claim: c}
	var values, others, ratios []float64
	for i, s := range o[c.side] {
		v, ok := s[c.metric]
		if !ok {
			return f, fmt.Errorf("%s: side %s has no metric %s", c.row, c.side, c.metric)
		}
		values = append(values, v)
		if c.over == "" {
			ratios = append(ratios, v)
			continue
		}
		if i >= len(o[c.over]) {
			break
		}
		w := o[c.over][i][c.metric]
		others, ratios = append(others, w), append(ratios, v/w)
	}
	if len(ratios) == 0 {
		return f, fmt.Errorf("%s: no rounds of %s", c.row, c.side)
	}
	f.Value, f.Other, f.Ratio = median(values), median(others), median(ratios)
	f.Low, f.High, f.Rounds = slices.Min(ratios), slices.Max(ratios), len(ratios)
	if c.over == "reference" {
		if e, err := lab.EffectOf(others, values[:len(others)], 1); err == nil {
			f.Effect = &e
		}
	}
	f.Met = f.Ratio >= c.bound
	if c.atMost {
		f.Met = f.Ratio <= c.bound
	}
	return f, nil
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
