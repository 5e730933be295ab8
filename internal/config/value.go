package config

import (
	"math"
	"strconv"
	"strings"
)

// Value is one parsed value. A key that is not set has set false and zero everywhere.
type Value struct {
	set  bool
	raw  string // as it was written
	text string // trimmed
	num  float64
	long int64
	flag bool
	list []string
}

// ValueError is returned for a value that its key does not allow. Its text is Kafka's.
type ValueError struct {
	Key, Value, Why string
}

// Error implements error.
func (e *ValueError) Error() string {
	return "Invalid value " + e.Value + " for configuration " + e.Key + ": " + e.Why
}

// InvalidError is returned for an unknown topic key, for values that contradict each other and for changes that a
// key does not allow. Its text is Kafka's.
type InvalidError struct{ Text string }

// Error implements error.
func (e *InvalidError) Error() string { return e.Text }

// Parse reads raw as a value of the row and checks its bounds.
func (r Row) Parse(raw string) (Value, error) {
	v, why := r.parse(raw)
	if why == "" && r.Valid != nil {
		why = r.Valid.Refuse(r, v)
	}
	if why == "" {
		return v, nil
	}
	shown := v.text
	if r.Kind == List {
		shown = "[" + strings.Join(v.list, ", ") + "]"
		if _, ok := r.Valid.(words); ok {
			shown = firstRefused(r, v)
		}
	}
	if r.Sensitive() {
		shown = "[hidden]"
	}
	return Value{}, &ValueError{Key: r.Name, Value: shown, Why: why}
}

// firstRefused is the entry of a list that is not allowed: Kafka names that one and not the list.
func firstRefused(r Row, v Value) string {
	one := r
	one.Kind = String
	for _, e := range v.list {
		if r.Valid.Refuse(one, Value{text: e}) != "" {
			return e
		}
	}
	return v.text
}

func (r Row) parse(raw string) (v Value, why string) {
	v = Value{set: true, raw: raw, text: strings.TrimSpace(raw)}
	switch r.Kind {
	case Bool:
		v.flag = strings.EqualFold(v.text, "true")
		if !v.flag && !strings.EqualFold(v.text, "false") {
			return v, "Expected value to be either true or false"
		}
	case Short, Int, Long:
		bits := map[Kind]int{Short: 16, Int: 32, Long: 64}[r.Kind]
		n, err := strconv.ParseInt(v.text, 10, bits)
		if err != nil {
			return v, "Not a number of type " + strings.ToUpper(r.Kind.String())
		}
		v.long, v.num = n, float64(n)
	case Double:
		f, err := strconv.ParseFloat(v.text, 64)
		if err != nil || math.IsNaN(f) {
			return v, "Not a number of type DOUBLE"
		}
		v.num = f
	case List:
		v.list = splitList(v.text)
	case String, Class, Password, Unknown:
	}
	return v, ""
}

// splitList cuts at commas and trims the entries; an empty text is an empty list.
func splitList(s string) []string {
	if s == "" {
		return nil
	}
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// render is the value as DescribeConfigs shows it: parsed and printed again, so that " 7 " is 7 and TRUE is true.
func (r Row) render(v Value) string {
	switch r.Kind {
	case Bool:
		return strconv.FormatBool(v.flag)
	case Short, Int, Long:
		return strconv.FormatInt(v.long, 10)
	case Double:
		return JavaDouble(v.num)
	case List:
		return strings.Join(v.list, ",")
	case Unknown, String, Class, Password:
	}
	return v.text
}

// JavaDouble prints a number as Java's Double.toString does: with a point, however whole it is. Kafka answers and stores it so.
func JavaDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); f == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	s := strconv.FormatFloat(f, 'E', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	sign := ""
	if exponent[0] == '-' {
		sign = "-"
	}
	return mantissa + "E" + sign + strings.TrimLeft(exponent[1:], "0")
}
