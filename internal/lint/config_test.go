package lint

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/config"
)

// keysRead collects the string literals of the product's code below some folders, the table's own rows left out.
func keysRead(t *testing.T, below ...string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, s := range tree(t) {
		if s.Test || !Under(s.Dir, below...) || strings.HasPrefix(s.Path, "internal/config/rows_") {
			continue
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					out[text] = true
				}
			}
			return true
		})
	}
	return out
}

// A key that is said to act must be read by somebody, and one that is said to have no effect by nobody, or the warning
// at the start and docs/CONFIG.md tell tales.
func TestKeysDoWhatTheTableSays(t *testing.T) {
	read := keysRead(t, "cmd/...", "reactor/...", "internal/config")
	wired := keysRead(t, "cmd/pelton/broker", "reactor/...")
	covers := map[string]bool{} // broker keys that a topic's key falls back to
	for _, r := range config.TopicTable().Rows() {
		if r.Effect == config.Acts && r.Broker != "" {
			covers[r.Broker] = true
		}
		if r.Effect == config.Acts && !read[r.Name] {
			t.Errorf("topic key %s acts, says the table, but nobody reads it; wire it or mark it Inert", r.Name)
		}
		if r.Effect == config.Inert && wired[r.Name] {
			t.Errorf("topic key %s is read now; take Inert off its row", r.Name)
		}
	}
	for _, r := range config.BrokerTable().Rows() {
		if r.Effect == config.Acts && !read[r.Name] && !covers[r.Name] {
			t.Errorf("key %s acts, says the table, but nobody reads it; wire it or mark it Inert", r.Name)
		}
		if r.Effect == config.Inert && wired[r.Name] {
			if _, topic := config.TopicTable().Row(r.Name); !topic {
				t.Errorf("key %s is read now; take Inert off its row", r.Name)
			}
		}
	}
}
