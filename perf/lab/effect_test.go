package lab

import (
	"math"
	"math/rand"
	"strings"
	"testing"
)

// rounds makes paired measurements: a common drift of the machine, noise of its own for each, and b scaled.
func rounds(rng *rand.Rand, n int, scale, noise float64) (a, b []float64) {
	for range n {
		drift := math.Exp(0.3 * rng.NormFloat64())
		a = append(a, 10*drift*math.Exp(noise*rng.NormFloat64()))
		b = append(b, 10*drift*scale*math.Exp(noise*rng.NormFloat64()))
	}
	return a, b
}

func TestEffectFindsASlowdownOfTenPercent(t *testing.T) {
	rng := rand.New(rand.NewSource(11))
	a, b := rounds(rng, 12, 1.10, 0.03)
	e, err := effectOf(a, b, rng)
	if err != nil || !e.Shown() || e.Low > 0.10 || e.High < 0.10 || e.Change < 0.06 || e.Change > 0.14 {
		t.Fatalf("%+v %v", e, err)
	}
	if s := e.Sentence("x on", "CPU"); !strings.Contains(s, "+") || strings.Contains(s, "no change") {
		t.Fatal(s)
	}
}

func TestEffectShowsNoneBetweenEquals(t *testing.T) {
	rng := rand.New(rand.NewSource(12))
	a, b := rounds(rng, 12, 1, 0.03)
	e, err := effectOf(a, b, rng)
	if err != nil || e.Shown() {
		t.Fatalf("%+v %v", e, err)
	}
	if s := e.Sentence("A/A", "CPU"); !strings.Contains(s, "no change") {
		t.Fatal(s)
	}
}

// Of 1 000 experiments whose truth is known, the 95 % interval must hold it in about 950.
func TestEffectIntervalKeepsItsPromise(t *testing.T) {
	rng := rand.New(rand.NewSource(13))
	held, truth := 0, -0.05
	for range 1000 {
		a, b := rounds(rng, 10, 1+truth, 0.05)
		e, err := effectOf(a, b, rng)
		if err != nil {
			t.Fatal(err)
		}
		if e.Low <= truth && truth <= e.High {
			held++
		}
	}
	if held < 930 || held > 970 {
		t.Fatalf("the interval held the truth in %d of 1000 experiments", held)
	}
}

func TestEffectRefusesWhatHasNoRatio(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	if _, err := effectOf([]float64{1, 0, 1, 1, 1}, []float64{1, 2, 1, 1, 1}, rng); err == nil {
		t.Fatal("a zero has no ratio")
	}
	if _, err := effectOf([]float64{1, 2, 3, 4}, []float64{1, 3, 3, 5}, rng); err == nil {
		t.Fatal("four pairs make no interval")
	}
}
