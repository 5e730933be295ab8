package lint

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"
	"testing"
)

const (
	fileMax     = 700
	testFileMax = 900
	functionMax = 70
	testMax     = 120 // a test function is mostly its table
)

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	allow := allowed(t)
	used := map[string]bool{}
	check := func(rule, place string, size, most int, what string) {
		key := rule + " " + place
		limit, listed := allow[key]
		used[key] = listed
		switch {
		case listed && size <= most:
			t.Errorf("allow.txt: %s keeps the rule now (%d); take the line away", key, size)
		case listed && limit != strconv.Itoa(size):
			if n, _ := strconv.Atoi(limit); size > n {
				t.Errorf("%s: %s has %d lines, %s before; it may only shrink", place, what, size, limit)
			} else {
				t.Errorf("allow.txt: %s has %d lines now; lower the number", key, size)
			}
		case !listed && size > most:
			t.Errorf("%s: %s has %d lines, at most %d; split it (allow.txt is closed)", place, what, size, most)
		}
	}
	for _, s := range tree(t) {
		most, functionMost := fileMax, functionMax
		if s.Test {
			most, functionMost = testFileMax, testMax
		}
		check("file", s.Path, strings.Count(s.Text, "\n"), most, "the file")
		for _, d := range s.File.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				size := s.Set.Position(f.End()).Line - s.Set.Position(f.Pos()).Line + 1
				check("function", s.Path+":"+functionName(f), size, functionMost, "the function")
			}
		}
	}
	for key := range allow {
		if _, ok := used[key]; !ok {
			t.Errorf("allow.txt: there is no %s; take the line away", key)
		}
	}
}

func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	kind := f.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	if generic, ok := kind.(*ast.IndexExpr); ok {
		kind = generic.X
	}
	return fmt.Sprintf("%v.%s", kind, f.Name.Name)
}

func TestFilesAreNamedForWhatTheyOwn(t *testing.T) {
	for _, s := range tree(t) {
		base := s.Path[strings.LastIndexByte(s.Path, '/')+1:]
		for _, bad := range [...]string{"util", "utils", "helper", "helpers", "common", "types", "misc"} {
			if base == bad+".go" || base == bad+"_test.go" {
				t.Errorf("%s: name the file after the type or the job it holds", s.Path)
			}
		}
	}
}
