package server

import (
	"encoding/json"
	"fmt"
	"strings"
)

// field and object are a JSON object that keeps its order.
type field struct {
	name  string
	value any
}

type object []field

// appendPretty writes v in the layout of Apache's admin server, which scripts cut with simple tools. Values are objects, lists, texts,
// numbers, truths and nil.
func appendPretty(b *strings.Builder, v any, indent string) {
	switch v := v.(type) {
	case object:
		if len(v) == 0 {
			b.WriteString("{ }")
			return
		}
		for i, f := range v {
			if i == 0 {
				b.WriteString("{\n")
			} else {
				b.WriteString(",\n")
			}
			b.WriteString(indent + "  " + quoted(f.name) + " : ")
			appendPretty(b, f.value, indent+"  ")
		}
		b.WriteString("\n" + indent + "}")
	case []any:
		if len(v) == 0 {
			b.WriteString("[ ]")
			return
		}
		for i, e := range v {
			if i == 0 {
				b.WriteString("[ ")
			} else {
				b.WriteString(", ")
			}
			appendPretty(b, e, indent)
		}
		b.WriteString(" ]")
	case string:
		b.WriteString(quoted(v))
	case float64:
		if v != v {
			b.WriteString(`"NaN"`)
			return
		}
		b.WriteString(javaDouble(v))
	case nil:
		b.WriteString("null")
	default:
		fmt.Fprint(b, v)
	}
}

func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
