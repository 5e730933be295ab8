package api

import (
	"testing"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/perf"
	"github.com/pelton-broker/pelton/reactor"
)

// measured takes a request through its phases as a produce request goes.
func measured(l *Local, p *phases, clk clock.Clock) {
	p.begin(l)
	for phase := range perf.NumPhases {
		if p.on {
			p.note(clk.Mono(), phase)
		}
	}
	p.observe(l, perf.ClassProduce)
}

func phaseLocal() *Local { return &Local{set: perf.NewRegistry(1).Shard(0), shard: &reactor.Shard{}} }

func TestPhasesAreOfOneRequestInSixtyOneAndAllocateNothing(t *testing.T) {
	l, p, clk := phaseLocal(), &phases{}, clock.NewManual(1)
	for range 10 * sampleEvery {
		measured(l, p, clk)
	}
	if n := l.set.Hist(perf.PhaseSeconds, perf.PhaseAt(perf.ClassProduce, perf.PhaseRead)); n == nil || l.samples != 610 {
		t.Fatal(l.samples)
	}
	v := perf.HistView{}
	l.set.Hist(perf.PhaseSeconds, perf.PhaseAt(perf.ClassProduce, perf.PhaseRead)).AddTo(&v)
	if v.Count != 10 {
		t.Fatalf("%d of 610 requests were measured", v.Count)
	}
	if n := testing.AllocsPerRun(100, func() { measured(l, p, clk) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// BenchmarkPhases is what the phases cost a request, on average over those that are measured and those that are not. A small produce
// request takes 2 µs of processor time when many come in one turn, and about 10 µs alone: the bound is 20 ns.
func BenchmarkPhases(b *testing.B) {
	l, p, clk := phaseLocal(), &phases{}, clock.NewReal()
	for b.Loop() {
		measured(l, p, clk)
	}
	b.ReportMetric(float64(l.samples%1000), "checksum")
}
