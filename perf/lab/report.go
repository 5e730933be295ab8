package lab

import (
	"encoding/csv"
	"fmt"
	"io"
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
