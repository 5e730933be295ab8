package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mutant whose text is not in the code exactly once would end the run halfway: the list follows the code.
func TestListFollowsTheCode(t *testing.T) {
	for _, m := range list() {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), m.old); n != 1 {
			t.Errorf("%s: %q is %d times in %s, not once", m.name, m.old, n, m.file)
		}
		if m.old == m.new {
			t.Errorf("%s changes nothing", m.name)
		}
	}
}

// The bugs that the storage engine is held against by name are all there.
func TestListHasEveryKind(t *testing.T) {
	for _, kind := range []string{"fsync skipped", "index off by one", "sequence window wrong", "recovery one batch short", "checkpoint before data",
		"torn batch accepted", "tombstone removed early", "LSO ahead"} {
		found := false
		for _, m := range list() {
			found = found || strings.HasPrefix(m.name, kind+":")
		}
		if !found {
			t.Errorf("no mutant of the kind %q", kind)
		}
	}
}
