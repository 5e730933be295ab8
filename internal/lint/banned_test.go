package lint

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// ban is a call that has one home.
type ban struct {
	pkg     string   // import path
	names   string   // regular expression of the names
	places  []string // where it may stand
	instead string
}

func bans() []ban {
	outside := []string{"cmd/...", "perf/load/...", "perf/lab/...", "benchmarks/...", "internal/interop/...", "internal/tools/...", "internal/lint", "internal/script"}
	with := func(more ...string) []string { return append(more, outside...) }
	return []ban{
		{"time", "^(Now|Since|Until|Sleep|Tick)$", with("internal/clock", "internal/task", "internal/disk"), "take a clock.Clock"},
		// Waiting off the shards: coordination, its client, the stop of the server.
		{"time", "^(After|AfterFunc|NewTicker|NewTimer)$", with("internal/clock", "internal/task", "zk/...", "controller/run", "reactor"), "use a timer of the shard's wheel"},
		{"math/rand", ".", with("internal/clock"), "take the randomness through the constructor"},
		{"math/rand/v2", ".", with("internal/clock"), "take the randomness through the constructor"},
		{"os", "^(Open|OpenFile|OpenRoot|Create|CreateTemp|ReadFile|WriteFile|Mkdir|MkdirAll|MkdirTemp|Remove|RemoveAll|Rename|ReadDir|Stat|Lstat|Truncate|Link|Symlink)$", with("internal/disk", "internal/uring/mounts"), "go through disk.FS"},
		{"os", "^Exit$", []string{"cmd/...", "benchmarks/...", "internal/tools/..."}, "return an error"},
		{"fmt", "^(Print|Printf|Println)$", []string{"benchmarks/...", "internal/tools/..."}, "print to the writer that was handed in"},
		{"log/slog", "^(Debug|Info|Warn|Error|Default|SetDefault)(Context)?$", nil, "use the logger that was handed in"},
		{"net/http", "^(Get|Post|Head|DefaultClient|ListenAndServe|Handle|HandleFunc|DefaultServeMux)$", []string{"benchmarks/..."}, "make a client or a server of your own"},
	}
}

func TestCallsStayAtHome(t *testing.T) {
	list := bans()
	names := make([]*regexp.Regexp, len(list))
	for i, b := range list {
		names[i] = regexp.MustCompile(b.names)
	}
	for _, s := range tree(t) {
		if s.Test {
			continue
		}
		local := localNames(s)
		ast.Inspect(s.File, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok || id.Obj != nil {
				return true
			}
			for i, b := range list {
				if local[id.Name] == b.pkg && names[i].MatchString(sel.Sel.Name) && !Under(s.Dir, b.places...) {
					t.Errorf("%s: %s.%s is banned here; %s", s.Line(n), id.Name, sel.Sel.Name, b.instead)
				}
			}
			return true
		})
	}
}

// localNames maps the names that a file knows packages by to their paths.
func localNames(s *Source) map[string]string {
	out := map[string]string{}
	for _, i := range s.File.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if path == "math/rand/v2" {
			name = "rand"
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		out[name] = path
	}
	return out
}

func TestGoroutinesHaveAnOwner(t *testing.T) {
	for _, s := range tree(t) {
		if s.Test || Under(s.Dir, "cmd/...", "internal/task", "benchmarks/...", "perf/load/...", "perf/lab/...", "internal/interop/...") || s.Path == "reactor/server.go" {
			continue
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a bare go statement; start it by a task.Group", s.Line(n))
			}
			return true
		})
	}
}

func TestPanicsGoThroughInvariant(t *testing.T) {
	for _, s := range tree(t) {
		if s.Test || s.Dir == "internal/invariant" {
			continue
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" && id.Obj == nil {
					t.Errorf("%s: a plain panic; use invariant.Broken for our own bugs, return an error for everything else", s.Line(n))
				}
			}
			return true
		})
	}
}

func TestNoInitAndNoGlobals(t *testing.T) {
	for _, s := range tree(t) {
		if s.Test {
			continue
		}
		for _, d := range s.File.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					t.Errorf("%s: func init; build it in a constructor", s.Line(d))
				}
			case *ast.GenDecl:
				if d.Tok != token.VAR {
					continue
				}
				for _, spec := range d.Specs {
					checkGlobal(t, s, spec.(*ast.ValueSpec))
				}
			}
		}
	}
}

// checkGlobal allows error sentinels, interface checks, embedded files and arrays of constants: things that nobody changes.
func checkGlobal(t *testing.T, s *Source, v *ast.ValueSpec) {
	t.Helper()
	for i, name := range v.Names {
		sentinel := strings.HasPrefix(strings.ToLower(name.Name), "err")
		if name.Name == "_" || sentinel || strings.Contains(s.Text, "//go:embed") {
			continue
		}
		if i < len(v.Values) && isConstantTable(v.Values[i]) {
			continue
		}
		t.Errorf("%s: package-level variable %s; hand it in, or make it a function or a constant", s.Line(v), name.Name)
	}
}

// isConstantTable is an array literal, or the result of a function that makes a fixed value: regexp.MustCompile, crc32.MakeTable.
func isConstantTable(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit:
		_, array := e.Type.(*ast.ArrayType)
		return array
	case *ast.CallExpr:
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok {
			return sel.Sel.Name == "MustCompile" || sel.Sel.Name == "MakeTable"
		}
	}
	return false
}

func TestNothingIsLeftForLater(t *testing.T) {
	word := regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	for _, s := range tree(t) {
		if s.Dir == "internal/lint" {
			continue
		}
		for _, group := range s.File.Comments {
			for _, c := range group.List {
				if word.MatchString(c.Text) {
					t.Errorf("%s: %s", s.Line(c), strings.TrimSpace(c.Text))
				}
			}
		}
	}
}

// A package's refusals stand together in its errors.go, once it has one.
func TestSentinelsStandTogether(t *testing.T) {
	sources := tree(t)
	has := map[string]bool{}
	for _, s := range sources {
		has[s.Dir] = has[s.Dir] || strings.HasSuffix(s.Path, "/errors.go")
	}
	sentinel := regexp.MustCompile(`(?m)^(?:var |\t)(Err[A-Z]\w*) += errors\.New\(`)
	found := 0
	for _, s := range sources {
		for _, m := range sentinel.FindAllStringSubmatch(s.Text, -1) {
			switch {
			case s.Test || !has[s.Dir]:
			case strings.HasSuffix(s.Path, "/errors.go"):
				found++
			default:
				t.Errorf("%s: %s belongs into errors.go", s.Path, m[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d sentinels in all: this test sees nothing", found)
	}
}

func TestNoSleepsInTests(t *testing.T) {
	for _, s := range tree(t) {
		if !s.Test {
			continue
		}
		local := localNames(s)
		ast.Inspect(s.File, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
				if id, ok := sel.X.(*ast.Ident); ok && local[id.Name] == "time" {
					t.Errorf("%s: time.Sleep in a test; wait for what you wait for", s.Line(n))
				}
			}
			return true
		})
	}
}
