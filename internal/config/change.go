package config

import (
	"maps"
	"slices"
	"strings"
)

// Op is what IncrementalAlterConfigs does to one key, numbered as the protocol numbers it.
type Op int8

// The operations.
const (
	OpSet      Op = 0
	OpDelete   Op = 1
	OpAppend   Op = 2 // adds entries to a list
	OpSubtract Op = 3 // takes entries off a list
)

// Change is one operation on one key.
type Change struct {
	Name  string
	Op    Op
	Value string
}

// Apply is set after the changes, set itself staying as it is. Values are not checked: that is Validate's work on the
// result. Appending to a list that is not set starts from the key's default, as Kafka does.
func (t *Table) Apply(set map[string]string, changes []Change) (map[string]string, error) {
	next := map[string]string{}
	maps.Copy(next, set)
	for _, c := range changes {
		switch c.Op {
		case OpSet:
			next[c.Name] = c.Value
		case OpDelete:
			delete(next, c.Name)
		case OpAppend, OpSubtract:
			row, ok := t.Row(c.Name)
			if !ok || row.Kind != List {
				verb := "append"
				if c.Op == OpSubtract {
					verb = "subtract"
				}
				return nil, &InvalidError{"Config value " + verb + " is not allowed for config key: " + c.Name}
			}
			old, isSet := next[c.Name]
			if !isSet && row.Default != None {
				old = row.Default
			}
			next[c.Name] = strings.Join(changeList(splitList(old), splitList(c.Value), c.Op), ",")
		default:
			return nil, &InvalidError{"Unknown config operation for config key: " + c.Name}
		}
	}
	return next, nil
}

func changeList(old, entries []string, op Op) []string {
	if op == OpSubtract {
		return slices.DeleteFunc(old, func(e string) bool { return slices.Contains(entries, e) })
	}
	for _, e := range entries {
		if !slices.Contains(old, e) {
			old = append(old, e)
		}
	}
	return old
}

// Topics is the table of topic keys, for Apply.
func (b *Broker) Topics() *Table { return b.topics }

// Brokers is the table of broker keys, for Apply.
func (b *Broker) Brokers() *Table { return b.table }
