package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Valid decides which values of a kind are allowed. Refuse returns the reason in Kafka's words, or nothing.
type Valid interface {
	Refuse(r Row, v Value) string
	String() string
}

// span bounds a number; also is one more value that is allowed outside.
type span struct {
	min, max, also float64
	hasMax         bool
	hasAlso        bool
}

func atLeast(min float64) Valid      { return span{min: min} }
func between(min, max float64) Valid { return span{min: min, max: max, hasMax: true} }

// Refuse implements Valid.
func (s span) Refuse(_ Row, v Value) string {
	switch {
	case s.hasAlso && v.num != s.also && (v.num < s.min || s.hasMax && v.num > s.max):
		return "Value must be between " + number(s.min) + " and " + number(s.max) + " or equal to " + number(s.also)
	case s.hasAlso:
		return ""
	case v.num < s.min:
		return "Value must be at least " + number(s.min)
	case s.hasMax && v.num > s.max:
		return "Value must be no more than " + number(s.max)
	}
	return ""
}

// String implements Valid.
func (s span) String() string {
	text := "at least " + number(s.min)
	if s.hasMax {
		text = number(s.min) + " to " + number(s.max)
	}
	if s.hasAlso {
		text += ", or " + number(s.also)
	}
	return text
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// words allows some words; each entry of a list must be one of them.
type words []string

func oneOf(allowed ...string) Valid { return words(allowed) }

// Refuse implements Valid.
func (w words) Refuse(r Row, v Value) string {
	entries := []string{v.text}
	if r.Kind == List {
		entries = v.list
	}
	for _, e := range entries {
		if !slices.Contains(w, e) {
			return "String must be one of: " + strings.Join(w, ", ")
		}
	}
	return ""
}

// String implements Valid.
func (w words) String() string { return "one of " + strings.Join(w, ", ") }

// nonEmpty allows every text but the empty one.
type nonEmpty struct{}

// Refuse implements Valid.
func (nonEmpty) Refuse(_ Row, v Value) string {
	if v.set && v.text == "" {
		return "String must be non-empty"
	}
	return ""
}

// String implements Valid.
func (nonEmpty) String() string { return "not empty" }

// throttled allows * or a list of partition:broker.
type throttled struct{}

// Refuse implements Valid.
func (throttled) Refuse(r Row, v Value) string {
	if len(v.list) == 1 && v.list[0] == "*" {
		return ""
	}
	for _, e := range v.list {
		p, b, ok := strings.Cut(e, ":")
		if !ok || !digits(p) || !digits(b) {
			return r.Name + " must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
		}
	}
	return ""
}

// String implements Valid.
func (throttled) String() string { return "* or partition:broker,..." }

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// version allows the names of Kafka's releases and of the steps between them: 2.8, 2.8.1, 2.8-IV1, 0.10.2-IV0.
type version struct{}

// Refuse implements Valid.
func (version) Refuse(_ Row, v Value) string {
	if _, ok := ParseVersion(v.text); !ok {
		return "Version " + v.text + " is not a valid version"
	}
	return ""
}

// String implements Valid.
func (version) String() string { return "a Kafka version, 0.8.0 to 4.0-IV1" }

// Version is a Kafka release line with its step, comparable by Less.
type Version struct{ Major, Minor, Step int }

// Less orders versions by age.
func (v Version) Less(o Version) bool {
	if v.Major != o.Major {
		return v.Major < o.Major
	}
	if v.Minor != o.Minor {
		return v.Minor < o.Minor
	}
	return v.Step < o.Step
}

// ParseVersion reads a version as inter.broker.protocol.version writes it. Before 1.0 the line has three numbers
// (0.10.2 is Major 0, Minor 1002); a name without a step means the line's last one.
func ParseVersion(s string) (Version, bool) {
	m := regexp.MustCompile(`^(\d)\.(\d{1,2})(?:\.(\d{1,2}))?(?:\.\d{1,2})?(?:-IV(\d))?$`).FindStringSubmatch(s)
	if m == nil {
		return Version{}, false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major == 0 {
		if m[3] == "" {
			m[3] = "0"
		}
		patch, _ := strconv.Atoi(m[3])
		minor = minor*100 + patch
	}
	last, ok := lastStep(major, minor)
	if !ok {
		return Version{}, false
	}
	if m[4] == "" {
		return Version{Major: major, Minor: minor, Step: last}, true
	}
	step, _ := strconv.Atoi(m[4])
	return Version{Major: major, Minor: minor, Step: step}, step <= last && !(major == 0 && minor < 1000)
}

// lastStep is the highest IV number of a release line.
func lastStep(major, minor int) (int, bool) {
	steps := map[[2]int]int{
		{0, 800}: 0, {0, 801}: 0, {0, 802}: 0, {0, 900}: 0, {0, 1000}: 1, {0, 1001}: 2, {0, 1002}: 0, {0, 1100}: 2,
		{1, 0}: 0, {1, 1}: 0, {2, 0}: 1, {2, 1}: 2, {2, 2}: 1, {2, 3}: 1, {2, 4}: 1, {2, 5}: 0, {2, 6}: 0, {2, 7}: 2, {2, 8}: 1,
		{3, 0}: 1, {3, 1}: 0, {3, 2}: 0, {3, 3}: 3, {3, 4}: 0, {3, 5}: 2, {3, 6}: 2, {3, 7}: 4, {3, 8}: 0, {3, 9}: 0, {4, 0}: 1,
	}
	last, ok := steps[[2]int{major, minor}]
	return last, ok
}
