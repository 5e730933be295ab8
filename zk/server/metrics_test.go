package server

import (
	"testing"

	"github.com/pelton-broker/pelton/internal/config"
)

// The broker's configuration and the coordination server's pages write numbers alike, each by its own hand.
func TestJavaDoubleAgrees(t *testing.T) {
	for _, v := range []float64{0, 1, -1, 0.5, 3, 1e-3, 9.99e-4, 1e-5, 123456.789, 9999999, 1e7, 12345678.5, 1.5e12, 1 << 53, -2.5e-7, -1e9, 1e-10, 1e100} {
		if got, want := javaDouble(v), config.JavaDouble(v); got != want {
			t.Errorf("%v is %q here and %q there", v, got, want)
		}
	}
	if got := javaDouble(12345678.5); got != "1.23456785E7" {
		t.Errorf("12345678.5 is %q", got)
	}
}
