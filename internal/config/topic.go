package config

import (
	"math"
	"strconv"

	"github.com/pelton-broker/pelton/internal/invariant"
)

// Topic is the configuration of one topic: its own values over those of its broker.
type Topic struct {
	broker *Broker
	set    map[string]string
	values map[string]Value
	// Warnings name stored values that their keys do not allow; the broker's values stand in for them.
	Warnings []Warning
}

// Topic is the view of a topic with these values of its own.
func (b *Broker) Topic(set map[string]string) *Topic {
	t := &Topic{broker: b, set: set, values: make(map[string]Value, len(b.topics.rows))}
	for _, row := range b.topics.rows {
		if raw, ok := set[row.Name]; ok {
			v, err := row.Parse(raw)
			if err == nil {
				t.values[row.Name] = v
				continue
			}
			t.Warnings = append(t.Warnings, Warning{row.Name, err.Error() + "; the broker's value is used"})
		}
		t.values[row.Name] = b.fallback(row)
	}
	return t
}

// fallback is what a topic without a value of its own gets.
func (b *Broker) fallback(row Row) Value {
	long := func(n int64) Value {
		return Value{set: true, long: n, num: float64(n), text: strconv.FormatInt(n, 10)}
	}
	switch row.Name {
	case "retention.ms":
		return long(b.RetentionMs())
	case "segment.ms":
		return long(b.RollMs())
	case "segment.jitter.ms":
		return long(b.RollJitterMs())
	case "flush.ms":
		return long(b.FlushMs())
	case "message.timestamp.before.max.ms":
		return long(b.TimestampBeforeMs())
	case "message.timestamp.after.max.ms":
		return long(b.TimestampAfterMs())
	}
	if row.Broker != "" {
		return b.value(row.Broker)
	}
	v, _ := row.parse(row.Default)
	return v
}

func (t *Topic) value(name string) Value {
	v, ok := t.values[name]
	if !ok {
		invariant.Broken("config: no such topic key", name)
	}
	return v
}

// Str is a text.
func (t *Topic) Str(name string) string { return t.value(name).text }

// Bool is a yes or no.
func (t *Topic) Bool(name string) bool { return t.value(name).flag }

// Int is a number of kind int.
func (t *Topic) Int(name string) int { return int(t.value(name).long) }

// Long is a whole number.
func (t *Topic) Long(name string) int64 { return t.value(name).long }

// Ms is a time in milliseconds.
func (t *Topic) Ms(name string) int64 { return t.value(name).long }

// Float is a number of kind double.
func (t *Topic) Float(name string) float64 { return t.value(name).num }

// List is the entries of a list. The caller must not change it.
func (t *Topic) List(name string) []string { return t.value(name).list }

// Compacted reports whether records need keys.
func (t *Topic) Compacted() bool { return t.policy("compact") }

// Deletes reports whether retention removes segments.
func (t *Topic) Deletes() bool { return t.policy("delete") }

func (t *Topic) policy(word string) bool {
	for _, p := range t.List("cleanup.policy") {
		if p == word {
			return true
		}
	}
	return false
}

// TimestampBeforeMs is how far a record's time may lie before now; the older single limit counts while this one has its default.
func (t *Topic) TimestampBeforeMs() int64 { return t.timestampMs("message.timestamp.before.max.ms") }

// TimestampAfterMs is how far a record's time may lie after now, in the same way.
func (t *Topic) TimestampAfterMs() int64 { return t.timestampMs("message.timestamp.after.max.ms") }

func (t *Topic) timestampMs(name string) int64 {
	if ms := t.Long(name); ms != math.MaxInt64 {
		return ms
	}
	return t.Long("message.timestamp.difference.max.ms")
}

// ValidateTopic decides about the whole set of a topic's own values: every name known, every value allowed, none
// contradicting another. The error is an InvalidError or a ValueError with Kafka's text.
func (b *Broker) ValidateTopic(set map[string]string) error {
	for _, name := range sortedKeys(set) {
		if _, ok := b.topics.Row(name); !ok {
			return &InvalidError{"Unknown topic config name: " + name}
		}
	}
	for _, name := range sortedKeys(set) {
		row, _ := b.topics.Row(name)
		if _, err := row.Parse(set[name]); err != nil {
			return err
		}
	}
	t := b.Topic(set)
	if low, high := t.Long("min.compaction.lag.ms"), t.Long("max.compaction.lag.ms"); low > high {
		return &InvalidError{"conflict topic config setting min.compaction.lag.ms (" + strconv.FormatInt(low, 10) +
			") > max.compaction.lag.ms (" + strconv.FormatInt(high, 10) + ")"}
	}
	if t.Bool("remote.storage.enable") {
		return &TieredError{}
	}
	return nil
}

// TieredError is returned for remote.storage.enable=true: the broker has no tiered storage. Kafka counts it among the wrong values.
type TieredError struct{}

// Error implements error.
func (*TieredError) Error() string {
	return "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
}
