package config

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/magiconair/properties"
)

// Warning is something in the configuration that is not an error and that the operator should see.
type Warning struct{ Key, Text string }

// ParseProperties reads a Java properties file, as Kafka does: last value wins, ${...} is plain text.
func ParseProperties(text []byte) (map[string]string, error) {
	loader := &properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	p, err := loader.LoadBytes(text)
	if err != nil {
		return nil, fmt.Errorf("properties: %w", err)
	}
	return p.Map(), nil
}

// ParseOverride splits key=value of the command line.
func ParseOverride(text string) (key, value string, err error) {
	key, value, ok := strings.Cut(text, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		return "", "", fmt.Errorf("%q is not key=value", text)
	}
	return key, strings.TrimSpace(value), nil
}

// Load makes the configuration from the file's keys, those of --override and those that flags stand for.
// Overrides beat flags, flags beat the file. Every wrong value is named in the error, on one line.
func Load(file, overrides, flags map[string]string) (*Broker, []Warning, error) {
	b := &Broker{table: BrokerTable(), topics: TopicTable(), static: map[string]string{}}
	maps.Copy(b.static, file)
	maps.Copy(b.static, flags)
	maps.Copy(b.static, overrides)
	warnings := b.acceptNames()
	var wrong []string
	for _, name := range sortedKeys(b.static) {
		row, ok := b.table.Row(name)
		if !ok {
			continue
		}
		if _, err := row.Parse(b.static[name]); err != nil {
			wrong = append(wrong, explain(row, err))
		}
	}
	if len(wrong) > 0 {
		return nil, warnings, errors.New(strings.Join(wrong, "; "))
	}
	warnings = append(warnings, b.fillLegacy()...)
	b.resolve()
	more, err := b.check()
	return b, append(warnings, more...), err
}

// explain adds the bounds to an error that does not name them all.
func explain(row Row, err error) string {
	text := err.Error()
	if row.Valid != nil {
		if _, isWords := row.Valid.(words); !isWords {
			text += " (allowed: " + row.Valid.String() + ")"
		}
	}
	return text
}

// acceptNames replaces aliases by what they mean and tells of names that nobody knows.
func (b *Broker) acceptNames() (warnings []Warning) {
	for _, name := range sortedKeys(b.static) {
		row, ok := b.table.Row(name)
		switch {
		case !ok && b.isListenerKey(name):
			warnings = append(warnings, Warning{name, "settings of single listeners are not used by this version"})
		case !ok:
			text := "unknown key"
			if near := b.table.Nearest(name); near != "" {
				text += ", did you mean " + near + "?"
			}
			warnings = append(warnings, Warning{name, text})
		case row.Effect == Alias:
			if _, both := b.static[row.Alias]; !both {
				b.static[row.Alias] = b.static[name]
				warnings = append(warnings, Warning{name, "taken as " + row.Alias + ", which is the key's name"})
			} else {
				warnings = append(warnings, Warning{name, "ignored, since " + row.Alias + " is set too"})
			}
			delete(b.static, name)
		case row.Effect == Gone:
			warnings = append(warnings, Warning{name, "has no effect. " + row.Doc})
		case row.Effect == Inert && b.static[name] != row.Default:
			warnings = append(warnings, Warning{name, "is read and has no effect in this version"})
		}
	}
	return warnings
}

// isListenerKey reports listener.name.<listener>.<key> with a known key.
func (b *Broker) isListenerKey(name string) bool {
	rest, ok := strings.CutPrefix(name, "listener.name.")
	if !ok {
		return false
	}
	for i := range len(rest) {
		if rest[i] == '.' {
			if _, known := b.table.Row(rest[i+1:]); known {
				return true
			}
		}
	}
	return false
}

// fillLegacy turns host.name, port and their advertised pair into listeners, and lets broker.id and node.id agree.
func (b *Broker) fillLegacy() (warnings []Warning) {
	join := func(key, hostKey, portKey, port string) {
		host, hasHost := b.static[hostKey]
		p, hasPort := b.static[portKey]
		if !hasHost && !hasPort {
			return
		}
		if _, newer := b.static[key]; newer {
			warnings = append(warnings, Warning{hostKey, "ignored with " + portKey + ", since " + key + " is set"})
			return
		}
		if hasPort {
			port = p
		}
		b.static[key] = "PLAINTEXT://" + strings.TrimSpace(host) + ":" + strings.TrimSpace(port)
		warnings = append(warnings, Warning{hostKey, "with " + portKey + " taken as " + key + "=" + b.static[key]})
	}
	join("listeners", "host.name", "port", "9092")
	port := "9092"
	if p, ok := b.static["port"]; ok {
		port = p
	}
	join("advertised.listeners", "advertised.host.name", "advertised.port", port)
	broker, hasBroker := b.static["broker.id"]
	node, hasNode := b.static["node.id"]
	switch {
	case hasBroker && !hasNode:
		b.static["node.id"] = broker
	case hasNode && !hasBroker:
		b.static["broker.id"] = node
	}
	return warnings
}
