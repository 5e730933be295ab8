// Package lint holds the rules of the tree as tests.
//
// Owns: the arrows between packages, the sizes of files and functions, the banned words and calls, the headings of each
// package's doc.go; and allow.txt, the list of exceptions that may only shrink.
// Callers: go test; nothing imports it.
// Thread: none.
// Never: builds or runs the code it looks at; it reads source files, so it works on a tree that does not compile.
// Fails: a test names file, line, rule and what to do.
package lint
