package load

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"sort"
	"strings"
	"time"
)

// Sizes of a chart in the report.
const (
	chartW, chartH    = 860.0, 260.0
	padLeft, padRight = 70.0, 36.0
	padTop, padBottom = 14.0, 38.0
	plotW, plotH      = chartW - padLeft - padRight, chartH - padTop - padBottom
	reportPage        = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>pelton perf {{.R.Mode}} {{.R.Topic}}</title>
<style>{{.Style}}</style>
<h1>pelton perf {{.R.Mode}}, topic {{.R.Topic}}</h1>
<p class="plain">{{.What}}</p>
<p>{{.Made}}</p>
{{range .R.Notes}}<p class="note">{{.}}</p>{{end}}
<div class="wide"><table class="big"><tr><th>records/s</th><th>MB/s</th>{{range .Percentiles}}<th>{{.Name}}</th>{{end}}</tr>
<tr><td>{{.Rate}}</td><td>{{printf "%.1f" .R.MBPerSecond}}</td>{{range .Percentiles}}<td>{{.Value}}</td>{{end}}</tr></table></div>
<p>{{.R.Records}} records in {{printf "%.2f" .R.Seconds}} s, {{.R.Requests}} requests, {{.R.Errors}} errors{{if .R.AskedPerSecond}}, {{.R.Late}} sent late; {{printf "%.0f" .R.AskedPerSecond}} records/s were asked for{{end}}.{{with .R.Consumed}} {{.Records}} records came to {{.Consumers}} consumers, {{printf "%.1f" .MB}} MB/s.{{end}}
pN is the latency that N of 100 requests stayed below. {{.LatencyFrom}}.</p>
<h2>Throughput over time</h2><p>Up: megabytes a second. To the right: seconds of the run. {{.Pace}}</p><div class="wide">{{.Throughput}}</div>
<h2>Latency by percentile</h2><p>Up: latency; each line is ten times the one below. To the right: the share of requests that were as fast or faster; each step leaves out nine tenths of what is left. Lower is better.</p><div class="wide">{{.Curve}}</div>
<h2>Latency over time</h2><p>Up: latency. To the right: seconds of the run. Stronger cells hold more of that second's requests, on a logarithmic scale. Lower is better, and a lone cell far up is a stall.</p><div class="wide">{{.Heat}}</div>
{{if .Phases}}<h2>Where requests spend their time in the broker</h2><p>Mean over sampled requests, in the order in which a request meets the phases. Each bar is all of the time of its requests, which stands behind it; less is better, but for a fetch in purgatory, which waits for records that nobody has written yet.</p><div class="wide">{{.Bars}}</div>
<div class="wide"><table>{{range .Phases}}<tr><th>{{.Class}}</th><td><span class="key" style="background:{{.Colour}}"></span>{{.Phase}}</td><td class="n">{{.Mean}}</td><td class="n">{{.Share}}</td><th>{{.Meaning}}</th></tr>{{end}}</table></div>{{end}}
<h2>Settings</h2><table>{{range .Settings}}<tr><th>{{.Name}}</th><td>{{.Value}}</td></tr>{{end}}</table>
</html>
`
)

type named struct{ Name, Value string }

// html writes the report: one file, nothing fetched from anywhere.
func (r *Result) html(w io.Writer) error {
	r.latencies()
	page := struct {
		R                       *Result
		Made, Rate, LatencyFrom string
		What, Pace              string
		Style                   template.CSS
		Percentiles, Settings   []named
		Throughput, Curve, Heat template.HTML
		Bars                    template.HTML
		Phases                  []phaseRow
	}{R: r, Bars: r.phaseBars(), Phases: r.phaseRows(), What: r.what(), Pace: r.pace(), Style: ReportStyle,
		Made: "Made " + time.Now().Format("2006-01-02 15:04:05 MST") + " by a client on " + MachineWords(".") + ".", Rate: plain(r.RecordsPerSecond), LatencyFrom: "Latency counts from sending a request to its answer",
		Throughput: r.throughputChart(), Curve: r.percentileChart(), Heat: r.heatChart()}
	switch {
	case r.Mode == ModeConsume || r.Mode == ModeRecord:
		page.LatencyFrom = "Latency counts from asking for records to their coming"
	case r.Mode == ModeLatency:
		page.LatencyFrom = "Latency counts from the moment at which a record should have been sent to its coming to the consumer"
	case r.AskedPerSecond > 0:
		page.LatencyFrom = "Latency counts from the moment at which a request should have been sent"
	}
	for _, p := range percentiles() {
		page.Percentiles = append(page.Percentiles, named{p.name, short(r.LatencyUs[p.name] * 1e3)})
	}
	for k, v := range r.Settings {
		page.Settings = append(page.Settings, named{strings.ReplaceAll(k, "_", " "), fmt.Sprint(v)})
	}
	sort.Slice(page.Settings, func(i, j int) bool { return page.Settings[i].Name < page.Settings[j].Name })
	t, err := template.New("report").Parse(reportPage)
	if err != nil {
		return err
	}
	return t.Execute(w, page)
}

// what says in a sentence what was run.
func (r *Result) what() string {
	o := r.o
	size := fmt.Sprintf("%d bytes", o.RecordSize)
	if o.Sizes != SizesFixed && o.Sizes != "" {
		size += " (" + o.Sizes + ")"
	}
	pace := "as fast as it goes"
	if r.AskedPerSecond > 0 {
		pace = plain(r.AskedPerSecond) + " records a second"
	}
	producing := fmt.Sprintf("records of %s to %s, %s, acks %s, compression %s, over %d connections", size, o.Bootstrap, pace, o.Acks, o.Compress, o.Connections)
	switch r.Mode {
	case ModeConsume:
		return fmt.Sprintf("Consumed from %s over %d connections.", o.Bootstrap, o.Connections)
	case ModeRecord:
		return fmt.Sprintf("Recorded the workload of a topic of %s.", o.Bootstrap)
	case ModeReplay:
		return fmt.Sprintf("Replayed %s to %s at %g times its speed.", o.File, o.Bootstrap, o.Speed)
	case ModeSelfTest:
		return "What this tool itself can do here, against a sink that does nothing: " + producing + "."
	case ModeMixed:
		return fmt.Sprintf("Produced %s, while %d consumers read everything.", producing, o.Consumers)
	}
	return "Produced " + producing + "."
}

// pace says what is good in the curve of the throughput.
func (r *Result) pace() string {
	switch {
	case r.AskedPerSecond == 0:
		return "Higher is better."
	case r.Mode == ModeReplay:
		return "What was recorded is asked for: a broker that keeps up follows its pace."
	case r.Mode == ModeLatency && r.o.Warmup > 0:
		return fmt.Sprintf("A rate is asked for: flat is good. The first %v is warm-up and not drawn.", r.o.Warmup)
	}
	return "A rate is asked for: flat is good, and a dip is a broker that did not keep up."
}

// short is a latency of ns nanoseconds with three digits.
func short(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g s", ns/1e9)
}

// chart is an SVG picture under construction; x and y go from 0 to 1 inside its frame.
type chart struct{ strings.Builder }

func newChart(label string) *chart {
	c := &chart{}
	fmt.Fprintf(c, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartW, chartH, label)
	return c
}

func px(x float64) float64 { return padLeft + x*plotW }
func py(y float64) float64 { return padTop + (1-y)*plotH }

func (c *chart) gridY(y float64, label string) {
	fmt.Fprintf(c, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="grid"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`,
		px(0), px(1), py(y), py(y), padLeft-8, py(y)+4, label)
}

func (c *chart) tickX(x float64, label string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, px(x), py(0)+18, label)
}

func (c *chart) line(points [][2]float64) {
	c.WriteString(`<polyline fill="none" class="line" stroke-width="2" stroke-linejoin="round" points="`)
	for _, p := range points {
		fmt.Fprintf(c, "%.1f,%.1f ", px(p[0]), py(p[1]))
	}
	c.WriteString(`"/>`)
}

func (c *chart) done() template.HTML {
	c.WriteString("</svg>")
	return template.HTML(c.String()) // made of numbers and our own words only
}

// seconds labels the time axis.
func (c *chart) seconds(end float64) {
	step := math.Max(1, math.Ceil(end/10))
	for s := 0.0; s <= end; s += step {
		c.tickX(s/end, fmt.Sprintf("%.0f s", s))
	}
}

func (r *Result) throughputChart() template.HTML {
	c := newChart("megabytes per second over time")
	if len(r.Intervals) == 0 {
		return c.done()
	}
	rates, top, before := make([]float64, len(r.Intervals)), 0.0, 0.0
	for i, in := range r.Intervals {
		rates[i] = float64(in.Bytes) / 1e6 / math.Max(in.AtSeconds-before, 1e-3)
		before, top = in.AtSeconds, math.Max(top, rates[i])
	}
	top = nice(top)
	for i := range 5 {
		c.gridY(float64(i)/4, fmt.Sprintf("%.4g MB/s", top*float64(i)/4))
	}
	c.seconds(before)
	var points [][2]float64
	last := 0.0
	for i, in := range r.Intervals { // a step for each interval
		points = append(points, [2]float64{last / before, rates[i] / top}, [2]float64{in.AtSeconds / before, rates[i] / top})
		last = in.AtSeconds
	}
	c.line(points)
	return c.done()
}

// nice is the next round number.
func nice(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10} {
		if v <= m*unit {
			return m * unit
		}
	}
	return v
}

func (r *Result) percentileChart() template.HTML {
	c := newChart("latency by percentile")
	n := r.out.Latency.TotalCount()
	if n == 0 {
		return c.done()
	}
	nines := math.Max(2, math.Ceil(math.Log10(float64(n))))
	low := math.Floor(math.Log10(math.Max(1, float64(r.out.Latency.Min()))))
	high := math.Ceil(math.Log10(math.Max(10, float64(r.out.Latency.Max()))))
	high = math.Max(high, low+1)
	for e := low; e <= high; e++ {
		c.gridY((e-low)/(high-low), short(math.Pow(10, e)))
	}
	c.tickX(math.Log10(2)/nines, "p50")
	for k := 1.0; k <= nines; k++ {
		c.tickX(k/nines, "p"+strings.TrimSuffix(fmt.Sprintf("%.10g", 100*(1-math.Pow(10, -k))), ".0"))
	}
	var points [][2]float64
	for x := 0.0; x <= nines; x += 0.05 {
		v := float64(r.out.Quantile(1 - math.Pow(10, -x)))
		points = append(points, [2]float64{x / nines, (math.Log10(math.Max(1, v)) - low) / (high - low)})
	}
	c.line(points)
	return c.done()
}

func (r *Result) heatChart() template.HTML {
	c := newChart("latency over time")
	low, high, most := heatRows, 0, int64(1)
	for _, in := range r.Intervals {
		for row, n := range in.Heat {
			if n > 0 {
				low, high, most = min(low, row), max(high, row+1), max(most, n)
			}
		}
	}
	if high == 0 {
		return c.done()
	}
	end := r.Intervals[len(r.Intervals)-1].AtSeconds
	rows := float64(high - low)
	for row := low; row <= high; row += max(1, (high-low)/6) {
		edge := 0.0
		if row > 0 {
			edge = float64(heatEnd(row - 1))
		}
		c.gridY(float64(row-low)/rows, short(edge))
	}
	c.seconds(end)
	before := 0.0
	for _, in := range r.Intervals {
		for row, n := range in.Heat {
			if n == 0 {
				continue
			}
			depth := 0.15 + 0.85*math.Log1p(float64(n))/math.Log1p(float64(most))
			fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="cell" fill-opacity="%.2f"><title>%d requests up to %s</title></rect>`,
				px(before/end), py(float64(row-low+1)/rows), (in.AtSeconds-before)/end*plotW-1, plotH/rows-1, depth, n, short(float64(heatEnd(row))))
		}
		before = in.AtSeconds
	}
	return c.done()
}
