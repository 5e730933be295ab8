//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pelton-broker/pelton/perf/load"
)

// pools keeps the histogram of every round that counts, by side: the far percentiles come from all
// rounds together.
type pools struct {
	discard int            // rounds of each side that do not count
	seen    map[string]int // rounds of each side so far
	bySide  map[string][]*hdrhistogram.Histogram
}

func newPools(discard int) *pools {
	return &pools{discard: discard, seen: map[string]int{}, bySide: map[string][]*hdrhistogram.Histogram{}}
}

func (p *pools) keep(side string, h *hdrhistogram.Histogram) {
	if p.seen[side]++; p.seen[side] > p.discard {
		p.bySide[side] = append(p.bySide[side], h)
	}
}

func pooled(hs []*hdrhistogram.Histogram, at []int) *hdrhistogram.Histogram {
	sum := hdrhistogram.New(1, 120e9, 3)
	for _, i := range at {
		sum.Merge(hs[i])
	}
	return sum
}

// ratio is the quotient of two sides' quantile over all rounds, with the 95 % interval of a bootstrap
// that draws rounds, not samples: samples of one round are not independent.
func (p *pools) ratio(a, b string, q float64, rng *rand.Rand) (ratio, low, high float64) {
	ha, hb := p.bySide[a], p.bySide[b]
	n := min(len(ha), len(hb))
	if n == 0 {
		return 0, 0, 0
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	at := func(pick []int) float64 {
		return float64(pooled(ha, pick).ValueAtQuantile(q*100)) / float64(pooled(hb, pick).ValueAtQuantile(q*100))
	}
	ratio = at(all)
	draws := make([]float64, 300)
	pick := make([]int, n)
	for i := range draws {
		for j := range pick {
			pick[j] = rng.Intn(n)
		}
		draws[i] = at(pick)
	}
	slices.Sort(draws)
	return ratio, draws[len(draws)*25/1000], draws[len(draws)*975/1000]
}

// withAppend is the floor that also appends to a file, inline, what a produce request appends: how much of the far
// percentiles is the kernel's write path.
const withAppend = "pingpong+append"

// latencyRow is acks=1 produce of one small record at a fixed rate against the ping-pong floor at
// the same rate on as many connections.
func (b *bench) latencyRow(rate float64, conns int, length time.Duration) func(brokers []*target) (*opened, error) {
	return func(brokers []*target) (*opened, error) {
		name := fmt.Sprintf("latency-%dk", int(rate/1000))
		o := b.open(name, map[string]any{"acks": 1, "record_bytes": 100, "rate": rate, "connections": conns, "compression": "none",
			"durability": "page cache", "round_s": length.Seconds(), "loop": "open"})
		o.pools = newPools(b.discard)
		floor, err := o.use(b.floorProgram("pingpong", "pingpong"))
		if err != nil {
			return o, err
		}
		o.side("pingpong", func() (sample, error) {
			w := load.Workload{Addr: floor.addr, Kind: load.Message, Connections: conns, MessageBytes: 64}
			return o.openLoop("pingpong", floor, w, rate, length, nil)
		})
		batch, err := load.BuildBatch(load.BatchSpec{Records: 1, RecordBytes: 100, Random: 1, TimeMs: nowMs()})
		if err != nil {
			return o, err
		}
		writing, err := o.use(b.floorProgram(withAppend, "pingpong", "-append", strconv.Itoa(len(batch))))
		if err != nil {
			return o, err
		}
		o.side(withAppend, func() (sample, error) {
			w := load.Workload{Addr: writing.addr, Kind: load.Message, Connections: conns, MessageBytes: 64}
			return o.openLoop(withAppend, writing, w, rate, length, nil)
		})
		for _, t := range brokers {
			if err := o.latencySides(t, batch, rate, conns, length); err != nil {
				return o, err
			}
		}
		return o, nil
	}
}

// latencySides adds a broker's sides: for Pelton at one connection, one side for each place that the
// partition can have.
func (o *opened) latencySides(t *target, batch []byte, rate float64, conns int, length time.Duration) error {
	const partitions = 16
	if err := t.topic(o.name, partitions, recycled(32<<20)); err != nil {
		return err
	}
	w := load.Workload{Addr: t.addr, Kind: load.Produce, Connections: conns, Topic: o.name, Partitions: upTo(partitions), Acks: 1, Batch: batch}
	places, owners := []string{""}, []int(nil)
	if t.name == "pelton" && conns == 1 {
		places = []string{"own shard", "other shard"}
		var err error
		if owners, err = t.owners(o.name, partitions, batch); err != nil {
			return err
		}
	}
	for _, place := range places {
		side := t.name
		if place != "" {
			side += ", " + place
		}
		o.side(side, func() (sample, error) {
			aim := func(rig *load.Rig) error { return nil }
			if place != "" {
				aim = func(rig *load.Rig) error { return t.aim(rig, owners, place == "own shard") }
			}
			return o.openLoop(side, t, w, rate, length, aim)
		})
		o.info(fmt.Sprintf("%s: p99", o.name), side, "p99_us", "µs", "pingpong")
		o.far = append(o.far, claim{row: o.name + ": p99.9", side: side, over: withAppend, info: true})
		if t.name != "pelton" {
			o.info(fmt.Sprintf("%s: p50", o.name), side, "p50_us", "µs", "pingpong")
			continue
		}
		if rate > 1000 {
			o.info(fmt.Sprintf("%s: p50", o.name), side, "p50_us", "µs", "pingpong")
			o.far = append(o.far, claim{row: o.name + ": p99.9", side: side, over: "pingpong", bound: 2, atMost: true})
			continue
		}
		o.atMost(fmt.Sprintf("%s: p50", o.name), side, "p50_us", "µs", "pingpong", map[string]float64{"own shard": 1.25, "other shard": 1.7}[place])
		o.far = append(o.far, claim{row: o.name + ": p99.9", side: side, over: "pingpong", bound: 1.5, atMost: true})
	}
	return nil
}

func (o *opened) openLoop(side string, t *target, w load.Workload, rate float64, length time.Duration, aim func(*load.Rig) error) (sample, error) {
	w.WarmNs = int64(min(300*time.Millisecond, length/4))
	rig, err := load.NewRig(w)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	if aim != nil {
		if err := aim(rig); err != nil {
			return nil, err
		}
	}
	before, err := t.CPU()
	if err != nil {
		return nil, err
	}
	out, err := rig.Open(o.b.group.Context(), rate, length)
	if err != nil {
		return nil, err
	}
	after, err := t.CPU()
	if err != nil {
		return nil, err
	}
	s := sampleOf(out, after-before)
	s["p90_us"], s["p99.9_us"], s["max_us"] = float64(out.Quantile(0.9))/1e3, float64(out.Quantile(0.999))/1e3, float64(out.Latency.Max())/1e3
	s["late"] = float64(out.Late)
	o.pools.keep(side, out.Latency)
	return s, nil
}

// aim finds the shard on which the rig's only connection lives and gives it a partition of that
// shard, or of another. owners is the shard of each partition.
func (t *target) aim(rig *load.Rig, owners []int, own bool) error {
	const api = `broker_api_requests_total{shard="%d",api="ApiVersions"} %d`
	home, err := t.grown(api, func() error { return rig.Knock(0, 20) })
	if err != nil {
		return err
	}
	for p, shard := range owners {
		if (shard == home) == own {
			rig.Aim(0, []int32{int32(p)})
			return nil
		}
	}
	return fmt.Errorf("no partition is where it is wanted: the connection is on shard %d, the partitions on %v", home, owners)
}

// owners finds the shard of each partition by a record written to it.
func (t *target) owners(topic string, partitions int, batch []byte) ([]int, error) {
	rig, err := load.NewRig(load.Workload{Addr: t.addr, Kind: load.Produce, Connections: 1, Topic: topic, Partitions: upTo(partitions), Acks: 1, Batch: batch})
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	shards := make([]int, partitions)
	for p := range shards {
		rig.Aim(0, []int32{int32(p)})
		shards[p], err = t.grown(`broker_produce_records_total{shard="%d"} %d`, func() error {
			_, err := rig.Closed(context.Background(), 5)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("shard of partition %d: %w", p, err)
		}
	}
	return shards, nil
}

// grown is the shard whose count on the metrics page grew most while fn ran.
func (t *target) grown(line string, fn func() error) (shard int, err error) {
	before, err := t.counts(line)
	if err != nil {
		return 0, err
	}
	if err := fn(); err != nil {
		return 0, err
	}
	after, err := t.counts(line)
	if err != nil {
		return 0, err
	}
	best := int64(0)
	for s, n := range after {
		if n-before[s] > best {
			shard, best = s, n-before[s]
		}
	}
	if best == 0 {
		return 0, fmt.Errorf("the metrics page shows no work: %v, then %v", before, after)
	}
	return shard, nil
}

// counts reads a metric of every shard; line has a place for the shard and one for the value.
func (t *target) counts(line string) (map[int]int64, error) {
	resp, err := http.Get("http://" + t.admin + "/metrics")
	if err != nil {
		return nil, fmt.Errorf("metrics page: %w", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	exp := strings.ReplaceAll(regexp.QuoteMeta(line), "%d", `(\d+)`)
	counts := map[int]int64{}
	for _, m := range regexp.MustCompile("(?m)^"+exp+"$").FindAllSubmatch(b, -1) {
		shard, _ := strconv.Atoi(string(m[1]))
		counts[shard], _ = strconv.ParseInt(string(m[2]), 10, 64)
	}
	return counts, nil
}

// farFigures judges the claims about pooled percentiles: met when the interval's upper end is below the bound.
func (o *opened) farFigures(rng *rand.Rand) []figure {
	var out []figure
	for _, c := range o.far {
		f := figure{claim: c, Rounds: len(o.pools.bySide[c.side])}
		f.metric, f.unit = "p99.9_us", "µs"
		f.Ratio, f.Low, f.High = o.pools.ratio(c.side, c.over, 0.999, rng)
		all := func(side string) float64 {
			hs := o.pools.bySide[side]
			pick := make([]int, len(hs))
			for i := range pick {
				pick[i] = i
			}
			return float64(pooled(hs, pick).ValueAtQuantile(99.9)) / 1e3
		}
		f.Value, f.Other = all(c.side), all(c.over)
		f.Met = f.High <= c.bound
		f.Samples = pooledCount(o.pools.bySide[c.side])
		out = append(out, f)
	}
	return out
}

func pooledCount(hs []*hdrhistogram.Histogram) (n int64) {
	for _, h := range hs {
		n += h.TotalCount()
	}
	return n
}
