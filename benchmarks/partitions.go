//go:build linux

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/pelton-broker/pelton/perf/load"
)

// partitionCounts are the points of the curve.
func partitionCounts() []int { return []int{500, 2000, 5000} }

// partitionsRow is what partitions cost by being there: resident memory, and the time from a restart until all of them have their leader.
func (b *bench) partitionsRow([]*target) (*opened, error) {
	const name = "partitions"
	o := b.open(name, map[string]any{"partitions": partitionCounts()})
	o.keep, o.discard = 1, 0
	runs := 0
	o.side("pelton", func() (sample, error) {
		s := sample{}
		for _, n := range partitionCounts() {
			runs++
			if err := b.holdPartitions(fmt.Sprintf("partitions-%d", runs), n, s); err != nil {
				return nil, fmt.Errorf("%d partitions: %w", n, err)
			}
		}
		return s, nil
	})
	for _, n := range partitionCounts() {
		o.info(fmt.Sprintf("%s: %d, resident", name, n), "pelton", fmt.Sprintf("rss_mb_%d", n), "MB", "")
		o.info(fmt.Sprintf("%s: %d, restart to all leaders", name, n), "pelton", fmt.Sprintf("leaders_ms_%d", n), "ms", "")
	}
	return o, nil
}

func (b *bench) holdPartitions(dir string, n int, s sample) error {
	t, err := b.pelton(dir)
	if err != nil {
		return err
	}
	if err = t.topic("many", n, nil); err == nil {
		time.Sleep(time.Second)
		total, _, e := t.RSS()
		s[fmt.Sprintf("rss_mb_%d", n)], err = mb(total), e
	}
	if err = errors.Join(err, b.release(t)); err != nil {
		return err
	}
	began := time.Now()
	if t, err = b.pelton(dir); err != nil {
		return err
	}
	err = t.led("many", n)
	s[fmt.Sprintf("leaders_ms_%d", n)] = ms(time.Since(began))
	return errors.Join(err, b.release(t))
}

// led waits until every partition of a topic has its leader.
func (t *target) led(name string, partitions int) error {
	c, err := load.DialControl(t.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		leaders, err := c.Leaders(name)
		if err == nil && len(leaders) == partitions {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d partitions have a leader: %v", len(leaders), partitions, err)
		}
	}
}
