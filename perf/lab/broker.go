package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/perf/load"
)

// Bench starts a fresh broker for each run, gives it the workload, and removes it.
type Bench struct {
	Binary string
	Dir    string    // where brokers keep their data; on the disk that is to be measured
	Log    io.Writer // what brokers say
	Group  *task.Group
	runs   int
}

// Measure implements Measure. The calling goroutine must stay on its thread.
func (b *Bench) Measure(ctx context.Context, c Cell) (map[string]float64, error) {
	b.runs++
	dir := filepath.Join(b.Dir, fmt.Sprintf("run-%d", b.runs))
	defer os.RemoveAll(dir)
	if err := Warm(b.Dir, 512<<20); err != nil {
		return nil, fmt.Errorf("warming memory: %w", err)
	}
	p, err := b.start(dir, c.Overrides)
	if err != nil {
		return nil, err
	}
	m, err := b.work(ctx, p, c, dir)
	return m, errors.Join(err, p.Stop())
}

// start starts a broker; when it does not, its last words are the reason.
func (b *Bench) start(dir string, overrides map[string]string) (*Process, error) {
	argv := []string{b.Binary, "server", "--data-dir", dir, "--listen", "127.0.0.1:0", "--zk-listen", "127.0.0.1:0"}
	for _, k := range slices.Sorted(maps.Keys(overrides)) {
		argv = append(argv, "--override", k+"="+overrides[k])
	}
	said := &lastLine{to: b.Log}
	p, err := StartReady(b.Group, 30*time.Second, said, argv...)
	if text := said.text(); err != nil && text != "" {
		err = errors.New(text)
	}
	return p, err
}

// Probe implements Probe.
func (b *Bench) Probe(overrides map[string]string) ([]string, error) {
	dir := filepath.Join(b.Dir, "probe")
	defer os.RemoveAll(dir)
	p, err := b.start(dir, overrides)
	if err != nil {
		return nil, err
	}
	var missing []string
	if list, ok := p.Ready["disk_reasons"].([]any); ok {
		for _, reason := range list {
			missing = append(missing, fmt.Sprint(reason))
		}
	}
	return missing, p.Stop()
}

// lastLine passes on what a program says and keeps the last whole line of it.
type lastLine struct {
	to   io.Writer
	mu   sync.Mutex
	tail []byte
}

// Write implements io.Writer.
func (l *lastLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, b...)
	l.tail = l.tail[max(0, len(l.tail)-2000):]
	return l.to.Write(b)
}

func (l *lastLine) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(string(l.tail))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// prepare puts there what is to be consumed, and drops it from the page cache if that is wanted.
func (b *Bench) prepare(ctx context.Context, c Cell, o load.Options, dir string) error {
	fill := load.Defaults(load.ModeProduce)
	fill.Bootstrap, fill.Topic, fill.Partitions, fill.Keep, fill.Warmup, fill.Duration = o.Bootstrap, o.Topic, o.Partitions, true, 0, 0
	fill.Records, fill.RecordSize, fill.Sizes, fill.KeySize, fill.Compress, fill.Random = o.Records, o.RecordSize, o.Sizes, o.KeySize, o.Compress, o.Random
	fill.BatchBytes, fill.Around = o.BatchBytes, func(run func() error) (float64, error) { return 0, run() }
	if _, err := load.Run(ctx, fill, io.Discard); err != nil {
		return fmt.Errorf("preparing what is consumed: %w", err)
	}
	if !c.Cold {
		return nil
	}
	return Evict(dir, "")
}

// ErrEmpty is returned when a run moved nothing, several times over.
var ErrEmpty = errors.New("lab: the run moved nothing: a longer duration gives it time")

// emptyRuns is how often a run that moved nothing is made again: on a machine that does something else for a moment a short one may, and
// an experiment of an hour must not end with it.
const emptyRuns = 3

// moving runs a workload until it has moved something.
func moving(run func() (*load.Result, error)) (*load.Result, error) {
	for range emptyRuns {
		r, err := run()
		if err != nil || r.Requests > 0 && r.Bytes > 0 {
			return r, err
		}
	}
	return nil, ErrEmpty
}

func (b *Bench) work(ctx context.Context, p *Process, c Cell, dir string) (map[string]float64, error) {
	o := c.Workload
	o.Bootstrap = p.Text("kafka")
	if o.Mode == load.ModeConsume {
		o.Partitions = load.Defaults(load.ModeProduce).Partitions
		if c.Workload.Partitions > 0 {
			o.Partitions = c.Workload.Partitions
		}
		if err := b.prepare(ctx, c, o, dir); err != nil {
			return nil, err
		}
		o.Partitions = 0
		if o.Duration == 0 {
			o.Records = 0 // once, from the beginning to the end
		}
	}
	o.Around = func(run func() error) (float64, error) {
		before, err := p.CPU()
		if err == nil {
			err = run()
		}
		if err != nil {
			return 0, err
		}
		after, err := p.CPU()
		return after - before, err
	}
	r, err := moving(func() (*load.Result, error) { return load.Run(ctx, o, io.Discard) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Mode, err)
	}
	m := map[string]float64{"records_per_second": r.RecordsPerSecond, "mb_per_second": r.MBPerSecond, "cpu_us_per_request": r.BrokerCPU * 1e6 / float64(r.Requests),
		"cpu_s_per_gb": r.BrokerCPU / (float64(r.Bytes) / 1e9)}
	for name, v := range r.LatencyUs {
		m[name+"_us"] = v
	}
	return m, nil
}
