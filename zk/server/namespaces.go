package server

import (
	"maps"
	"slices"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// namespaces counts bytes read and written below each child of the root, as ZooKeeper does: path, data, and what an answer has besides.
type namespaces struct {
	reads, writes map[string]*summary
}

const (
	// namespacesMax bounds the memory, since clients pick the names: what comes beyond is not counted.
	namespacesMax = 1000
	// statBytes is what ZooKeeper adds to a read for the stat in its answer.
	statBytes = 68
)

func newNamespaces() namespaces {
	return namespaces{reads: map[string]*summary{}, writes: map[string]*summary{}}
}

// namespace is the first part of a path; empty for the root itself.
func namespace(path string) string {
	if path == "" || path[0] != '/' {
		return ""
	}
	first, _, _ := strings.Cut(path[1:], "/")
	return first
}

func countBytes(of map[string]*summary, path string, bytes int) {
	name := namespace(path)
	if name == "" {
		return
	}
	s := of[name]
	if s == nil {
		if len(of) >= namespacesMax {
			return
		}
		s = &summary{}
		of[strings.Clone(name)] = s
	}
	s.add(int64(len(path) + bytes))
}

// read counts an answered getData or getChildren.
func (n *namespaces) read(op int32, path string, node *tree.Node) {
	bytes := statBytes
	switch op {
	case jute.OpGetData:
		bytes += len(node.Data)
	case jute.OpGetChildren, jute.OpGetChildren2:
		node.Children(func(name string) { bytes += len(name) })
	default:
		return
	}
	countBytes(n.reads, path, bytes)
}

// wrote counts a transaction that was carried out.
func (n *namespaces) wrote(x *tree.Txn) {
	switch x.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL, jute.OpSetData, jute.OpReconfig:
		countBytes(n.writes, x.Path, len(x.Data))
	case jute.OpDelete, jute.OpDeleteContainer:
		countBytes(n.writes, x.Path, 0)
	case jute.OpCloseSession:
		for _, path := range x.Paths {
			countBytes(n.writes, path, 0)
		}
	case jute.OpMulti:
		for i := range x.Sub {
			if x.Sub[i].Op == jute.OpError {
				return // nothing of it was done
			}
		}
		for i := range x.Sub {
			n.wrote(&x.Sub[i])
		}
	}
}

func summariesByKey(of map[string]*summary) []keyed {
	var out []keyed
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, keyed{key: name, summary: of[name]})
	}
	return out
}

// keyedMetrics lists the metrics with a value for each key. Their names are there also when nobody has a value.
func (l *loop) keyedMetrics() []metric {
	values := map[string][]keyed{"read_per_namespace": summariesByKey(l.names.reads), "write_per_namespace": summariesByKey(l.names.writes)}
	for _, q := range l.tree.Quotas() {
		for name, v := range map[string]int64{"quota_bytes_limit_per_namespace": q.Bytes, "quota_count_limit_per_namespace": q.Count,
			"quota_bytes_usage_per_namespace": q.UsedBytes, "quota_count_usage_per_namespace": q.UsedCount} {
			if v >= 0 {
				values[name] = append(values[name], keyed{key: namespace(q.Path), value: float64(v)})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.tree.Exceeded)) {
		values["quota_exceeded_error_per_namespace"] = append(values["quota_exceeded_error_per_namespace"], keyed{key: name, value: float64(l.tree.Exceeded[name])})
	}
	var out []metric
	add := func(names, kind string, wide bool) {
		for _, n := range strings.Fields(names) {
			out = append(out, metric{name: n, kind: kind, wide: wide, set: true, keys: values[n]})
		}
	}
	add(metricKeyedSummaries, "summary", false)
	add(metricKeyedQuantiles, "summary", true)
	add(metricKeyedCounters, "counter", false)
	add(metricKeyedGauges, "gauge", false)
	return out
}
