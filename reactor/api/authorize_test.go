package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// The one function that will say no is on the way of every request: of the slow path before its handler, of the hot ones for each topic.
func TestAuthorizeIsOnEveryPath(t *testing.T) {
	for _, place := range []struct {
		file, function string
		calls          int
	}{
		{"broker.go", "onSlow", 1}, {"00_produce.go", "locate", 2} /* topics by name and by id */, {"fetch_session.go", "add", 1},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), place.file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		asks := 0
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != place.function {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					id, named := call.Fun.(*ast.Ident)
					if named && id.Name == "authorize" {
						asks++
					}
				}
				return true
			})
		}
		if asks != place.calls {
			t.Errorf("%s: %s asks authorize %d times, it has %d ways to a topic", place.file, place.function, asks, place.calls)
		}
	}
}
