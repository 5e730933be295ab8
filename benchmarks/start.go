//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/perf/load"
)

// startRow is a cold start: from the start of the process on an empty directory to the first acked
// record, and the memory that it then holds, idle.
func (b *bench) startRow([]*target) (*opened, error) {
	const name = "start"
	o := b.open(name, map[string]any{"directory": "empty", "partitions": 1})
	batch, err := load.BuildBatch(load.BatchSpec{Records: 1, RecordBytes: 100, Random: 1, TimeMs: nowMs()})
	if err != nil {
		return o, err
	}
	n := 0
	o.side("pelton", func() (sample, error) {
		n++
		began := time.Now()
		t, err := b.pelton(fmt.Sprintf("start-%d", n))
		if err != nil {
			return nil, err
		}
		ready := time.Since(began)
		if err := firstRecord(t, batch); err != nil {
			return nil, errors.Join(err, b.release(t))
		}
		first := time.Since(began)
		time.Sleep(2 * time.Second) // what idles, idles
		total, anon, err := t.RSS()
		return sample{"ready_ms": ms(ready), "first_ack_ms": ms(first), "rss_mb": mb(total), "anon_mb": mb(anon)}, errors.Join(err, b.release(t))
	})
	o.atMost(name+": first acked record", "pelton", "first_ack_ms", "ms", "", 150)
	o.info(name+": ready line", "pelton", "ready_ms", "ms", "")
	o.atMost(name+": resident, idle", "pelton", "rss_mb", "MB", "", 64)
	return o, nil
}

func firstRecord(t *target, batch []byte) error {
	if err := t.topic("first", 1, nil); err != nil {
		return err
	}
	rig, err := load.NewRig(load.Workload{Addr: t.addr, Kind: load.Produce, Connections: 1, Topic: "first", Partitions: upTo(1), Acks: 1, Batch: batch})
	if err != nil {
		return err
	}
	defer rig.Close()
	_, err = rig.Closed(context.Background(), 1)
	return err
}

// idleRow is what ten thousand connections that have spoken once, and two thousand partitions, hold.
func (b *bench) idleRow([]*target) (*opened, error) {
	const name, conns, partitions = "idle", 10_000, 2_000
	o := b.open(name, map[string]any{"connections": conns, "partitions": partitions})
	o.keep, o.discard = 1, 0
	n := 0
	o.side("pelton", func() (sample, error) {
		n++
		t, err := b.pelton(fmt.Sprintf("idle-%d", n))
		if err != nil {
			return nil, err
		}
		s, err := idle(t, conns, partitions)
		return s, errors.Join(err, b.release(t))
	})
	o.atMost(name+": user memory of a connection", "pelton", "kib_per_connection", "KiB", "", 8)
	o.atMost(name+": resident with 2 000 partitions", "pelton", "partitions_rss_mb", "MB", "", 256)
	o.info(name+": making 2 000 partitions", "pelton", "partitions_s", "s", "")
	return o, nil
}

func idle(t *target, conns, partitions int) (sample, error) {
	limit := unix.Rlimit{}
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return nil, err
	}
	if limit.Cur < uint64(conns)+200 {
		return nil, fmt.Errorf("%d descriptors are allowed, %d are wanted: ulimit -n", limit.Cur, conns+200)
	}
	time.Sleep(time.Second)
	_, before, err := t.RSS()
	if err != nil {
		return nil, err
	}
	s := sample{}
	if err := holdConnections(t, conns, func() error {
		_, after, err := t.RSS()
		s["kib_per_connection"] = float64(after-before) / 1024 / float64(conns)
		return err
	}); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := t.topic("many", partitions, nil); err != nil {
		return nil, err
	}
	s["partitions_s"] = time.Since(began).Seconds()
	time.Sleep(time.Second)
	total, _, err := t.RSS()
	s["partitions_rss_mb"] = mb(total)
	return s, err
}

// holdConnections opens connections, has each ask once, and calls then while all are open.
func holdConnections(t *target, n int, then func() error) error {
	open := make([]*load.Control, 0, n)
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for len(open) < n {
		c, err := load.DialControl(t.addr)
		if err != nil {
			return fmt.Errorf("connection %d: %w", len(open), err)
		}
		open = append(open, c)
		if _, err := c.Do(kmsg.NewPtrApiVersionsRequest()); err != nil {
			return fmt.Errorf("connection %d: %w", len(open), err)
		}
	}
	time.Sleep(time.Second)
	return then()
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }
func mb(n int64) float64         { return float64(n) / 1e6 }
