package clock

import (
	"testing"
	"time"
)

func TestManualMovesOnlyWhenTold(t *testing.T) {
	m := NewManual(1000)
	m.Advance(2 * time.Second)
	if m.WallMs() != 3000 || m.Mono() != 1+2e9 {
		t.Fatalf("after 2 s: wall %d mono %d", m.WallMs(), m.Mono())
	}
	m.Jump(-time.Second)
	if m.WallMs() != 2000 || m.Mono() != 1+2e9 {
		t.Fatalf("a jump of the wall must leave the monotonic count alone: wall %d mono %d", m.WallMs(), m.Mono())
	}
}

func TestRealIsMonotonic(t *testing.T) {
	r := NewReal()
	a := r.Mono()
	if b := r.Mono(); b < a {
		t.Fatalf("monotonic count went back from %d to %d", a, b)
	}
}
