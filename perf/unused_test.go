package perf

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// metricConstants are the names of all IDs in table.go.
func metricConstants(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "table.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		kind, ok := g.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident)
		if !ok || !strings.HasSuffix(kind.Name, "ID") {
			continue
		}
		for _, s := range g.Specs {
			if n := s.(*ast.ValueSpec).Names[0].Name; !strings.HasPrefix(n, "num") {
				names = append(names, n)
			}
		}
	}
	return names
}

// A metric that nobody counts is a promise that nobody keeps. testdata/unwired.txt lists those that
// still wait for their owner; it may only shrink.
func TestTableHasNoUnusedMetric(t *testing.T) {
	names := metricConstants(t)
	if len(names) != int(numIDs)+int(numHistIDs)+int(numReadIDs) {
		t.Fatalf("%d names found in table.go, there are %d metrics", len(names), int(numIDs)+int(numHistIDs)+int(numReadIDs))
	}
	used := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "perf" {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if f == nil || f.Name == nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "perf" {
					used[s.Sel.Name] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join("testdata", "unwired.txt"))
	if err != nil {
		t.Fatal(err)
	}
	waiting := strings.Fields(string(b))
	for _, n := range names {
		switch {
		case !used[n] && !slices.Contains(waiting, n):
			t.Errorf("nobody counts perf.%s", n)
		case used[n] && slices.Contains(waiting, n):
			t.Logf("perf.%s is counted now: take it off testdata/unwired.txt", n)
		}
	}
	for _, n := range waiting {
		if !slices.Contains(names, n) {
			t.Errorf("testdata/unwired.txt names %s, which is no metric", n)
		}
	}
}
