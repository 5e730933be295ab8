//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/perf/lab"
	"github.com/pelton-broker/pelton/perf/load"
)

// Sides of the row with a hot and a cold reader.
const (
	besideCold      = "beside a cold reader"
	floorAlone      = "source alone"
	floorBesideCold = "source beside a cold reader"
	coldRate        = 500
	coldLength      = 3 * time.Second
)

// coldRow is a hot consumer's latency while another one, on the same shard, reads what is not in the page cache; without it; and, for comparison,
// while the other one reads cached data. The floor is the same two readers with a thread and a plain sendfile each: what the kernel gives here.
func (b *bench) coldRow([]*target) (*opened, error) {
	const name = "cold-beside-hot"
	o := b.open(name, map[string]any{"rate": coldRate, "hot_bytes": 64 << 10, "cold_max_bytes": 1 << 20, "shards": 1, "cold_bytes": b.bytes})
	o.pools = newPools(b.discard)
	t, err := o.use(b.pelton("pelton-one-shard", "num.shards=1"))
	if err != nil {
		return o, err
	}
	batch, err := load.BuildBatch(load.BatchSpec{Records: 64, RecordBytes: 1000, Random: 1, TimeMs: nowMs()})
	if err != nil {
		return o, err
	}
	cold, err := b.filled(t, "cold", 1, batch)
	if err != nil {
		return o, err
	}
	hot, err := b.filled(t, "hot", 1, batch)
	if err != nil {
		return o, err
	}
	hot.Stay, hot.MaxBytes = true, 64<<10
	o.side("alone", func() (sample, error) { return o.openLoop("alone", t, hot, coldRate, coldLength, nil) })
	o.side(besideCold, func() (sample, error) { return o.besideColdReader(t, hot, cold) })
	o.side("beside a warm reader", func() (sample, error) {
		return o.beside("beside a warm reader", t, t, hot, cold, nil)
	})
	if err := o.coldFloor(batch); err != nil {
		return o, err
	}
	o.atMost(name+": p99", besideCold, "p99_us", "µs", "alone", 1.5)
	o.info(name+": p99 of the floor", floorBesideCold, "p99_us", "µs", floorAlone)
	o.info(name+": p99", besideCold, "p99_us", "µs", floorBesideCold)
	o.info(name+": p99", "beside a warm reader", "p99_us", "µs", "alone")
	o.info(name+": the cold reader's rate", besideCold, "other_mb_per_s", "MB/s", floorBesideCold)
	o.info(name+": reads found outside the cache", besideCold, "cold_reads", "", "")
	return o, nil
}

// besideColdReader drops what the other one reads from the page cache all the time, since after its first pass it would be warm.
func (o *opened) besideColdReader(t *target, hot, cold load.Workload) (sample, error) {
	const coldReads = `broker_disk_cold_reads_total{shard="%d"} %d`
	before, err := t.counts(coldReads)
	if err != nil {
		return nil, err
	}
	s, err := o.beside(besideCold, t, t, hot, cold, func(ctx context.Context) { o.evictUntil(ctx, t.dir, "cold-0") })
	if err != nil {
		return nil, err
	}
	after, err := t.counts(coldReads)
	s["cold_reads"] = float64(after[0] - before[0])
	return s, err
}

// coldFloor adds the same two readers of files that a thread each sends: a hot one in answers of one batch, a cold one in answers of a megabyte.
func (o *opened) coldFloor(batch []byte) error {
	b, hotBytes := o.b, len(batch)
	coldBytes := (1 << 20) / len(batch) * len(batch)
	hot, err := o.use(b.floorProgram("source, hot", "source", "-reply", fmt.Sprint(hotBytes), "-file", fmt.Sprint(max(int(b.bytes), hotBytes))))
	if err != nil {
		return err
	}
	cold, err := o.use(b.floorProgram("source, cold", "source", "-named", "-reply", fmt.Sprint(coldBytes), "-file", fmt.Sprint(max(int(b.bytes), coldBytes))))
	if err != nil {
		return err
	}
	name := fmt.Sprintf("source-%d.log", cold.PID)
	stop := cold.Stop
	cold.Stop = func() error { return errors.Join(stop(), os.Remove(filepath.Join(cold.dir, name))) }
	hotWork, err := b.filled(hot, "hot", 1, batch)
	if err != nil {
		return err
	}
	coldWork, err := b.filled(cold, "cold", 1, batch)
	if err != nil {
		return err
	}
	o.side(floorAlone, func() (sample, error) { return o.openLoop(floorAlone, hot, hotWork, coldRate, coldLength, nil) })
	o.side(floorBesideCold, func() (sample, error) {
		return o.beside(floorBesideCold, hot, cold, hotWork, coldWork, func(ctx context.Context) { o.evictUntil(ctx, cold.dir, name) })
	})
	return nil
}

// beside measures the hot workload of t while the other target's reader runs at full speed, and meanwhile, where it is given, something else.
func (o *opened) beside(side string, t, with *target, hot, other load.Workload, meanwhile func(context.Context)) (sample, error) {
	other.Addr, other.Floor = with.addr, with.floor
	rig, err := load.NewRig(other)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	type result struct {
		out load.Outcome
		err error
	}
	group := task.NewGroup()
	defer group.Stop()
	if meanwhile != nil {
		group.Go("evict", meanwhile)
	}
	done := make(chan result, 1)
	group.Go("other reader", func(context.Context) {
		out, err := rig.ClosedFor(o.b.group.Context(), coldLength)
		done <- result{out, err}
	})
	s, err := o.openLoop(side, t, hot, coldRate, coldLength, nil)
	r := <-done
	if err = errors.Join(err, r.err); err != nil {
		return nil, err
	}
	s["other_mb_per_s"] = float64(r.out.Bytes) / 1e6 / r.out.Elapsed.Seconds()
	return s, nil
}

// evictUntil drops the pages of the files below dir whose path names what is to be cold, again and again.
func (o *opened) evictUntil(ctx context.Context, dir, named string) {
	for ctx.Err() == nil {
		if err := lab.Evict(dir, named); err != nil {
			fmt.Fprintln(o.b.log, "evicting:", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
