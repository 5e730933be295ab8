package config

import (
	"math"
	"testing"
)

func TestNumbersAsKafkaWritesThem(t *testing.T) {
	for text, n := range map[string]float64{"50.0": 50, "12.5": 12.5, "0.25": .25, "1.0E7": 1e7, "1.5E-4": .00015, "123456.7": 123456.7, "0.0": 0,
		"1.7976931348623157E308": math.MaxFloat64, "Infinity": math.Inf(1), "-Infinity": math.Inf(-1), "NaN": math.NaN()} {
		if got := JavaDouble(n); got != text {
			t.Errorf("%v is written %s, want %s", n, got, text)
		}
	}
}

// Java reads Infinity too, and what a client may set must not end the process when somebody asks for it.
func TestInfinityIsRendered(t *testing.T) {
	row := Row{Kind: Double}
	v, why := row.parse("Infinity")
	if got := row.render(v); why != "" || got != "Infinity" {
		t.Errorf("%q, %s", got, why)
	}
}
