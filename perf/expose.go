package perf

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Powers of two of nanoseconds that the page shows as bucket edges: about 1 µs to 17 s.
const (
	firstEdge = 10
	lastEdge  = 34
)

// WriteTo writes the Prometheus text page: every metric per shard, and Kafka's name with the sum
// over the shards where the table names an MBean. Positions of a dimension that never counted are
// left out, metrics without a dimension are always there.
func (r *Registry) WriteTo(w io.Writer) (int64, error) {
	p := &page{}
	for id, row := range Counters() {
		r.writeCounter(p, ID(id), row)
	}
	for id, row := range Histograms() {
		r.writeHistogram(p, HistID(id), row)
	}
	for id, row := range Reads() {
		r.writeRead(p, ReadID(id), row)
	}
	n, err := w.Write(p.Bytes())
	return int64(n), err
}

func (r *Registry) writeCounter(p *page, id ID, row Row) {
	p.head(row.Name, row.Kind, row.Help)
	names := append([]string{"shard"}, row.Dim.LabelNames()...)
	perDim := make([]int64, row.Dim.Size())
	for i := range len(r.sets) + 1 {
		shard, value := strconv.Itoa(i), func(at int) int64 { return r.ValueAt(id, i, at) }
		if i == len(r.sets) {
			shard, value = "off", func(at int) int64 { return r.shared.set.ValueAt(id, at) }
		}
		for at := range row.Dim.Size() {
			v := value(at)
			perDim[at] += v
			if v == 0 && (row.Dim != DimNone || shard == "off") {
				continue
			}
			p.line(row.Name, names, append([]string{shard}, row.Dim.LabelValues(at)...), float64(v))
		}
	}
	alias := row.Alias()
	if alias == "" {
		return
	}
	p.head(alias, row.Kind, row.Help)
	for at, v := range perDim {
		if v == 0 && row.Dim != DimNone {
			continue
		}
		p.line(alias, row.Dim.LabelNames(), row.Dim.LabelValues(at), float64(v))
	}
}

func (r *Registry) writeHistogram(p *page, id HistID, row Row) {
	p.head(row.Name, row.Kind, row.Help)
	names := append([]string{"shard"}, row.Dim.LabelNames()...)
	for i, set := range r.sets {
		for at := range row.Dim.Size() {
			v := HistView{}
			set.Hist(id, at).AddTo(&v)
			if v.Count == 0 && row.Dim != DimNone {
				continue
			}
			values := append([]string{strconv.Itoa(i)}, row.Dim.LabelValues(at)...)
			edge := append(names[:len(names):len(names)], "le")
			for power := firstEdge; power <= lastEdge; power++ {
				le := strconv.FormatFloat(float64(int64(1)<<power)/1e9, 'g', -1, 64)
				p.line(row.Name+"_bucket", edge, append(values[:len(values):len(values)], le), float64(v.below(power)))
			}
			p.line(row.Name+"_bucket", edge, append(values[:len(values):len(values)], "+Inf"), float64(v.Count))
			p.line(row.Name+"_sum", names, values, float64(v.Sum)/1e9)
			p.line(row.Name+"_count", names, values, float64(v.Count))
		}
	}
}

func (r *Registry) writeRead(p *page, id ReadID, row Row) {
	fns := r.callbacks(id)
	if len(fns) == 0 {
		return
	}
	for _, name := range []string{row.Name, row.Alias()} {
		if name == "" {
			continue
		}
		p.head(name, row.Kind, row.Help)
		for _, fn := range fns {
			fn(func(value float64, labels ...string) { p.line(name, row.Labels, labels, value) })
		}
	}
}

// Alias is the name that the usual JMX exporter rules give to the row's MBean; empty when there is
// none, and for histograms, whose shape differs from Kafka's.
func (row Row) Alias() string {
	m := regexp.MustCompile(`^(kafka\.[\w.]+):type=([\w-]+),name=([\w-]+)$`).FindStringSubmatch(row.JMX)
	if m == nil || row.Kind == Histogram {
		return ""
	}
	name, counter := strings.CutSuffix(m[3], "PerSec")
	alias := strings.Join([]string{m[1], m[2], name}, "_")
	if counter {
		alias += "_total"
	}
	return strings.ToLower(strings.NewReplacer(".", "_", "-", "_").Replace(alias))
}

// page is the text as it grows.
type page struct{ bytes.Buffer }

func (p *page) head(name string, k Kind, help string) {
	p.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + k.String() + "\n")
}

func (p *page) line(name string, labels, values []string, v float64) {
	p.WriteString(name)
	for i, label := range labels {
		p.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		value := ""
		if i < len(values) {
			value = values[i]
		}
		p.WriteString(label + `="` + escapeLabel(value) + `"`)
	}
	if len(labels) > 0 {
		p.WriteByte('}')
	}
	p.WriteByte(' ')
	p.Write(strconv.AppendFloat(nil, v, 'f', -1, 64))
	p.WriteByte('\n')
}

func escapeLabel(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}
