package server

import (
	"fmt"
	"strconv"
	"strings"
)

// javaDouble prints a number as Java prints a double of the sizes that occur here.
func javaDouble(v float64) string {
	if v == float64(int64(v)) && v < 1e7 && v > -1e7 {
		return strconv.FormatInt(int64(v), 10) + ".0"
	}
	s := strconv.FormatFloat(v, 'E', -1, 64)
	if v < 1e7 && v > -1e7 && (v >= 1e-3 || v <= -1e-3) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(s, "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(n)
}

// quantiles are the lines of a summary in the order that Apache's exporter has.
func (m *metric) quantiles() []string {
	if m.wide {
		return []string{"0.5", "0.9", "0.99"}
	}
	return []string{"0.5"}
}

// shown is a quantile as Java prints it.
func (s *summary) shown(q string) string {
	if s.count == 0 {
		return "NaN"
	}
	f, _ := strconv.ParseFloat(q, 64)
	return javaDouble(float64(s.quantile(f)))
}

// row is one line of a metric: name, labels and value.
type row struct{ name, labels, value string }

// rows are the lines of a metric. Prometheus' own text has a comma behind the last label, Apache's words and admin server have none.
func (m *metric) rows(comma string) []row {
	if !m.set {
		return m.rowsOf("", keyed{value: m.value, summary: m.summary}, comma)
	}
	var out []row
	for _, k := range m.keys {
		out = append(out, m.rowsOf(fmt.Sprintf("key=%q", k.key), k, comma)...)
	}
	return out
}

func (m *metric) rowsOf(label string, v keyed, comma string) []row {
	braced := func(list ...string) string {
		text := strings.Join(list, ",")
		if text = strings.Trim(text, ","); text == "" {
			return ""
		}
		return "{" + text + comma + "}"
	}
	if v.summary == nil {
		return []row{{m.name, braced(label), javaDouble(v.value)}}
	}
	var out []row
	for _, q := range m.quantiles() {
		out = append(out, row{m.name, braced(label, fmt.Sprintf("quantile=%q", q)), v.summary.shown(q)})
	}
	return append(out, row{m.name + "_count", braced(label), javaDouble(float64(v.summary.count))}, row{m.name + "_sum", braced(label), javaDouble(float64(v.summary.sum))})
}

// exposition is the text that Prometheus scrapes.
func exposition(list []metric) string {
	var b strings.Builder
	for i := range list {
		m := &list[i]
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.name, m.name, m.kind)
		for _, r := range m.rows(",") {
			b.WriteString(r.name + r.labels + " " + r.value + "\n")
		}
	}
	return b.String()
}
