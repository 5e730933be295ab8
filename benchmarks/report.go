//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"
)

// report collects figures, prints the table and keeps the record.
type report struct {
	figures []figure
	notes   []string // who takes no part, and why
	lines   []map[string]any
	base    map[string]any // conditions common to all
	samples samples
}

// add judges a contest and keeps its figures, the far ones that were judged elsewhere, and its record line.
func (r *report) add(c *contest, o outcome, far []figure) error {
	line := maps.Clone(r.base)
	maps.Copy(line, c.detail)
	line["contest"], line["time"] = c.name, time.Now().UTC().Format(time.RFC3339)
	r.samples.add(c, o)
	figures := far
	for _, cl := range c.claims {
		f, err := o.judge(cl)
		if err != nil {
			return err
		}
		figures = append(figures, f)
	}
	var kept []map[string]any
	for _, f := range figures {
		r.figures = append(r.figures, f)
		k := map[string]any{"row": f.row, "side": f.side, "metric": f.metric, "value": round4(f.Value), "rounds": f.Rounds}
		if f.over != "" {
			k["over"], k["other"], k["ratio"], k["low"], k["high"] = f.over, round4(f.Other), round4(f.Ratio), round4(f.Low), round4(f.High)
		}
		if f.Effect != nil {
			k["change"], k["change_low"], k["change_high"] = round4(f.Effect.Change), round4(f.Effect.Low), round4(f.Effect.High)
		}
		if f.Samples > 0 {
			k["samples"] = f.Samples
		}
		if !f.info {
			k["bound"], k["met"] = f.bound, f.Met
		}
		kept = append(kept, k)
	}
	line["figures"] = kept
	r.lines = append(r.lines, line)
	return nil
}

// round4 keeps four digits; what is no number, as a ratio of two nothings, is null in the record.
func round4(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	var out float64
	fmt.Sscanf(fmt.Sprintf("%.4g", v), "%g", &out)
	return out
}

// table prints all figures.
func (r *report) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "figure\tside\tmeasured\tagainst\tratio\tspread\tbound\t")
	for _, f := range r.figures {
		against, ratio, spread := "", "", fmt.Sprintf("%.3g…%.3g", f.Low, f.High)
		if f.over != "" {
			against, ratio = fmt.Sprintf("%s %.3g", f.over, f.Other), fmt.Sprintf("%.2f", f.Ratio)
		}
		bound, verdict := "", ""
		if f.Effect != nil {
			verdict = f.Effect.Sentence("", f.metric)[2:]
		}
		if !f.info {
			bound, verdict = fmt.Sprintf("%s %g", map[bool]string{true: "≤", false: "≥"}[f.atMost], f.bound), map[bool]string{true: "met", false: "NOT MET"}[f.Met]
		}
		fmt.Fprintf(t, "%s\t%s\t%.3g %s\t%s\t%s\t%s\t%s\t%s\n", f.row, f.side, f.Value, f.unit, against, ratio, spread, bound, verdict)
	}
	err := t.Flush()
	for _, n := range r.notes {
		fmt.Fprintln(w, n)
	}
	return err
}

// keep appends the record lines to a history file.
func (r *report) keep(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, l := range r.lines {
		b, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if _, err := f.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// commit is the checked-out commit, with a mark when the tree differs from it.
func commit() string {
	b, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	c := strings.TrimSpace(string(b))
	if exec.Command("git", "diff", "--quiet", "HEAD").Run() != nil {
		c += "+changes"
	}
	return c
}
