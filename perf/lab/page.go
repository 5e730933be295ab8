package lab

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pelton-broker/pelton/perf/load"
)

const labPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>{{.E.Name}}</title>
<style>{{.Style}}
.row{display:grid;grid-template-columns:minmax(11em,19em) 1fr 13em;gap:.2em 1em;align-items:center;margin:.5em 0}
.row .num{font-variant-numeric:tabular-nums;text-align:right;white-space:nowrap;color:var(--soft)}
.track{position:relative;height:1.4em;background:linear-gradient(var(--grid),var(--grid)) 0 50%/100% 1px no-repeat}
.track .zero{position:absolute;top:-.3em;bottom:-.3em;width:1px;background:var(--axis)}
.track .bar{position:absolute;top:.4em;height:.6em;border-radius:.3em;background:var(--axis);opacity:.5}.track .dot{position:absolute;top:.35em;width:.7em;height:.7em;margin-left:-.35em;border-radius:50%;background:var(--axis)}
.shown .bar,.shown .dot{background:var(--line)}
.scale{position:relative;height:1.2em;font-size:.8em;color:var(--soft)}.scale span{position:absolute;transform:translateX(-50%);white-space:nowrap}
.scale span:first-child{transform:none}.scale span:last-child{transform:translateX(-100%)}
@media (max-width:640px){.row{grid-template-columns:1fr}.row .num{text-align:left}.row.axis>:first-child,.row.axis>:last-child{display:none}}
</style>
<h1>{{.E.Name}}</h1><p class="plain">{{.E.Question}}</p>
<h2>What each knob does</h2>
<ul>{{range .Findings}}<li>{{.Sentence}}.</li>{{end}}{{range .Refused}}<li class="off">Left out, since this machine does not allow it: {{.}}.</li>{{end}}</ul>
{{if .Findings}}<p>An interval of 95 % holds the truth in nineteen experiments of twenty. Where it leaves zero out, a change is shown; where it does not, this experiment cannot tell the two apart, which is
not the same as there being no change. The A/A check compares the first combination with itself: it should show none, and does once in twenty.</p>{{end}}
{{range $plot := .Plots}}<h2>{{.Title}}</h2><p>{{.Axis}}</p>
{{range .Rows}}<div class="row{{if .Shown}} shown{{end}}"><div>{{.What}}</div><div class="track"><span class="zero" style="left:{{$plot.Zero}}%"></span><span class="bar" style="left:{{.Left}}%;width:{{.Width}}%"></span><span class="dot" style="left:{{.At}}%"></span></div><div class="num">{{.Change}}</div></div>
{{end}}<div class="row axis"><div></div><div class="scale">{{range .Ticks}}<span style="left:{{.At}}%">{{.Text}}</span>{{end}}</div><div></div></div>
{{end}}
<h2>What was measured</h2><p>Median of {{.E.Repetitions}} runs of each combination, with the smallest and the largest.</p>
<div class="wide"><table><tr><th>combination</th>{{range .Columns}}<th class="n">{{.}}</th>{{end}}</tr>
{{range .Cells}}<tr><td>{{.Name}}</td>{{range .Values}}<td class="n">{{.}}</td>{{end}}</tr>{{end}}</table></div>
<h2>How it was done</h2>
<table>{{range .Facts}}<tr><th>{{.Name}}</th><td>{{.Text}}</td></tr>{{end}}</table>
</html>
`

// fact is a line of the report's last table.
type fact struct{ Name, Text string }

// tick is a mark on an axis.
type tick struct {
	At   string
	Text string
}

// bar is a finding's line in a plot; positions are in percent of the width.
type bar struct {
	What, Change    string
	Left, Width, At string
	Shown           bool
}

type plot struct {
	Title, Axis string
	Zero        string // where no change is
	Rows        []bar
	Ticks       []tick
}

// cellRow is what a combination's runs measured.
type cellRow struct {
	Name   string
	Values []string
}

// HTML writes the report: one file, nothing fetched from anywhere.
func (o *Outcome) HTML(w io.Writer) error {
	t, err := template.New("lab").Parse(labPage)
	if err != nil {
		return err
	}
	page := struct {
		E        *Experiment
		Style    template.CSS
		Findings []Finding
		Refused  []string
		Plots    []plot
		Columns  []string
		Cells    []cellRow
		Facts    []fact
	}{E: o.Experiment, Style: load.ReportStyle, Findings: o.Findings, Refused: o.Refused, Cells: o.cellRows(), Facts: o.facts()}
	for _, m := range o.Experiment.Metrics {
		page.Columns = append(page.Columns, metricWords(m)+", "+metricUnit(m))
		if len(o.Findings) > 0 {
			page.Plots = append(page.Plots, o.intervals(m))
		}
	}
	return t.Execute(w, page)
}

// facts say how the experiment was made, so that it can be made again.
func (o *Outcome) facts() []fact {
	e, w := o.Experiment, o.Experiment.Workload
	work := fmt.Sprintf("%s, records of %d bytes, %d connections", w.Mode, w.RecordSize, w.Connections)
	switch {
	case w.Mode == load.ModeConsume && e.Cold:
		work += fmt.Sprintf(", %d records read once, after they were dropped from memory", w.Records)
	case w.Mode == load.ModeConsume:
		work += fmt.Sprintf(", %d records read from memory again and again", w.Records)
	case w.Rate > 0:
		work += fmt.Sprintf(", %g records a second, latency from the intended moment", w.Rate)
	default:
		work += ", as fast as it goes"
	}
	if w.Duration > 0 {
		work += fmt.Sprintf(", %v a run", w.Duration)
	}
	list := []fact{{"workload", work}}
	for _, k := range e.Knobs {
		list = append(list, fact{"knob " + k.Name, k.turns() + ": " + strings.Join(k.Values, ", ") + " (the first one is what the others are held against)"})
	}
	return append(list, fact{"order", fmt.Sprintf("%d repetitions of every combination, each time in a new random order, on a fresh broker with warmed memory; %d repetitions before them were discarded", e.Repetitions, e.Warmups)},
		fact{"seed", fmt.Sprint(e.Seed)}, fact{"machine", o.Machine}, fact{"made", o.Made}, fact{"again", "pelton lab run " + e.File})
}

// turns says what a knob turns, to a reader who does not know its name.
func (k Knob) turns() string {
	switch k.Kind {
	case KnobSetting:
		s := Settings()[k.Name]
		return "setting " + s.Key + s.Paths + " (" + s.Help + ")"
	case KnobBroker:
		return "key of the broker's configuration"
	case KnobWorkload:
		return "flag of the workload"
	case KnobSysctl:
		return "sysctl of the kernel"
	case KnobFile:
		return "file of the kernel"
	}
	return string(k.Kind)
}

// cellRows are the medians of each combination.
func (o *Outcome) cellRows() (rows []cellRow) {
	seen := map[string]bool{}
	for _, first := range o.Runs {
		name := first.Cell
		if seen[name] || first.Again {
			continue
		}
		seen[name] = true
		row := cellRow{Name: name}
		for _, m := range o.Experiment.Metrics {
			var values []float64
			for _, r := range o.Runs {
				if r.Cell == name && !r.Again {
					values = append(values, r.Metrics[m])
				}
			}
			slices.Sort(values)
			row.Values = append(row.Values, fmt.Sprintf("%s (%s…%s)", digits(values[len(values)/2]), digits(values[0]), digits(values[len(values)-1])))
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b cellRow) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// digits is a number with three digits that count.
func digits(v float64) string {
	if math.Abs(v) >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// axisPercent is a share on an axis: zero has no sign.
func axisPercent(v float64) string {
	if v == 0 {
		return "0"
	}
	return percent(v)
}

// roomOfTick is what a tick's text takes of the width, in percent.
const roomOfTick = 18.0

// widest is the largest change that a plot has room for; what is beyond is cut off at its edge.
const widest = 2.0

// intervals draws a bar for each finding about a metric, around a line at no change.
func (o *Outcome) intervals(metric string) plot {
	p := plot{Title: "Change of " + metricWords(metric), Axis: "In percent of the first value, with the interval of 95 %. Grey: no change is shown. Less is better, to the left."}
	if !lessIsBetter(metric) {
		p.Axis = strings.Replace(p.Axis, "Less is better, to the left", "More is better, to the right", 1)
	}
	far := 0.05
	for _, f := range o.Findings {
		if f.Metric == metric {
			far = min(widest, max(far, math.Abs(f.Low), math.Abs(f.High)))
		}
	}
	low := -min(far, 1) // nothing shrinks by more than all of it
	x := func(v float64) float64 { return 100 * (max(low, min(far, v)) - low) / (far - low) }
	in := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	p.Zero = in(x(0))
	for _, v := range []float64{low, low / 2, 0, far / 2, far} {
		if v == low/2 && x(v)-x(low) < roomOfTick {
			continue
		}
		p.Ticks = append(p.Ticks, tick{in(x(v)), axisPercent(v) + " %"})
	}
	for _, f := range o.Findings {
		if f.Metric != metric {
			continue
		}
		what := f.Knob
		if f.Base != "" {
			what += " " + f.Value + " instead of " + f.Base
		}
		p.Rows = append(p.Rows, bar{What: what, Change: percent(f.Change) + " % (" + percent(f.Low) + "…" + percent(f.High) + ")", Left: in(x(f.Low)), Width: in(x(f.High) - x(f.Low)), At: in(x(f.Change)), Shown: f.Shown()})
	}
	return p
}
