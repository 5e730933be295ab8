package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// printJSON prints one indented document.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printLine prints one document on one line.
func printLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// outcome is what a verb that changes things has done: a sentence for each at once, or with --json one list at the end.
type outcome struct {
	conn *connection
	rows []map[string]any
}

func newOutcome(conn *connection) *outcome { return &outcome{conn: conn, rows: []map[string]any{}} }

func (o *outcome) add(row map[string]any, sentence string, args ...any) {
	if o.rows = append(o.rows, row); !o.conn.json {
		fmt.Fprintf(o.conn.std.out, sentence+"\n", args...)
	}
}

// print ends the verb with err; what was done before it is told all the same.
func (o *outcome) print(err error) error {
	if !o.conn.json {
		return err
	}
	return errors.Join(err, printJSON(o.conn.std.out, o.rows))
}

// table prints aligned columns; the first row is the heading.
type table struct {
	rows [][]string
}

func newTable(heading ...string) *table { return &table{rows: [][]string{heading}} }

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = orDash(fmt.Sprint(c))
	}
	t.rows = append(t.rows, row)
}

// orDash shows that there is nothing.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (t *table) print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, r := range t.rows {
		fmt.Fprintln(tw, strings.Join(r, "\t"))
	}
	return tw.Flush()
}

// joinInts prints numbers with commas, as Kafka's tools do.
func joinInts(list []int32) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = strconv.Itoa(int(n))
	}
	return strings.Join(parts, ",")
}

// humanBytes prints a size for people.
func humanBytes(n int64) string {
	if n < 0 {
		return "-"
	}
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if i == 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[i]
}

// plural prints a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
