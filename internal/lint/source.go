package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const module = "github.com/pelton-broker/pelton"

// Source is one parsed file of the tree.
type Source struct {
	Path string // from the root, with slashes
	Dir  string // the package, from the root
	Test bool
	File *ast.File
	Set  *token.FileSet
	Text string
}

// Line is where a node stands, as path:line.
func (s *Source) Line(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.Path, s.Set.Position(n.Pos()).Line)
}

// Imports lists the import paths.
func (s *Source) Imports() []string {
	var out []string
	for _, i := range s.File.Imports {
		out = append(out, strings.Trim(i.Path.Value, `"`))
	}
	return out
}

// Tree parses every Go file below root that belongs to the module: no testdata, no nested modules, no generated files.
func Tree(root string) ([]*Source, error) {
	var list []*Source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(root, path, d.Name())
		}
		if !strings.HasSuffix(path, ".go") || strings.HasPrefix(d.Name(), "zz_") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		dir := "."
		if i := strings.LastIndexByte(rel, '/'); i >= 0 {
			dir = rel[:i]
		}
		list = append(list, &Source{Path: rel, Dir: dir, Test: strings.HasSuffix(rel, "_test.go"), File: file, Set: set, Text: string(text)})
		return nil
	})
	return list, err
}

func skipDir(root, path, name string) error {
	if path == root {
		return nil
	}
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir // a module of its own
	}
	return nil
}

// Under reports whether dir is one of the packages or below one that ends in /...
func Under(dir string, packages ...string) bool {
	for _, p := range packages {
		if base, deep := strings.CutSuffix(p, "/..."); dir == base || deep && strings.HasPrefix(dir, base+"/") {
			return true
		}
	}
	return false
}
