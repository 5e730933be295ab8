package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// The one function that will say no is on the way of every request: of the slow path before its handler, of the hot ones for each topic.
func TestAuthorizeIsOnEveryPath(t *testing.T) {
	for _, place := range []struct{ file, function string }{
		{"broker.go", "onSlow"}, {"00_produce.go", "locate"}, {"fetch_session.go", "add"},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), place.file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		asks := false
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != place.function {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					id, named := call.Fun.(*ast.Ident)
					asks = asks || named && id.Name == "authorize"
				}
				return true
			})
		}
		if !asks {
			t.Errorf("%s: %s does not ask authorize", place.file, place.function)
		}
	}
}
