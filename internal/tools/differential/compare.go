package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// always are fields that differ between any two brokers, and the text of messages, which is each broker's own.
func always() map[string]bool {
	return map[string]bool{"Host": true, "Port": true, "ClusterID": true, "ThrottleMillis": true, "UnknownTags": true, "Version": true,
		"LogAppendTime": true, "SessionID": true, "ProducerID": true, "Dir": true, "TotalBytes": true, "UsableBytes": true, "Documentation": true,
		"LastTimestamp": true}
}

// plain turns an answer into maps and lists, with what must differ masked.
func plain(w *world, resp kmsg.Response, masked map[string]bool) any {
	raw, err := json.Marshal(resp)
	if err != nil {
		return err.Error()
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err.Error()
	}
	return mask(w, v, masked)
}

func mask(w *world, v any, masked map[string]bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = mask(w, v[i], masked)
		}
	case map[string]any:
		for k, x := range v {
			v[k] = maskField(w, k, x, masked)
		}
	}
	return v
}

func maskField(w *world, name string, x any, masked map[string]bool) any {
	switch {
	case masked[name]:
		return "*"
	case name == "RecordBatches":
		s, _ := x.(string)
		if b, err := base64.StdEncoding.DecodeString(s); err == nil && readableSet(b) {
			return string(b)
		}
	case name == "ErrorMessage":
		if x != nil {
			return "(text)"
		}
	case name == "TopicID":
		return w.nameOf(x)
	case name == "MemberID" || name == "Leader" || name == "LeaderID":
		if s, ok := x.(string); ok && s != "" {
			return "(member)"
		}
	}
	return mask(w, x, masked)
}

// nameOf stands a topic's name for its id.
func (w *world) nameOf(x any) any {
	list, ok := x.([]any)
	if !ok || len(list) != 16 {
		return x
	}
	var id [16]byte
	for i := range list {
		f, _ := list[i].(float64)
		id[i] = byte(f)
	}
	if name, known := w.topics[id]; known {
		return "id of " + name
	}
	if id == [16]byte{} {
		return "no id"
	}
	return "an id"
}

// difference is one field that two answers do not share.
type difference struct{ path, a, b string }

func compare(path string, a, b any) []difference {
	am, aok := a.(map[string]any)
	bm, bok := b.(map[string]any)
	if aok && bok {
		return compareMaps(path, am, bm)
	}
	al, aok := a.([]any)
	bl, bok := b.([]any)
	if aok && bok {
		return compareLists(path, al, bl)
	}
	x, y := show(a), show(b)
	if x == y || empty(a) && empty(b) || strings.HasSuffix(path, ".RecordBatches") && cutShort(x, y) {
		return nil
	}
	return []difference{{path, x, y}}
}

// empty tells null lists and empty ones alike: clients cannot tell them apart where the protocol does not.
func empty(v any) bool {
	l, ok := v.([]any)
	return v == nil || ok && len(l) == 0
}

func compareMaps(path string, a, b map[string]any) (out []difference) {
	keys := make([]string, 0, len(a))
	for k := range a {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		out = append(out, compare(path+"."+k, a[k], b[k])...)
	}
	return out
}

func compareLists(path string, a, b []any) (out []difference) {
	a, b = ordered(a), ordered(b)
	if named(a) && named(b) {
		return compareNamed(path, a, b)
	}
	if len(a) != len(b) {
		return []difference{{path, fmt.Sprintf("%d elements %.300s", len(a), show(a)), fmt.Sprintf("%d elements %.300s", len(b), show(b))}}
	}
	for i := range a {
		out = append(out, compare(fmt.Sprintf("%s[%s]", path, label(a[i], i)), a[i], b[i])...)
	}
	return out
}

// named tells whether every element has a label of its own.
func named(l []any) bool {
	for i := range l {
		if label(l[i], -1) == "-1" || i > 0 && label(l[i], -1) == label(l[i-1], -1) {
			return false
		}
	}
	return len(l) > 0
}

// compareNamed compares what both have and tells what only one has. Both are sorted by label.
func compareNamed(path string, a, b []any) (out []difference) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && label(a[0], 0) < label(b[0], 0):
			out = append(out, difference{fmt.Sprintf("%s[%s]", path, label(a[0], 0)), fmt.Sprintf("%.300s", show(a[0])), "absent"})
			a = a[1:]
		case len(a) == 0 || label(b[0], 0) < label(a[0], 0):
			out = append(out, difference{fmt.Sprintf("%s[%s]", path, label(b[0], 0)), "absent", fmt.Sprintf("%.300s", show(b[0]))})
			b = b[1:]
		default:
			out = append(out, compare(fmt.Sprintf("%s[%s]", path, label(a[0], 0)), a[0], b[0])...)
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// ordered sorts elements that have a name or a number, since brokers list them in any order.
func ordered(l []any) []any {
	l = slices.Clone(l)
	sort.SliceStable(l, func(i, j int) bool { return label(l[i], 0) < label(l[j], 0) })
	return l
}

func label(v any, i int) string {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprint(i)
	}
	s := ""
	for _, k := range []string{"Topic", "Name", "Group", "ResourceName", "Partition", "NodeID", "ApiKey", "Key"} {
		if x, has := m[k]; has && x != nil {
			s += fmt.Sprintf("%v ", x)
		}
	}
	if s == "" {
		return fmt.Sprint(i)
	}
	return s[:len(s)-1]
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
