package lab

import (
	"encoding/csv"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Text prints one sentence per knob, value and metric.
func (o *Outcome) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", o.Experiment.Name)
	if o.Experiment.Question != "" {
		fmt.Fprintf(&b, "%s\n", o.Experiment.Question)
	}
	for _, f := range o.Findings {
		fmt.Fprintf(&b, "  %s\n", f.Sentence)
	}
	for _, r := range o.Refused {
		fmt.Fprintf(&b, "  left out: %s\n", r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// CSV writes every run that counted.
func (o *Outcome) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	names := metricNames()
	if err := out.Write(append([]string{"repetition", "cell", "again"}, names...)); err != nil {
		return err
	}
	for _, r := range o.Runs {
		row := []string{strconv.Itoa(r.Repetition), r.Cell, strconv.FormatBool(r.Again)}
		for _, n := range names {
			v, ok := r.Metrics[n]
			if !ok {
				row = append(row, "")
				continue
			}
			row = append(row, strconv.FormatFloat(v, 'g', 6, 64))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

const labPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{{.E.Name}}</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;color:#1d2733;background:#fff;max-width:960px;margin:2em auto;padding:0 1em}
h1{font-size:1.4em;margin-bottom:.2em}h2{font-size:1.05em;margin:1.8em 0 .3em}p{margin:.3em 0;color:#4a5866}
svg{max-width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:#1d2733}li{margin:.2em 0}.off{color:#8a5a00}
</style>
<h1>{{.E.Name}}</h1><p>{{.E.Question}}</p>
<p>{{.E.Repetitions}} repetitions of every combination in random order, {{.E.Warmups}} before them discarded, seed {{.E.Seed}}. A bar is the 95 % interval of the change; where it leaves the middle line out, the change is shown. The A/A check compares the baseline with itself and should show none (it does once in twenty).</p>
<h2>What each knob does</h2><ul>{{range .Findings}}<li>{{.Sentence}}</li>{{end}}{{range .Refused}}<li class="off">left out: {{.}}</li>{{end}}</ul>
{{range .Plots}}<h2>{{.Title}}</h2>{{.SVG}}{{end}}
</html>
`

type plot struct {
	Title string
	SVG   template.HTML
}

// HTML writes the report: one file, nothing fetched from anywhere.
func (o *Outcome) HTML(w io.Writer) error {
	t, err := template.New("lab").Parse(labPage)
	if err != nil {
		return err
	}
	page := struct {
		E        *Experiment
		Findings []Finding
		Refused  []string
		Plots    []plot
	}{E: o.Experiment, Findings: o.Findings, Refused: o.Refused}
	for _, m := range o.Experiment.Metrics {
		page.Plots = append(page.Plots, plot{Title: "Change of " + metricWords(m), SVG: o.intervals(m)})
	}
	return t.Execute(w, page)
}

// axisPercent is a share on an axis: zero has no sign.
func axisPercent(v float64) string {
	if v == 0 {
		return "0"
	}
	return percent(v)
}

// intervals draws a bar for each finding about a metric, around a line at no change.
func (o *Outcome) intervals(metric string) template.HTML {
	const width, label, row = 900.0, 360.0, 30.0
	fs := slices.Clone(o.Findings)
	fs = slices.DeleteFunc(fs, func(f Finding) bool { return f.Metric != metric })
	far := 0.05
	for _, f := range fs {
		far = max(far, math.Abs(f.Low), math.Abs(f.High))
	}
	x := func(v float64) float64 { return label + (v/far+1)/2*(width-label-40) }
	height := row*float64(len(fs)) + 30
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="change of %s">`, width, height, metric)
	for _, v := range []float64{-far, -far / 2, 0, far / 2, far} {
		stroke := "#e3e8ee"
		if v == 0 {
			stroke = "#4a5866"
		}
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="0" y2="%.1f" stroke="%s"/><text x="%.1f" y="%.1f" text-anchor="middle">%s %%</text>`, x(v), x(v), height-24, stroke, x(v), height-8, axisPercent(v))
	}
	for i, f := range fs {
		y := row*float64(i) + row/2
		colour := "#8b98a5"
		if f.Shown() {
			colour = "#1f6feb"
		}
		what := f.Knob
		if f.Base != "" {
			what += " " + f.Value + " instead of " + f.Base
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, label-12, y+4, template.HTMLEscapeString(what))
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="8" stroke-opacity=".35"/><circle cx="%.1f" cy="%.1f" r="5" fill="%s"/>`,
			x(f.Low), x(f.High), y, y, colour, x(f.Change), y, colour)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // names are escaped, the rest is numbers
}
