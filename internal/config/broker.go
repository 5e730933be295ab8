package config

import (
	"maps"
	"math"
	"sort"

	"github.com/pelton-broker/pelton/internal/invariant"
)

// Broker is the configuration of one broker: what was given at the start and what was changed since, in layers.
// It is never changed after it is made; With makes the next one.
type Broker struct {
	table, topics *Table

	// The layers, strongest first; below them is the default of each row.
	dynamicBroker  map[string]string
	dynamicDefault map[string]string
	static         map[string]string

	values map[string]Value
}

// With is this configuration under other dynamic layers: those for every broker and those for this one.
// A value that its key does not allow is left out and told.
func (b *Broker) With(everyBroker, thisBroker map[string]string) (*Broker, []Warning) {
	next := &Broker{table: b.table, topics: b.topics, static: b.static,
		dynamicBroker: map[string]string{}, dynamicDefault: map[string]string{}}
	var warnings []Warning
	take := func(from, into map[string]string) {
		for _, name := range sortedKeys(from) {
			row, known := b.table.Row(name)
			if known {
				if _, err := row.Parse(from[name]); err != nil {
					warnings = append(warnings, Warning{Key: name, Text: err.Error() + "; the dynamic value is not used"})
					continue
				}
			}
			into[name] = from[name]
		}
	}
	take(everyBroker, next.dynamicDefault)
	take(thisBroker, next.dynamicBroker)
	next.resolve()
	return next, warnings
}

// resolve parses the strongest layer's value of every row. The layers hold only values that parse.
func (b *Broker) resolve() {
	b.values = make(map[string]Value, len(b.table.rows))
	for _, row := range b.table.rows {
		raw, ok := b.raw(row.Name)
		if !ok {
			if row.Default == None || row.Effect == Alias || row.Effect == Gone {
				continue
			}
			raw = row.Default
		}
		if v, why := row.parse(raw); why == "" {
			b.values[row.Name] = v
		}
	}
}

// raw is the strongest layer's text for a key, defaults aside.
func (b *Broker) raw(name string) (string, bool) {
	for _, layer := range [...]map[string]string{b.dynamicBroker, b.dynamicDefault, b.static} {
		if raw, ok := layer[name]; ok {
			return raw, true
		}
	}
	return "", false
}

// Set reports whether the key has a value in any layer, its default included.
func (b *Broker) Set(name string) bool { return b.value(name).set }

// Given reports whether the key has a value that is not just its default.
func (b *Broker) Given(name string) bool { _, ok := b.raw(name); return ok }

func (b *Broker) value(name string) Value {
	v, ok := b.values[name]
	if !ok {
		if _, known := b.table.Row(name); !known {
			invariant.Broken("config: no such broker key", name)
		}
	}
	return v
}

// Str is a text; empty when the key is not set.
func (b *Broker) Str(name string) string { return b.value(name).text }

// Bool is a yes or no.
func (b *Broker) Bool(name string) bool { return b.value(name).flag }

// Int is a number of kind int or short; zero when the key is not set.
func (b *Broker) Int(name string) int { return int(b.value(name).long) }

// Long is a whole number; zero when the key is not set.
func (b *Broker) Long(name string) int64 { return b.value(name).long }

// Ms is a time in milliseconds.
func (b *Broker) Ms(name string) int64 { return b.value(name).long }

// Float is a number of kind double.
func (b *Broker) Float(name string) float64 { return b.value(name).num }

// List is the entries of a list. The caller must not change it.
func (b *Broker) List(name string) []string { return b.value(name).list }

// RetentionMs is the age at which segments go: milliseconds beat minutes beat hours. -1: never.
func (b *Broker) RetentionMs() int64 {
	ms := b.Long("log.retention.hours") * 3600_000
	switch {
	case b.Set("log.retention.ms"):
		ms = b.Long("log.retention.ms")
	case b.Set("log.retention.minutes"):
		ms = b.Long("log.retention.minutes") * 60_000
	}
	return max(ms, -1)
}

// RollMs is the age at which a segment is closed: milliseconds beat hours.
func (b *Broker) RollMs() int64 {
	if b.Set("log.roll.ms") {
		return b.Long("log.roll.ms")
	}
	return b.Long("log.roll.hours") * 3600_000
}

// RollJitterMs is the random time taken off RollMs: milliseconds beat hours.
func (b *Broker) RollJitterMs() int64 {
	if b.Set("log.roll.jitter.ms") {
		return b.Long("log.roll.jitter.ms")
	}
	return b.Long("log.roll.jitter.hours") * 3600_000
}

// FlushMs is the longest time that a record waits for a sync; the scheduler's beat when not set.
func (b *Broker) FlushMs() int64 {
	if b.Set("log.flush.interval.ms") {
		return b.Long("log.flush.interval.ms")
	}
	return b.Long("log.flush.scheduler.interval.ms")
}

// TimestampBeforeMs is how far a record's time may lie before now; the older single limit counts while this one has its default.
func (b *Broker) TimestampBeforeMs() int64 {
	return b.timestampMs("log.message.timestamp.before.max.ms")
}

// TimestampAfterMs is how far a record's time may lie after now, in the same way.
func (b *Broker) TimestampAfterMs() int64 { return b.timestampMs("log.message.timestamp.after.max.ms") }

func (b *Broker) timestampMs(name string) int64 {
	if ms := b.Long(name); ms != math.MaxInt64 {
		return ms
	}
	return b.Long("log.message.timestamp.difference.max.ms")
}

// LogDirs is log.dirs, or log.dir when that is not set.
func (b *Broker) LogDirs() []string {
	if b.Set("log.dirs") {
		return splitList(b.Str("log.dirs"))
	}
	return splitList(b.Str("log.dir"))
}

// BrokerID is the number of this broker, -1 when it takes a generated one.
func (b *Broker) BrokerID() int32 { return int32(b.Int("broker.id")) }

// ZooKeeperConnectTimeoutMs is the longest wait for the first connection to coordination.
func (b *Broker) ZooKeeperConnectTimeoutMs() int64 {
	if b.Set("zookeeper.connection.timeout.ms") {
		return b.Ms("zookeeper.connection.timeout.ms")
	}
	return b.Ms("zookeeper.session.timeout.ms")
}

// MaxConnectionsPerIP is the limit for one host, by its name or address.
func (b *Broker) MaxConnectionsPerIP(host string) int {
	if n, special := b.ConnectionOverrides()[host]; special {
		return n
	}
	return b.Int("max.connections.per.ip")
}

// ConnectionOverrides are the hosts with a limit of their own.
func (b *Broker) ConnectionOverrides() map[string]int {
	out := map[string]int{}
	for _, e := range splitList(b.Str("max.connections.per.ip.overrides")) {
		if host, n, ok := cutLast(e, ':'); ok {
			if v, why := (Row{Kind: Int}).parse(n); why == "" {
				out[host] = int(v.long)
			}
		}
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range maps.Keys(m) {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
