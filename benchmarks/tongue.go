//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/pelton-broker/pelton/internal/task"
)

// tongue is what a rival understands that does not speak Kafka's protocol: one value is one connection's side of it.
type tongue interface {
	// greet opens the conversation and makes the stream if it is not there.
	greet(c *wireConn, stream string) error
	// publish appends the request for one record.
	publish(b []byte, record []byte) []byte
	// confirmed reads one answer and gives the number of records that it confirms; others' messages are none.
	confirmed(in *bufio.Reader) (int, error)
	// fetch reads that many records of the stream from its beginning.
	fetch(c *wireConn, stream string, records int) error
	// drop removes the stream.
	drop(c *wireConn, stream string) error
}

// wireConn is a connection with a reader.
type wireConn struct {
	net.Conn
	in *bufio.Reader
}

// silence is how long a rival may say nothing before a round is given up.
const silence = 60 * time.Second

func dialRival(addr string) (*wireConn, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &wireConn{c, bufio.NewReaderSize(c, 256<<10)}, c.SetDeadline(time.Now().Add(silence))
}

// rival is a running server with its tongue.
type rival struct {
	*target
	speak func() tongue
}

// job is work for a rival's connections: connection i uses stream i modulo streams.
type job struct {
	name           string
	conns, streams int
	window         int // records outstanding on a connection
	records        int // of all connections together
	record         []byte
}

// held is the number of records that stream i holds: connections do not share evenly.
func (j job) held(i int) (n int) {
	for c := i; c < j.conns; c += j.streams {
		n += j.records / j.conns
	}
	return n
}

func (j job) stream(i int) string { return fmt.Sprintf("%s-%d", j.name, i%j.streams) }

// each runs fn on every connection at once.
func (r *rival) each(group *task.Group, conns int, fn func(i int, c *wireConn, t tongue) error) error {
	errs := make([]error, conns)
	var wg sync.WaitGroup
	for i := range conns {
		wg.Add(1)
		group.Go("rival", func(context.Context) {
			defer wg.Done()
			c, err := dialRival(r.addr)
			if err != nil {
				errs[i] = err
				return
			}
			defer c.Close()
			errs[i] = fn(i, c, r.speak())
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// produce makes the job's streams anew and fills them; connections and streams are there before the clock starts.
func (r *rival) produce(b *bench, j job) (sample, error) {
	if err := r.each(b.group, 1, func(_ int, c *wireConn, t tongue) error {
		for i := range j.streams {
			if err := errors.Join(t.greet(c, j.stream(i)), t.drop(c, j.stream(i))); err != nil {
				return fmt.Errorf("%s: dropping %s: %w", r.name, j.stream(i), err)
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var ready, done sync.WaitGroup
	ready.Add(j.conns)
	start := make(chan struct{})
	var began time.Time
	var before float64
	var cpuErr error
	done.Add(1)
	b.group.Go("start", func(context.Context) {
		defer done.Done()
		ready.Wait()
		before, cpuErr = r.CPU()
		began = time.Now()
		close(start)
	})
	err := r.each(b.group, j.conns, func(i int, c *wireConn, t tongue) error {
		err := t.greet(c, j.stream(i))
		ready.Done()
		<-start
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		return j.fill(c, t, j.records/j.conns)
	})
	done.Wait()
	if err = errors.Join(err, cpuErr); err != nil {
		return nil, err
	}
	return r.measured(j, began, before)
}

// fill keeps the window full until the records are confirmed.
func (j job) fill(c *wireConn, t tongue, records int) error {
	sent, confirmed := 0, 0
	var out []byte
	for confirmed < records {
		out = out[:0]
		for sent < records && sent-confirmed < j.window {
			out = t.publish(out, j.record)
			sent++
		}
		if _, err := c.Write(out); err != nil {
			return err
		}
		for more := true; more; more = c.in.Buffered() > 0 && confirmed < records {
			n, err := t.confirmed(c.in)
			if err != nil {
				return err
			}
			confirmed += n
		}
	}
	return nil
}

// consume reads the job's streams, one connection each, from their beginning.
func (r *rival) consume(b *bench, j job) (sample, error) {
	before, err := r.CPU()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	err = r.each(b.group, j.streams, func(i int, c *wireConn, t tongue) error {
		if err := t.greet(c, j.stream(i)); err != nil {
			return err
		}
		return t.fetch(c, j.stream(i), j.held(i))
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	return r.measured(j, began, before)
}

func (r *rival) measured(j job, began time.Time, before float64) (sample, error) {
	seconds := time.Since(began).Seconds()
	after, err := r.CPU()
	n, bytes := float64(j.records), float64(j.records)*float64(len(j.record))
	return sample{"cpu_us_per_record": (after - before) * 1e6 / n, "records_per_s": n / seconds, "cpu_s_per_gb": (after - before) / (bytes / 1e9), "mb_per_s": bytes / 1e6 / seconds}, err
}
