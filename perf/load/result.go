package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pelton-broker/pelton/internal/task"
)

// Result is a run's figures; its JSON is what `--json` prints.
type Result struct {
	Mode             string             `json:"mode"`
	Topic            string             `json:"topic"`
	Settings         map[string]any     `json:"settings"`
	Seconds          float64            `json:"seconds"`
	Requests         int64              `json:"requests"`
	Records          int64              `json:"records"`
	Bytes            int64              `json:"bytes"`
	Errors           int64              `json:"errors"`
	Late             int64              `json:"late_requests"`
	AskedPerSecond   float64            `json:"asked_records_per_second,omitempty"`
	RecordsPerSecond float64            `json:"records_per_second"`
	MBPerSecond      float64            `json:"mb_per_second"`
	LimitPerSecond   float64            `json:"generator_limit_records_per_second,omitempty"`
	BrokerCPU        float64            `json:"broker_cpu_s,omitempty"`
	LatencyUs        map[string]float64 `json:"latency_us"`
	Consumed         *Consumed          `json:"consumed,omitempty"`
	Phases           []PhaseShare       `json:"phases,omitempty"`
	Notes            []string           `json:"notes,omitempty"`
	Intervals        []Interval         `json:"intervals"`

	o   Options
	out Outcome
}

func newResult(o Options) *Result {
	return &Result{Mode: o.Mode, Topic: o.Topic, AskedPerSecond: o.Rate, o: o, Settings: map[string]any{
		"bootstrap": o.Bootstrap, "record_size": o.RecordSize, "batch_records": o.perBatch(), "compression": o.Compress, "acks": o.Acks,
		"idempotent": o.Idempotent, "connections": o.Connections, "in_flight": o.InFlight, "partitions": o.Partitions, "rate": o.Rate, "fetch_bytes": o.FetchBytes,
		"sizes": o.Sizes, "key_size": o.KeySize, "keys": o.Keys, "key_distribution": o.KeyDistribution, "linger_ms": float64(o.Linger) / 1e6}}
}

// watch runs work and meanwhile takes an interval each second, showing it when somebody looks.
func (r *Result) watch(ctx context.Context, live *live, work func() (Outcome, error)) error {
	group := task.NewGroup()
	began := time.Now()
	group.Go("progress", func(ctx context.Context) {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				r.tick(live.take(time.Since(began).Seconds()))
			}
		}
	})
	before, err := phasesBefore(ctx, r.o)
	if err != nil {
		group.Stop()
		return err
	}
	var out Outcome
	if r.o.Around == nil {
		out, err = work()
	} else {
		r.BrokerCPU, err = r.o.Around(func() (e error) { out, e = work(); return e })
	}
	group.Stop()
	r.last(live.take(time.Since(began).Seconds()))
	if r.o.Progress != nil {
		fmt.Fprintln(r.o.Progress)
	}
	if err != nil {
		return err
	}
	r.take(out)
	r.Phases, err = phasesSince(ctx, r.o, before)
	return err
}

func (r *Result) tick(i Interval) {
	length := i.AtSeconds
	if n := len(r.Intervals); n > 0 {
		length -= r.Intervals[n-1].AtSeconds
	}
	r.Intervals = append(r.Intervals, i)
	if r.o.Progress != nil && length > 0 {
		fmt.Fprintf(r.o.Progress, "\r%5.0f s  %10s requests/s  %8.1f MB/s  slowest ≤ %-10v", i.AtSeconds, plain(float64(i.Requests)/length), float64(i.Bytes)/1e6/length, time.Duration(i.worst()).Round(time.Microsecond))
	}
}

// shortest is the length in seconds below which an interval is no interval of its own: its rate would be noise.
const shortest = 0.2

// last adds what came after the last whole second.
func (r *Result) last(i Interval) {
	n := len(r.Intervals)
	if i.Requests == 0 {
		return
	}
	if n == 0 || i.AtSeconds-r.Intervals[n-1].AtSeconds >= shortest {
		r.tick(i)
		return
	}
	before := &r.Intervals[n-1]
	before.AtSeconds, before.Requests, before.Bytes = i.AtSeconds, before.Requests+i.Requests, before.Bytes+i.Bytes
	for row, count := range i.Heat {
		for row >= len(before.Heat) {
			before.Heat = append(before.Heat, 0)
		}
		before.Heat[row] += count
	}
}

// take fills in the figures; latencies are read later, since an end-to-end run brings its own.
func (r *Result) take(out Outcome) {
	r.out = out
	r.Seconds, r.Requests, r.Records, r.Bytes, r.Errors, r.Late = out.Elapsed.Seconds(), out.Requests, out.Records, out.Bytes, out.Errors, out.Late
	r.RecordsPerSecond, r.MBPerSecond = float64(r.Records)/r.Seconds, float64(r.Bytes)/1e6/r.Seconds
}

// percentiles are the ones that are reported, with their names.
func percentiles() []struct {
	name string
	q    float64
} {
	return []struct {
		name string
		q    float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}}
}

func (r *Result) latencies() {
	r.LatencyUs = map[string]float64{}
	for _, p := range percentiles() {
		r.LatencyUs[p.name] = float64(r.out.Quantile(p.q)) / 1e3
	}
}

func (r *Result) json(w io.Writer) error {
	r.latencies()
	return json.NewEncoder(w).Encode(r)
}

func (r *Result) table(w io.Writer) error {
	r.latencies()
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "%s %s\t\n", r.Mode, r.Topic)
	fmt.Fprintf(t, "records\t%d in %.2f s, %d requests, %d errors\n", r.Records, r.Seconds, r.Requests, r.Errors)
	rate := plain(r.RecordsPerSecond) + " records/s"
	if r.AskedPerSecond > 0 {
		rate += " of " + plain(r.AskedPerSecond) + " asked for, " + strconv.FormatInt(r.Late, 10) + " requests sent late"
	}
	fmt.Fprintf(t, "rate\t%s, %.1f MB/s\n", rate, r.MBPerSecond)
	if c := r.Consumed; c != nil {
		fmt.Fprintf(t, "consumed\t%d records by %d consumers, %.1f MB/s\n", c.Records, c.Consumers, c.MB)
	}
	from := "from sending to answer, the queue of this client included"
	switch {
	case r.Mode == ModeLatency:
		from = "from the intended moment of producing to the consumer"
	case r.Mode == ModeReplay:
		from = "from the moment of a batch in the recording to the answer"
	case r.Mode == ModeConsume || r.Mode == ModeRecord:
		from = "from asking for records to their coming"
	case r.AskedPerSecond > 0:
		from = "from the intended moment of sending to the answer"
	}
	fmt.Fprintf(t, "latency\t%s\n", from)
	for _, p := range percentiles() {
		fmt.Fprintf(t, "  %s\t%v\n", p.name, time.Duration(r.LatencyUs[p.name]*1e3).Round(time.Microsecond))
	}
	for _, class := range []string{"produce", "fetch"} {
		if bar := phaseText(r.Phases, class); bar != "" {
			fmt.Fprintf(t, "%s inside\t%s\n", class, bar)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(t, "note\t%s\n", n)
	}
	return t.Flush()
}

// hdr writes the latencies: as a compressed histogram log, which the HdrHistogram tools can merge and plot, when the file is called .hlog,
// else as their percentile distribution in milliseconds.
func (r *Result) hdr(w io.Writer) error {
	if !strings.HasSuffix(r.o.HDR, ".hlog") {
		_, err := r.out.Latency.PercentilesPrint(w, 5, 1e6)
		return err
	}
	end := time.Now().UnixMilli()
	begin := end - int64(r.Seconds*1e3)
	log := hdrhistogram.NewHistogramLogWriter(w)
	log.SetBaseTime(begin)
	r.out.Latency.SetStartTimeMs(begin)
	r.out.Latency.SetEndTimeMs(end)
	return errors.Join(log.OutputLogFormatVersion(), log.OutputComment("#[latencies in nanoseconds, the last column in ms]\n"), log.OutputBaseTime(begin), log.OutputStartTime(begin),
		log.OutputLegend(), log.OutputIntervalHistogram(r.out.Latency))
}

// plain is a number in words that fit a line: 1 234 567 as 1.23 M.
func plain(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.2f M", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.1f k", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}
