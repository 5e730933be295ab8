package config

// RecordFormat is the format (magic) in which a topic's records are kept. As in Kafka 3.9 only a cluster that still speaks an
// inter.broker.protocol.version below 3.0 has a choice: the topic's message.format.version, unless it is newer than that protocol, else
// log.message.format.version.
func (t *Topic) RecordFormat() int8 {
	ibp, ok := ParseVersion(t.broker.Str("inter.broker.protocol.version"))
	if !ok || !ibp.Less(formatIgnoredFrom()) {
		return 2
	}
	if own, set := t.set["message.format.version"]; set {
		if v, ok := ParseVersion(own); ok && !ibp.Less(v) {
			return v.recordFormat()
		}
	}
	v, ok := ParseVersion(t.broker.Str("log.message.format.version"))
	if !ok {
		return 2
	}
	return v.recordFormat()
}

// NamedFormat is the older format that the topic's own message.format.version names, -1 when it names none. An adopted topic goes on in it.
func (t *Topic) NamedFormat() int8 {
	if v, ok := ParseVersion(t.set["message.format.version"]); ok && v.recordFormat() < 2 {
		return v.recordFormat()
	}
	return -1
}

// formatIgnoredFrom is the protocol version from which on records are always of format 2: 3.0-IV1.
func formatIgnoredFrom() Version { return Version{Major: 3, Minor: 0, Step: 1} }

// recordFormat is the newest format that a release knows: 1 came with 0.10.0, 2 with 0.11.0.
func (v Version) recordFormat() int8 {
	switch {
	case v.Major > 0 || v.Minor >= 1100:
		return 2
	case v.Minor >= 1000:
		return 1
	}
	return 0
}

// checkFormat refuses a record format that the brokers' own protocol does not know.
func (b *Broker) checkFormat() error {
	ibp, known := ParseVersion(b.Str("inter.broker.protocol.version"))
	format := b.Str("log.message.format.version")
	v, ok := ParseVersion(format)
	if !known || !ok || !ibp.Less(formatIgnoredFrom()) || v.recordFormat() <= ibp.recordFormat() {
		return nil
	}
	least := map[int8]string{1: "0.10.0", 2: "0.11.0"}[v.recordFormat()]
	return &ValueError{Key: "log.message.format.version", Value: format, Why: "can only be used when inter.broker.protocol.version is set to version " + least + " or higher"}
}
