package config

import "strings"

// Kind is the form of a value, numbered as DescribeConfigs numbers it.
type Kind int8

// The kinds of value.
const (
	Unknown  Kind = 0 // only of keys that are in no table
	Bool     Kind = 1
	String   Kind = 2
	Int      Kind = 3
	Short    Kind = 4
	Long     Kind = 5
	Double   Kind = 6
	List     Kind = 7
	Class    Kind = 8
	Password Kind = 9
)

// String is Kafka's word for the kind.
func (k Kind) String() string {
	words := [...]string{"unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password"}
	if k < 0 || int(k) >= len(words) {
		return words[0]
	}
	return words[k]
}

// Update says how a key may change while the broker runs.
type Update uint8

// The update modes.
const (
	ReadOnly    Update = iota // by a restart only
	PerBroker                 // by request, for one broker
	ClusterWide               // by request, for one broker or for all
)

// String is Kafka's word for the mode.
func (u Update) String() string {
	switch u {
	case PerBroker:
		return "per-broker"
	case ClusterWide:
		return "cluster-wide"
	case ReadOnly:
	}
	return "read-only"
}

// Effect says what Pelton does with a key.
type Effect uint8

// The effects.
const (
	Acts    Effect = iota // the value is used
	Inert                 // read and shown, not used: a warning when it is set
	Refused               // a value other than the default refuses to start, since ignoring it would be unsafe
	Alias                 // an old or mistaken spelling of Row.Alias: used as that, with a warning
	Gone                  // a key of an older Kafka without a meaning today: a warning
)

// None is the default of a key that is not set by default, which is not the same as set to nothing.
const None = "\x00none"

// Row is one configuration key.
type Row struct {
	Name    string
	Kind    Kind
	Default string // None: not set
	Valid   Valid  // nil: every value of the kind
	Update  Update
	Effect  Effect
	Alias   string // for Effect Alias: the key that is meant
	Broker  string // of a topic key: the broker key that it falls back to
	Doc     string
}

// Sensitive reports whether the value must never be shown.
func (r Row) Sensitive() bool { return r.Kind == Password || r.Kind == Unknown }

// Unit is what the number counts, or nothing; Kafka's names carry it at their end.
func (r Row) Unit() string {
	if r.Kind == Bool || r.Kind == String || r.Kind == List {
		return ""
	}
	for _, u := range [...]string{"ms", "us", "seconds", "secs", "minutes", "hours", "bytes"} {
		if strings.HasSuffix(r.Name, "."+u) {
			return u
		}
	}
	return ""
}

// shown is the default as documentation and errors print it.
func (r Row) shown() string {
	switch r.Default {
	case None:
		return "not set"
	case "":
		return "empty"
	}
	return r.Default
}
