package config

import (
	"fmt"
	"strconv"
	"strings"
)

// check is what must hold between keys, and the refusals that protect an operator from a false sense of safety.
func (b *Broker) check() (warnings []Warning, err error) {
	for _, row := range b.table.rows {
		if row.Name == "process.roles" && b.Bool("pelton.log.adopt") {
			continue // the file of the KRaft broker whose directory is taken over
		}
		if v := b.values[row.Name]; row.Effect == Refused && v.set && row.Default != None && row.render(v) != row.Default {
			return nil, &ValueError{Key: row.Name, Value: v.text, Why: row.Doc}
		}
	}
	if err := b.checkListeners(); err != nil {
		return nil, err
	}
	if err := b.checkIdentity(); err != nil {
		return nil, err
	}
	for _, e := range splitList(b.Str("max.connections.per.ip.overrides")) {
		if _, n, ok := cutLast(e, ':'); !ok || !digits(n) {
			return nil, &ValueError{Key: "max.connections.per.ip.overrides", Value: e, Why: "must be host:count,..."}
		}
	}
	if len(b.LogDirs()) == 0 {
		return nil, &ValueError{Key: "log.dirs", Value: b.Str("log.dirs"), Why: "needs one directory at least"}
	}
	if err := b.checkFormat(); err != nil {
		return nil, err
	}
	if err := b.checkTimes(); err != nil {
		return nil, err
	}
	for _, name := range [...]string{"num.network.threads", "num.io.threads"} {
		if b.Given(name) {
			warnings = append(warnings, Warning{name, "accepted; Pelton runs one loop per shard, see num.shards"})
		}
	}
	return warnings, nil
}

func (b *Broker) checkIdentity() error {
	id := b.Int("broker.id")
	if n := b.Int("node.id"); n != id {
		return &ValueError{Key: "node.id", Value: strconv.Itoa(n), Why: fmt.Sprintf("must equal broker.id (%d)", id)}
	}
	switch reserved := b.Int("reserved.broker.max.id"); {
	case id < -1:
		return &ValueError{Key: "broker.id", Value: strconv.Itoa(id), Why: "must be -1 or above"}
	case id == -1 && !b.Bool("broker.id.generation.enable"):
		return &ValueError{Key: "broker.id", Value: "-1", Why: "must be 0 or above while broker.id.generation.enable is false"}
	case b.Bool("broker.id.generation.enable") && id > reserved:
		return &ValueError{Key: "broker.id", Value: strconv.Itoa(id), Why: fmt.Sprintf("must not exceed reserved.broker.max.id (%d) while broker.id.generation.enable is true", reserved)}
	}
	return nil
}

// checkTimes is what Kafka requires between times, buffers and sizes.
func (b *Broker) checkTimes() error {
	if err := b.checkRetention(); err != nil {
		return err
	}
	wait, lag := b.Long("replica.fetch.wait.max.ms"), b.Long("replica.lag.time.max.ms")
	rules := []struct {
		bad      bool
		key, why string
	}{
		{wait > b.Long("replica.socket.timeout.ms"), "replica.fetch.wait.max.ms", "must not exceed replica.socket.timeout.ms"},
		{wait > lag, "replica.fetch.wait.max.ms", "must not exceed replica.lag.time.max.ms, or followers flap in and out of sync"},
		{b.Long("log.cleaner.dedupe.buffer.size")/max(1, b.Long("log.cleaner.threads")) <= 1<<20, "log.cleaner.dedupe.buffer.size", "must leave more than 1048576 bytes for each of log.cleaner.threads"},
		{b.Long("group.min.session.timeout.ms") > b.Long("group.max.session.timeout.ms"), "group.min.session.timeout.ms", "must not exceed group.max.session.timeout.ms"},
		{b.Long("socket.request.max.bytes") > b.Long("pelton.request.memory.bytes"), "socket.request.max.bytes", "must not exceed pelton.request.memory.bytes, or the largest request could never be taken"},
		{b.Long("log.cleaner.min.compaction.lag.ms") > b.Long("log.cleaner.max.compaction.lag.ms"), "log.cleaner.min.compaction.lag.ms", "must not exceed log.cleaner.max.compaction.lag.ms"},
		{b.Long("offsets.commit.required.acks") < -1, "offsets.commit.required.acks", "must be -1 or above"},
		{b.Long("queued.max.request.bytes") > 0 && b.Long("queued.max.request.bytes") < b.Long("socket.request.max.bytes"), "queued.max.request.bytes", "must be -1 or at least socket.request.max.bytes"},
	}
	for _, r := range rules {
		if r.bad {
			return &ValueError{Key: r.key, Value: b.Str(r.key), Why: r.why}
		}
	}
	return nil
}

// checkRetention refuses an age of zero, which would remove everything at once.
func (b *Broker) checkRetention() error {
	for _, key := range [...]string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"} {
		if b.Set(key) && b.Long(key) == 0 {
			return &InvalidError{key + " must be unlimited (-1) or, greater than or equal to 1"}
		}
	}
	return nil
}

// ValidateBroker decides about a change of dynamic keys: the whole new set for one broker, or for every broker.
func (b *Broker) ValidateBroker(set map[string]string, thisBroker bool) error {
	var fixed, single []string
	for _, name := range sortedKeys(set) {
		row, ok := b.table.Row(name)
		switch {
		case !ok: // Kafka keeps keys that it does not know
		case row.Update == ReadOnly:
			fixed = append(fixed, name)
		case row.Update == PerBroker && !thisBroker:
			single = append(single, name)
		}
	}
	if len(fixed) > 0 {
		return &InvalidError{"Cannot update these configs dynamically: Set(" + strings.Join(fixed, ", ") + ")"}
	}
	if len(single) > 0 {
		return &InvalidError{"Cannot update these configs at default cluster level, broker id must be specified: Set(" + strings.Join(single, ", ") + ")"}
	}
	for _, name := range sortedKeys(set) {
		if row, ok := b.table.Row(name); ok {
			if _, err := row.Parse(set[name]); err != nil {
				return err
			}
		}
	}
	everyBroker, own := set, map[string]string(nil)
	if thisBroker {
		everyBroker, own = b.dynamicDefault, set
	}
	next, _ := b.With(everyBroker, own)
	_, err := next.check()
	return err
}
