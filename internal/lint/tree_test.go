package lint

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// root is the top of the tree that the test runs in.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module "+module+"\n") {
			return dir
		}
	}
	t.Fatal("no go.mod above this test")
	return ""
}

// parsed is the tree, read once for all tests.
var parsed = sync.OnceValues(func() ([]*Source, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return Tree(filepath.Join(dir, "..", ".."))
})

func tree(t *testing.T) []*Source {
	t.Helper()
	list, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 20 {
		t.Fatalf("only %d files were found", len(list))
	}
	return list
}

// allowed reads allow.txt: "rule path[:name] number   reason". It may only get shorter.
func allowed(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("allow.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 4 {
			t.Fatalf("allow.txt: %q is not: rule place number reason", line)
		}
		out[f[0]+" "+f[1]] = f[2]
	}
	return out
}
