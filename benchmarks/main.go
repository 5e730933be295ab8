//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/perf/load"
)

// settings are the flags.
type settings struct {
	pelton, floor, nats, apache, dir, history, rows, not, rivals string
	against, samples                                             string
	pairs                                                        int
	bytes                                                        int64
	scale                                                        float64
	latency                                                      time.Duration
	verbose                                                      bool
	seed                                                         int64
}

func main() {
	// The programs under test die with the thread that started them: it must be one that stays.
	runtime.LockOSThread()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func run() error {
	var s settings
	flag.StringVar(&s.pelton, "pelton", "bin/pelton", "broker binary; empty: without it")
	flag.StringVar(&s.floor, "floor", "bin/floor", "floor binary")
	flag.StringVar(&s.apache, "apache", "internal/tools/apache", "script that starts Kafka")
	flag.StringVar(&s.dir, "dir", "", "directory for all data, on the disk that is to be measured (default: a temporary one)")
	flag.StringVar(&s.history, "history", "", "file that the record lines are appended to")
	flag.StringVar(&s.rows, "rows", ".", "expression for the names of the rows to run")
	flag.StringVar(&s.not, "not", "^$", "expression for the names of the rows to leave out")
	flag.StringVar(&s.nats, "nats", "bin/rival", "program with a NATS server, from benchmarks/rival")
	flag.StringVar(&s.rivals, "rivals", "", "what to run alongside, with commas: versions of Kafka (4.2.0, 3.9.1), nats, redis, rabbitmq")
	flag.StringVar(&s.against, "against", "", "broker binary of another commit to run alongside, as the side \"reference\"")
	flag.StringVar(&s.samples, "samples", "", "directory for every round of both builds, for benchstat")
	flag.IntVar(&s.pairs, "pairs", 7, "rounds that count")
	flag.Int64Var(&s.bytes, "bytes", 300_000_000, "bytes of a round")
	flag.Float64Var(&s.scale, "scale", 1, "factor for the number of requests in rows that count requests")
	flag.DurationVar(&s.latency, "latency", 3*time.Second, "length of a latency round")
	flag.BoolVar(&s.verbose, "v", false, "print every round")
	flag.Int64Var(&s.seed, "seed", time.Now().UnixNano(), "for the order of the rounds")
	flag.Parse()
	group := task.NewGroup()
	defer group.Stop()
	ctx, stop := signal.NotifyContext(group.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "pelton-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		s.dir = dir
	}
	logFile, err := os.Create(filepath.Join(s.dir, "programs.log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	b := &bench{peltonBin: s.pelton, floorBin: s.floor, apache: s.apache, dir: s.dir, group: group, log: logFile, pairs: s.pairs, bytes: s.bytes, scale: s.scale, latency: s.latency}
	defer b.stopAll()
	b.discard = 1
	if s.rivals != "" {
		b.rivalNames, b.natsBin = strings.Split(s.rivals, ","), s.nats
		b.discard = 3 // a Java server's first rounds are two to four times dearer
	}
	err = b.measure(ctx, s, os.Stdout)
	if err != nil {
		tail(logFile.Name())
	}
	return err
}

// row is a line of the "must reach" list: it opens a contest for the brokers that run.
type row struct {
	name string
	open func(brokers []*target) (*opened, error)
}

func (b *bench) rows() []row {
	rows := []row{
		{"produce-1m", b.produceRow("produce-1m", 1_000_000, 1000, 1, 1.35)},
		{"produce-1m-100b", b.produceRow("produce-1m-100b", 1_000_000, 100, 1, 1.6)},
		{"produce-16k", b.produceRow("produce-16k", 16_384, 1000, 5, 2.0)},
		{"produce-1-record", b.smallRow},
		{"fetch-hot-1m", b.fetchRow},
		{"convert-up-1m", b.upRow},
		{"convert-down-1m", b.downRow},
		{"compact-1g", b.compactRow},
		{"hot-beside-cleaner", b.besideCleanerRow},
		{"durable-8-partitions", b.durableRow},
		{"durable-group-commit", b.groupCommitRow},
		{"latency-1k", b.latencyRow(1000, 1, b.latency)},
		{"latency-5k", b.latencyRow(5000, 4, b.latency)},
		{"latency-12k", b.latencyRow(12000, 4, b.latency)},
		{"cold-beside-hot", b.coldRow},
		{"start", b.startRow},
		{"idle", b.idleRow},
		{"partitions", b.partitionsRow},
	}
	rows = append(rows, b.zkRows("zk", 1, b.coordination)...)
	rows = append(rows, b.zkRows("zk3", zkSize, b.ensembles)...)
	if len(b.rivalNames) == 0 {
		return rows
	}
	return append(rows,
		row{"rivals-100b", b.rivalRow("rivals-100b", 100, 400_000, false, false)},
		row{"rivals-1k", b.rivalRow("rivals-1k", 1000, 200_000, false, false)},
		row{"rivals-1k-durable", b.rivalRow("rivals-1k-durable", 1000, 20_000, true, false)},
		row{"rivals-1k-fetch", b.rivalRow("rivals-1k-fetch", 1000, 200_000, false, true)})
}

func (b *bench) measure(ctx context.Context, s settings, out io.Writer) error {
	want, err := regexp.Compile(s.rows)
	if err != nil {
		return fmt.Errorf("-rows: %w", err)
	}
	without, err := regexp.Compile(s.not)
	if err != nil {
		return fmt.Errorf("-not: %w", err)
	}
	rng := rand.New(rand.NewSource(s.seed))
	r := &report{base: load.Machine(s.dir), samples: samples{}}
	r.base["commit"], r.base["seed"] = commit(), s.seed
	var brokers []*target
	if s.pelton != "" {
		t, err := b.pelton("pelton")
		if err != nil {
			return err
		}
		for _, k := range []string{"disk", "disk_reasons", "poller", "shards"} {
			r.base[k] = t.Ready[k]
		}
		brokers = append(brokers, t)
	}
	if s.against != "" {
		t, err := b.brokerOf(s.against, "reference", "reference")
		if err != nil {
			return err
		}
		brokers = append(brokers, t)
	}
	for _, version := range b.rivalNames {
		if version == "" || version[0] < '0' || version[0] > '9' {
			continue
		}
		t, err := b.kafka(version)
		if err != nil {
			r.notes = append(r.notes, fmt.Sprintf("kafka %s takes no part: %v", version, err))
			continue
		}
		brokers = append(brokers, t)
	}
	var failed error
	for _, row := range b.rows() {
		if !want.MatchString(row.name) || without.MatchString(row.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format(time.TimeOnly), row.name)
		if err := b.runRow(ctx, row, brokers, r, rng, s.verbose); err != nil {
			// What was measured is worth its minutes, and so are the rows that follow.
			r.notes = append(r.notes, fmt.Sprintf("%s failed: %v", row.name, err))
			if failed = errors.Join(failed, err); ctx.Err() != nil {
				break
			}
		}
	}
	failed = errors.Join(failed, r.table(out))
	if s.history != "" {
		failed = errors.Join(failed, r.keep(s.history))
	}
	if s.samples != "" {
		failed = errors.Join(failed, r.samples.write(s.samples))
	}
	return failed
}

func (b *bench) runRow(ctx context.Context, row row, brokers []*target, r *report, rng *rand.Rand, verbose bool) error {
	o, err := row.open(brokers)
	if o != nil {
		defer o.close()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", row.name, err)
	}
	for _, reason := range o.skipped {
		r.notes = append(r.notes, row.name+" without "+reason)
	}
	o.compare("pelton", "reference")
	result, err := o.run(ctx, rng, func(line string) {
		if verbose {
			fmt.Fprintln(os.Stderr, line)
		}
	})
	if err != nil {
		return err
	}
	for _, t := range brokers {
		if err := t.dropTopic(row.name); err != nil {
			return err
		}
	}
	return r.add(o.contest, result, o.farFigures(rng))
}

func nowMs() int64 { return time.Now().UnixMilli() }

// tail shows the end of what the programs under test said.
func tail(path string) {
	b, err := os.ReadFile(path)
	if err == nil && len(b) > 0 {
		fmt.Fprintf(os.Stderr, "the programs' own last words:\n%s\n", b[max(0, len(b)-2000):])
	}
}
