package config

import "sort"

// Source says which layer a value comes from, numbered as DescribeConfigs numbers it.
type Source int8

// The sources.
const (
	FromTopic          Source = 1
	FromDynamicBroker  Source = 2
	FromDynamicDefault Source = 3
	FromStatic         Source = 4
	FromDefault        Source = 5
)

// Synonym is one layer's value of a key or of a key that it falls back to, strongest first.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// Entry is one key as DescribeConfigs shows it.
type Entry struct {
	Name      string
	Value     *string // nil: not set, or not to be shown
	Source    Source
	Synonyms  []Synonym
	Kind      Kind
	ReadOnly  bool
	Sensitive bool
	Doc       string
}

// DescribeBroker lists the keys of this broker; no names means all, else only those.
func (b *Broker) DescribeBroker(names []string) []Entry {
	var out []Entry
	for _, name := range b.shownNames() {
		if wanted(names, name) {
			out = append(out, b.describe(name))
		}
	}
	return out
}

// DescribeDefault lists the dynamic keys that are set for every broker.
func (b *Broker) DescribeDefault(names []string) []Entry {
	var out []Entry
	for _, name := range sortedKeys(b.dynamicDefault) {
		if !wanted(names, name) {
			continue
		}
		e := b.describe(name)
		row, _ := b.table.Row(name)
		kept := e.Synonyms[:0:0]
		for _, s := range e.Synonyms {
			if s.Source == FromDynamicDefault {
				kept = append(kept, s)
			}
		}
		e.Synonyms, e.Source = kept, FromDynamicDefault
		if v, err := row.Parse(b.dynamicDefault[name]); err == nil && !e.Sensitive {
			text := row.render(v)
			e.Value = &text
		}
		out = append(out, e)
	}
	return out
}

// shownNames are the rows that mean something, and whatever else was given.
func (b *Broker) shownNames() []string {
	seen := map[string]bool{}
	for _, r := range b.table.rows {
		old := r.Effect == Alias || r.Effect == Gone || r.Default == None && b.isLegacy(r.Name)
		if !old {
			seen[r.Name] = true
		}
	}
	for _, layer := range [...]map[string]string{b.dynamicBroker, b.dynamicDefault, b.static} {
		for name := range layer {
			seen[name] = true
		}
	}
	names := make([]string, 0, len(seen))
	for n := range seen {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

func (b *Broker) isLegacy(name string) bool {
	switch name {
	case "port", "host.name", "advertised.port", "advertised.host.name":
		return true
	}
	return false
}

func (b *Broker) describe(name string) Entry {
	row, known := b.table.Row(name)
	e := Entry{Name: name, Kind: row.Kind, Doc: row.Doc, Sensitive: row.Sensitive(), ReadOnly: !known || row.Update == ReadOnly}
	if v := b.values[name]; v.set && !e.Sensitive {
		text := row.render(v)
		e.Value = &text
	}
	e.Synonyms = b.synonyms(name, e.Sensitive)
	e.Source = firstSource(e.Synonyms)
	return e
}

func firstSource(list []Synonym) Source {
	if len(list) == 0 {
		return FromDefault
	}
	return list[0].Source
}

// synonyms are the values of a key in all layers, strongest first. A key of a family (retention in ms, minutes, hours)
// shows the family's, but nothing that stands before its own first value: so Kafka does it.
func (b *Broker) synonyms(name string, sensitive bool) []Synonym {
	family := keyFamily(name)
	var all []Synonym
	add := func(layer map[string]string, source Source) {
		for _, n := range family {
			if raw, ok := layer[n]; ok {
				s := Synonym{Name: n, Source: source}
				if !sensitive {
					s.Value = &raw
				}
				all = append(all, s)
			}
		}
	}
	add(b.dynamicBroker, FromDynamicBroker)
	add(b.dynamicDefault, FromDynamicDefault)
	add(b.static, FromStatic)
	defaults := map[string]string{}
	for _, n := range family {
		if row, ok := b.table.Row(n); ok && row.Default != None && row.Effect != Alias && row.Effect != Gone {
			defaults[n] = row.Default
		}
	}
	add(defaults, FromDefault)
	for len(all) > 0 && all[0].Name != name {
		all = all[1:]
	}
	return all
}

// keyFamily are the keys that say the same in other units, strongest first.
func keyFamily(name string) []string {
	switch name {
	case "log.retention.ms", "log.retention.minutes", "log.retention.hours":
		return []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"}
	case "log.roll.ms", "log.roll.hours":
		return []string{"log.roll.ms", "log.roll.hours"}
	case "log.roll.jitter.ms", "log.roll.jitter.hours":
		return []string{"log.roll.jitter.ms", "log.roll.jitter.hours"}
	}
	return []string{name}
}

// Describe lists the keys of the topic; no names means all, else only those.
func (t *Topic) Describe(names []string) []Entry {
	var out []Entry
	for _, row := range t.broker.topics.rows {
		if !wanted(names, row.Name) {
			continue
		}
		text := row.render(t.values[row.Name])
		e := Entry{Name: row.Name, Value: &text, Kind: row.Kind, Doc: row.Doc}
		if _, own := t.set[row.Name]; own {
			e.Synonyms = append(e.Synonyms, Synonym{Name: row.Name, Value: &text, Source: FromTopic})
		}
		if row.Broker != "" {
			e.Synonyms = append(e.Synonyms, t.broker.synonyms(row.Broker, false)...)
		}
		e.Source = firstSource(e.Synonyms)
		out = append(out, e)
	}
	return out
}

// wanted takes no names for all names, as Kafka does for a null list and for an empty one.
func wanted(names []string, name string) bool {
	if len(names) == 0 {
		return true
	}
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
