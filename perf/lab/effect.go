package lab

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
)

// Effect is how much a value of a knob changes a metric, as a share: −0.08 is 8 % less.
type Effect struct {
	Change    float64
	Low, High float64 // 95 % interval
	Pairs     int
}

// Shown is true when the interval leaves zero out.
func (e Effect) Shown() bool { return e.Low > 0 || e.High < 0 }

const bootstrapDraws = 2000

// minPairs is the fewest pairs from which an interval is made: with two or three most draws have no
// spread of their own, and the interval is wild or empty.
const minPairs = 5

// effectOf compares b with a, measured in pairs that differ in nothing else. Ratios are taken as
// logarithms, so that twice and half are as far from one; the interval is a studentised bootstrap
// over the pairs, which holds its promise from about eight pairs on where a plain one is too narrow.
func effectOf(a, b []float64, rng *rand.Rand) (Effect, error) {
	n := min(len(a), len(b))
	logs := make([]float64, 0, n)
	for i := range n {
		if a[i] <= 0 || b[i] <= 0 {
			return Effect{}, fmt.Errorf("lab: a metric of %v against %v has no ratio", b[i], a[i])
		}
		logs = append(logs, math.Log(b[i]/a[i]))
	}
	if n < minPairs {
		return Effect{}, fmt.Errorf("lab: %d pairs are too few for an interval, %d are wanted", n, minPairs)
	}
	mean, se := meanError(logs)
	if se == 0 {
		c := math.Exp(mean) - 1
		return Effect{Change: c, Low: c, High: c, Pairs: n}, nil
	}
	ts := make([]float64, 0, bootstrapDraws)
	draw := make([]float64, n)
	for range bootstrapDraws {
		for i := range draw {
			draw[i] = logs[rng.Intn(n)]
		}
		if m, s := meanError(draw); s > 0 {
			ts = append(ts, (m-mean)/s)
		}
	}
	slices.Sort(ts)
	at := func(q float64) float64 { return ts[min(len(ts)-1, int(q*float64(len(ts))))] }
	return Effect{Change: math.Exp(mean) - 1, Low: math.Exp(mean-at(0.975)*se) - 1, High: math.Exp(mean-at(0.025)*se) - 1, Pairs: n}, nil
}

// EffectOf compares two rows of measurements taken in pairs, b with a; the seed makes the interval repeatable.
func EffectOf(a, b []float64, seed int64) (Effect, error) {
	return effectOf(a, b, rand.New(rand.NewSource(seed)))
}

// meanError is the mean and its standard error.
func meanError(v []float64) (mean, se float64) {
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		se += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(se / float64(len(v)-1) / float64(len(v)))
}

// Sentence says an effect in words.
func (e Effect) Sentence(what, metric string) string {
	if !e.Shown() {
		return fmt.Sprintf("%s: no change of %s shown, 95 %% interval %s…%s %%", what, metric, percent(e.Low), percent(e.High))
	}
	return fmt.Sprintf("%s: %s %% %s, 95 %% interval %s…%s", what, percent(e.Change), metric, percent(e.Low), percent(e.High))
}

// percent is a share in percent with its sign.
func percent(v float64) string {
	p := v * 100
	if p > 999 {
		return ">+999" // few runs that differ widely: the number itself says nothing
	}
	digits := 0
	if math.Abs(p) < 10 {
		digits = 1
	}
	s := fmt.Sprintf("%+.*f", digits, p)
	if s[0] == '-' {
		return "−" + s[1:]
	}
	return s
}
