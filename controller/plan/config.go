package plan

import (
	"maps"
	"slices"
	"strings"
)

// ConfigOp is one change of IncrementalAlterConfigs.
type ConfigOp struct {
	Name  string
	Kind  ConfigKind
	Value string
}

// ConfigKind is what a ConfigOp does; the values are the wire's.
type ConfigKind int8

// The kinds of ConfigOp.
const (
	ConfigSet ConfigKind = iota
	ConfigDelete
	ConfigAppend
	ConfigSubtract
)

// MergeConfig applies changes to a set of overrides and returns the new set. list tells which settings are lists;
// fallback is the value that an append or subtract starts from where nothing is overridden.
func MergeConfig(set map[string]string, ops []ConfigOp, list func(string) bool, fallback func(string) string) (map[string]string, error) {
	out := maps.Clone(set)
	if out == nil {
		out = map[string]string{}
	}
	seen := map[string]bool{}
	for _, op := range ops {
		if seen[op.Name] {
			return nil, Refuse(ErrInvalidRequest, "the setting %q is changed twice in one request", op.Name)
		}
		seen[op.Name] = true
		switch op.Kind {
		case ConfigSet:
			out[op.Name] = op.Value
		case ConfigDelete:
			delete(out, op.Name)
		case ConfigAppend, ConfigSubtract:
			if !list(op.Name) {
				return nil, Refuse(ErrInvalidConfig, "the setting %q is no list: nothing can be added to it or taken from it", op.Name)
			}
			now, is := out[op.Name]
			if !is {
				now = fallback(op.Name)
			}
			out[op.Name] = mergeList(now, op)
		default:
			return nil, Refuse(ErrInvalidRequest, "unknown kind of change %d for the setting %q", op.Kind, op.Name)
		}
	}
	return out, nil
}

func mergeList(now string, op ConfigOp) string {
	var items []string
	for _, item := range strings.Split(now, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	for _, item := range strings.Split(op.Value, ",") {
		item = strings.TrimSpace(item)
		at := slices.Index(items, item)
		switch {
		case op.Kind == ConfigAppend && at < 0 && item != "":
			items = append(items, item)
		case op.Kind == ConfigSubtract && at >= 0:
			items = slices.Delete(items, at, at+1)
		}
	}
	return strings.Join(items, ",")
}
