//go:build linux

package main

import (
	"context"
	"fmt"

	"github.com/pelton-broker/pelton/perf/lab"
	"github.com/pelton-broker/pelton/perf/load"
)

// opened is a row's contest with the programs that it started.
type opened struct {
	*contest
	b       *bench
	targets []*target
	pools   *pools   // latency rows: the rounds' histograms
	far     []claim  // and the claims about them
	skipped []string // rivals that do not take part, with the reason
}

// open starts a contest; the row's programs are added with use.
func (b *bench) open(name string, detail map[string]any) *opened {
	return &opened{contest: &contest{name: name, keep: b.pairs, discard: b.discard, detail: detail}, b: b}
}

// use adds a side of a target that is stopped with the row.
func (o *opened) use(t *target, err error) (*target, error) {
	if err == nil {
		o.targets = append(o.targets, t)
	}
	return t, err
}

func (o *opened) close() error {
	for _, t := range o.targets {
		if err := o.b.release(t); err != nil {
			return fmt.Errorf("stopping %s: %w", t.name, err)
		}
	}
	return nil
}

func (o *opened) side(name string, fn func() (sample, error)) {
	o.sides = append(o.sides, side{name: name, round: func(context.Context) (sample, error) { return fn() }})
}

func (o *opened) atMost(row, side, metric, unit, over string, bound float64) {
	o.claims = append(o.claims, claim{row: row, side: side, metric: metric, unit: unit, over: over, bound: bound, atMost: true})
}

func (o *opened) atLeast(row, side, metric, unit, over string, bound float64) {
	o.claims = append(o.claims, claim{row: row, side: side, metric: metric, unit: unit, over: over, bound: bound})
}

func (o *opened) info(row, side, metric, unit, over string) {
	o.claims = append(o.claims, claim{row: row, side: side, metric: metric, unit: unit, over: over, info: true})
}

// warmTwice warms memory with twice a round's bytes before every side's round.
func (o *opened) warmTwice(bytes int64) {
	o.prepare = func(context.Context) error { return lab.Warm(o.b.dir, 2*bytes) }
}

// produceRow is the produce workloads: requests of requestBytes made of records of recordBytes. Large
// requests go one at a time on each connection: megabytes that wait in socket buffers fall out of the
// cache and make the floor itself twice as dear, which would flatter the broker.
func (b *bench) produceRow(name string, requestBytes, recordBytes, inFlight int, bound float64) func(brokers []*target) (*opened, error) {
	return func(brokers []*target) (*opened, error) {
		const conns, partitions = 8, 6
		o := b.open(name, map[string]any{"acks": 1, "batch_bytes": requestBytes, "record_bytes": recordBytes, "connections": conns, "in_flight": inFlight,
			"partitions": partitions, "compression": "none", "durability": "page cache", "round_bytes": b.bytes})
		batch, err := load.BuildBatch(load.BatchSpec{Records: max(1, requestBytes/(recordBytes+12)), RecordBytes: recordBytes, Random: 1, TimeMs: nowMs()})
		if err != nil {
			return o, err
		}
		sink, err := o.use(b.floorProgram("sink", "sink"))
		if err != nil {
			return o, err
		}
		o.warmTwice(b.bytes)
		for _, t := range append(brokers, sink) {
			if err := t.topic(name, partitions, recycled(b.bytes/partitions)); err != nil {
				return o, err
			}
			w := load.Workload{Kind: load.Produce, Connections: conns, InFlight: inFlight, Topic: name, Partitions: upTo(partitions), Acks: 1, Batch: batch}
			o.side(t.name, func() (sample, error) { return t.work(b, w, b.bytes/int64(len(batch))) })
			if t == sink {
				continue
			}
			if t.name == "pelton" {
				o.atMost(name+": CPU per GB", t.name, "cpu_s_per_gb", "s/GB", "sink", bound)
			} else {
				o.info(name+": CPU per GB", t.name, "cpu_s_per_gb", "s/GB", "sink")
			}
			o.info(name+": rate", t.name, "mb_per_s", "MB/s", "sink")
		}
		return o, nil
	}
}

// recycled is a topic's configuration under which its pages come back after a round.
func recycled(bytes int64) map[string]string {
	segment := max(bytes/2, 4<<20)
	return map[string]string{"segment.bytes": fmt.Sprint(segment), "retention.bytes": fmt.Sprint(segment), "file.delete.delay.ms": "500"}
}

func upTo(n int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i)
	}
	return p
}

// smallRow is one record a request on 64 pipelined connections.
func (b *bench) smallRow(brokers []*target) (*opened, error) {
	const name, conns, partitions, window = "produce-1-record", 64, 6, 20
	requests := int64(200_000 * b.scale)
	o := b.open(name, map[string]any{"acks": 1, "record_bytes": 100, "connections": conns, "in_flight": window, "partitions": partitions,
		"compression": "none", "durability": "page cache", "round_requests": requests})
	batch, err := load.BuildBatch(load.BatchSpec{Records: 1, RecordBytes: 100, Random: 1, TimeMs: nowMs()})
	if err != nil {
		return o, err
	}
	all := brokers
	for _, f := range [][]string{{"sink", "sink"}, {"sink-batch", "sink", "-batch"}, {"echo", "echo", "-reply", "60"}} {
		t, err := o.use(b.floorProgram(f[0], f[1:]...))
		if err != nil {
			return o, err
		}
		all = append(all[:len(all):len(all)], t)
	}
	o.warmTwice(64 << 20)
	for _, t := range all {
		if err := t.topic(name, partitions, recycled(b.bytes/partitions)); err != nil {
			return o, err
		}
		w := load.Workload{Kind: load.Produce, Connections: conns, InFlight: window, Topic: name, Partitions: upTo(partitions), Acks: 1, Batch: batch}
		o.side(t.name, func() (sample, error) { return t.work(b, w, requests) })
		row := name + ": CPU per request"
		switch {
		case t.name == "pelton":
			o.atMost(row, t.name, "cpu_us_per_request", "µs", "sink", 1.4)
			o.atMost(row, t.name, "cpu_us_per_request", "µs", "echo", 0.7)
			o.info(row, t.name, "cpu_us_per_request", "µs", "sink-batch")
		case !t.floor:
			o.info(row, t.name, "cpu_us_per_request", "µs", "sink")
		}
		if !t.floor {
			o.info(name+": rate", t.name, "requests_per_s", "/s", "sink")
		}
	}
	return o, nil
}

// fetchRow reads cached data over and over in answers of 1 MB.
func (b *bench) fetchRow(brokers []*target) (*opened, error) {
	const name, partitions = "fetch-hot-1m", 6
	o := b.open(name, map[string]any{"max_bytes": 1 << 20, "connections": partitions, "in_flight": 1, "partitions": partitions, "round_bytes": 2 * b.bytes})
	batch, err := load.BuildBatch(load.BatchSpec{Records: 1000, RecordBytes: 1000, Random: 1, TimeMs: nowMs()})
	if err != nil {
		return o, err
	}
	source, err := o.use(b.floorProgram("source", "source", "-reply", fmt.Sprint(len(batch)), "-file", fmt.Sprint(b.bytes)))
	if err != nil {
		return o, err
	}
	o.warmTwice(b.bytes / 4)
	for _, t := range append(brokers, source) {
		w, err := b.filled(t, name, partitions, batch)
		if err != nil {
			return o, err
		}
		o.side(t.name, func() (sample, error) { return t.work(b, w, 2*b.bytes/int64(len(batch))) })
		if t == source {
			continue
		}
		if t.name == "pelton" {
			o.atMost(name+": CPU per GB", t.name, "cpu_s_per_gb", "s/GB", "source", 1.15)
		} else {
			o.info(name+": CPU per GB", t.name, "cpu_s_per_gb", "s/GB", "source")
		}
		o.info(name+": rate", t.name, "mb_per_s", "MB/s", "source")
	}
	return o, nil
}

// filled makes a topic with b.bytes of batches and returns the workload that reads it.
func (b *bench) filled(t *target, topic string, partitions int, batch []byte) (load.Workload, error) {
	w := load.Workload{Addr: t.addr, Floor: t.floor, Kind: load.Produce, Connections: partitions, InFlight: 2, Topic: topic, Partitions: upTo(partitions), Acks: 1, Batch: batch}
	if !t.floor {
		if err := t.topic(topic, partitions, nil); err != nil {
			return w, err
		}
		rig, err := load.NewRig(w)
		if err != nil {
			return w, err
		}
		defer rig.Close()
		if _, err := rig.Closed(b.group.Context(), b.bytes/int64(len(batch))); err != nil {
			return w, err
		}
		c, err := load.DialControl(t.addr)
		if err != nil {
			return w, err
		}
		defer c.Close()
		if w.To, err = c.Offsets(topic, w.Partitions, load.AtEnd); err != nil {
			return w, err
		}
	}
	w.Kind, w.InFlight, w.MaxBytes, w.MaxWaitMs, w.Rewind = load.Fetch, 1, 1<<20, 500, true
	return w, nil
}
