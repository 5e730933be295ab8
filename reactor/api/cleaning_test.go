package api

import (
	"slices"
	"testing"
)

func TestDirtiestLogIsCleanedFirst(t *testing.T) {
	var c cleaning
	var order []float64
	for _, ratio := range []float64{0.5, 0.9, 0.1, 0.9, 0.7} {
		c.mu.waiting = append(c.mu.waiting, waitingClean{ratio, func() { order = append(order, ratio) }})
	}
	for range 5 {
		c.dirtiest()()
	}
	if want := []float64{0.9, 0.9, 0.7, 0.5, 0.1}; !slices.Equal(order, want) || len(c.mu.waiting) != 0 {
		t.Errorf("order %v, want %v", order, want)
	}
}
