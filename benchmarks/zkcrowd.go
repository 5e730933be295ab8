//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pelton-broker/pelton/zk/jute"
)

// atATime is how many sessions are opened and ended at once.
const atATime = 50

// crowd opens n sessions.
func (b *bench) crowd(t *target, n int) ([]*zkConn, error) {
	conns := make([]*zkConn, n)
	err := b.parallel(atATime, func(k int) error {
		for i := k; i < n; i += atATime {
			var err error
			if conns[i], err = dialZK(t.at(i)); err != nil {
				return err
			}
		}
		return nil
	})
	return conns, err
}

// leave ends the sessions.
func (b *bench) leave(conns []*zkConn) {
	_ = b.parallel(atATime, func(k int) error {
		for i := k; i < len(conns); i += atATime {
			if conns[i] != nil {
				conns[i].close()
			}
		}
		return nil
	})
}

// each runs fn on every session at once.
func (b *bench) each(conns []*zkConn, fn func(c *zkConn) error) error {
	return b.parallel(len(conns), func(i int) error { return fn(conns[i]) })
}

// zkWatchRow is a change that 1000 sessions watch: the time until the last one knows, and what telling them costs.
func (b zkField) watchRow([]*target) (*opened, error) {
	const changes = 20
	name := b.prefix + "-watch"
	o, err := b.openZK(name, map[string]any{"watchers": zkWatchers, "changes": changes}, func(t *target) (sample, error) {
		writer, err := dialZK(t.addr)
		if err != nil {
			return nil, err
		}
		defer writer.close()
		if err := zkNode(0, writer); err != nil {
			return nil, err
		}
		conns, err := b.crowd(t, zkWatchers)
		defer b.leave(conns)
		if err != nil {
			return nil, err
		}
		return b.fanOut(t, writer, conns, changes)
	})
	if err != nil {
		return o, err
	}
	o.atMost(name+": server CPU per event and new watch", "pelton", "cpu_us_per_request", "µs", "zookeeper", 1.0/3)
	o.atMost(name+": all told, p99", "pelton", "p99_us", "µs", "zookeeper", 0.5)
	o.info(name+": all told, median", "pelton", "p50_us", "µs", "zookeeper")
	return o, nil
}

func (b zkField) fanOut(t *target, writer *zkConn, conns []*zkConn, changes int) (sample, error) {
	var told []time.Duration
	before, err := t.CPU()
	if err != nil {
		return nil, err
	}
	for range changes {
		if err := b.each(conns, func(c *zkConn) error {
			return c.call(jute.OpGetData, func(b []byte) []byte { return jute.AppendBool(jute.AppendText(b, "/bench-0"), true) })
		}); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := writer.call(jute.OpSetData, func(b []byte) []byte { return jute.AppendInt(zkBody(b, "/bench-0", make([]byte, 100)), -1) }); err != nil {
			return nil, err
		}
		if err := b.each(conns, func(c *zkConn) error {
			frame, err := c.frame()
			if err != nil {
				return err
			}
			if r := jute.NewReader(frame); r.Int() != jute.XidWatch {
				return fmt.Errorf("no event came")
			}
			return nil
		}); err != nil {
			return nil, err
		}
		told = append(told, time.Since(began))
	}
	after, err := t.CPU()
	slices.Sort(told)
	return sample{"cpu_us_per_request": (after - before) * 1e6 / float64(changes*len(conns)), "p50_us": float64(told[len(told)/2]) / 1e3,
		"p99_us": float64(told[len(told)-1]) / 1e3}, err
}

// zkConnectRow is a storm: 1000 sessions are opened and ended, 50 at a time.
func (b zkField) connectRow([]*target) (*opened, error) {
	const sessions = 1000
	name := b.prefix + "-connect"
	o, err := b.openZK(name, map[string]any{"sessions": sessions, "at_a_time": atATime}, func(t *target) (sample, error) {
		before, err := t.CPU()
		if err != nil {
			return nil, err
		}
		began := time.Now()
		conns, err := b.crowd(t, sessions)
		b.leave(conns)
		if err != nil {
			return nil, err
		}
		took := time.Since(began)
		after, err := t.CPU()
		return sample{"cpu_us_per_request": (after - before) * 1e6 / sessions, "requests_per_s": sessions / took.Seconds()}, err
	})
	if err != nil {
		return o, err
	}
	o.atMost(name+": server CPU per session", "pelton", "cpu_us_per_request", "µs", "zookeeper", 1.0/3)
	o.info(name+": sessions opened and ended", "pelton", "requests_per_s", "/s", "zookeeper")
	return o, nil
}

// zkIdleRow is 5000 sessions that only ping: memory, and processor time over ten seconds in which each pings once.
func (b zkField) idleRow([]*target) (*opened, error) {
	name := b.prefix + "-idle"
	o, err := b.openZK(name, map[string]any{"sessions": zkIdlers}, func(t *target) (sample, error) {
		conns, err := b.crowd(t, zkIdlers)
		defer b.leave(conns)
		if err != nil {
			return nil, err
		}
		before, err := t.CPU()
		if err != nil {
			return nil, err
		}
		const beats = 20
		for k := range beats {
			part := conns[k*len(conns)/beats : (k+1)*len(conns)/beats]
			if err := b.each(part, func(c *zkConn) error { return c.call(jute.OpPing, nil) }); err != nil {
				return nil, err
			}
			time.Sleep(100 * time.Millisecond)
		}
		after, err := t.CPU()
		if err != nil {
			return nil, err
		}
		total, _, err := t.RSS()
		return sample{"rss_mb": mb(total), "cpu_us_per_request": (after - before) * 1e6 / zkIdlers}, err
	})
	if err != nil {
		return o, err
	}
	o.keep, o.discard = min(o.keep, 3), 1
	o.atMost(name+": resident with 5000 sessions", "pelton", "rss_mb", "MB", "zookeeper", 0.2)
	o.atMost(name+": server CPU per ping", "pelton", "cpu_us_per_request", "µs", "zookeeper", 1.0/3)
	return o, nil
}

// zkStartRow is a start on an empty directory until the first session is open.
func (b zkField) startRow([]*target) (*opened, error) {
	name := b.prefix + "-start"
	o := b.open(name, map[string]any{"directory": "empty", "servers": b.size})
	n := 0
	if b.size > 1 {
		for side, start := range map[string]func(string) (*target, error){"pelton": b.peltonEnsemble, "zookeeper": b.apacheEnsemble} {
			o.side(side, func() (sample, error) {
				n++
				began := time.Now()
				t, err := start(fmt.Sprintf("%s-%s-%d", name, side, n))
				if err != nil {
					return nil, err
				}
				return sample{"first_session_ms": ms(time.Since(began))}, b.release(t)
			})
		}
		o.keep = min(o.keep, 3)
		o.info(name+": a session on each of three", "pelton", "first_session_ms", "ms", "zookeeper")
		return o, nil
	}
	o.side("pelton", func() (sample, error) {
		n++
		began := time.Now()
		t, err := b.peltonZK(fmt.Sprintf("zk-start-%d", n))
		if err != nil {
			return nil, err
		}
		ready := time.Since(began)
		c, err := dialZK(t.addr)
		if err != nil {
			return nil, errors.Join(err, b.release(t))
		}
		first := time.Since(began)
		c.close()
		return sample{"ready_ms": ms(ready), "first_session_ms": ms(first)}, b.release(t)
	})
	o.atMost(name+": ready", "pelton", "ready_ms", "ms", "", 50)
	o.info(name+": first session", "pelton", "first_session_ms", "ms", "")
	return o, nil
}
