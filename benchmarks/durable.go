//go:build linux

package main

import "github.com/pelton-broker/pelton/perf/load"

// durableRow is flush.messages=1 with a connection and a partition for each of eight producers: the
// floor is as many threads of write and fdatasync, network included.
func (b *bench) durableRow(brokers []*target) (*opened, error) {
	const name, conns = "durable-8-partitions", 8
	o, batch, err := b.openDurable(name, conns, 1, conns)
	if err != nil {
		return o, err
	}
	sink, err := o.use(b.floorProgram("sink-sync", "sink", "-sync"))
	if err != nil {
		return o, err
	}
	for _, t := range append(brokers, sink) {
		if err := t.topic(name, conns, durable()); err != nil {
			return o, err
		}
		w := load.Workload{Kind: load.Produce, Connections: conns, InFlight: 1, Topic: name, Partitions: upTo(conns), OwnPartition: true, Acks: 1, Batch: batch}
		o.side(t.name, func() (sample, error) { return t.work(b, w, int64(6000*b.scale)) })
		if t.floor {
			continue
		}
		if t.name == "pelton" {
			o.atLeast(name+": acked per second", t.name, "requests_per_s", "/s", "sink-sync", 0.8)
			o.atMost(name+": CPU per batch", t.name, "cpu_us_per_request", "µs", "sink-sync", 1.4)
			continue
		}
		o.info(name+": acked per second", t.name, "requests_per_s", "/s", "sink-sync")
		o.info(name+": CPU per batch", t.name, "cpu_us_per_request", "µs", "sink-sync")
	}
	return o, nil
}

// groupCommitRow is eight producers with five batches in flight each on one partition, against one
// thread that writes and syncs batch by batch.
func (b *bench) groupCommitRow(brokers []*target) (*opened, error) {
	const name, conns, window = "durable-group-commit", 8, 5
	o, batch, err := b.openDurable(name, conns, window, 1)
	if err != nil {
		return o, err
	}
	sink, err := o.use(b.floorProgram("sink-sync-1", "sink", "-sync"))
	if err != nil {
		return o, err
	}
	for _, t := range append(brokers, sink) {
		if err := t.topic(name, 1, durable()); err != nil {
			return o, err
		}
		w := load.Workload{Kind: load.Produce, Connections: conns, InFlight: window, Topic: name, Partitions: upTo(1), Acks: 1, Batch: batch}
		requests := int64(8000 * b.scale)
		if t.floor {
			w.Connections, w.InFlight, requests = 1, 1, int64(2000*b.scale)
		}
		o.side(t.name, func() (sample, error) { return t.work(b, w, requests) })
		if t.floor {
			continue
		}
		if t.name == "pelton" {
			o.atLeast(name+": acked per second", t.name, "requests_per_s", "/s", "sink-sync-1", 8)
			o.atMost(name+": CPU per batch", t.name, "cpu_us_per_request", "µs", "sink-sync-1", 0.35)
			continue
		}
		o.info(name+": acked per second", t.name, "requests_per_s", "/s", "sink-sync-1")
		o.info(name+": CPU per batch", t.name, "cpu_us_per_request", "µs", "sink-sync-1")
	}
	return o, nil
}

func (b *bench) openDurable(name string, conns, window, partitions int) (*opened, []byte, error) {
	o := b.open(name, map[string]any{"acks": 1, "batch_bytes": 16384, "record_bytes": 1000, "connections": conns, "in_flight": window,
		"partitions": partitions, "compression": "none", "durability": "flush.messages=1"})
	o.warmTwice(128 << 20)
	batch, err := load.BuildBatch(load.BatchSpec{Records: 16, RecordBytes: 1000, Random: 1, TimeMs: nowMs()})
	return o, batch, err
}

func durable() map[string]string {
	c := recycled(64 << 20)
	c["flush.messages"] = "1"
	return c
}
