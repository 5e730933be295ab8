package group

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScripts runs testdata/*.txt. A script is a list of blocks: lines of commands, then ----, then what they print,
// then an empty line. go test -rewrite puts what is printed now in place of what was expected.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScript(t, file) })
	}
}

var rewrite = flag.Bool("rewrite", false, "rewrite the expected output of the scripts")

func runScript(t *testing.T, file string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w := newScriptWorld(t)
	var out strings.Builder
	for _, b := range parseScript(string(raw)) {
		out.WriteString(b.text)
		if len(b.commands) == 0 {
			continue
		}
		w.out.Reset()
		for _, c := range b.commands {
			w.run(c)
		}
		got := w.out.String()
		if !*rewrite && got != b.want {
			t.Errorf("%s:%d\n%s---- got\n%s---- want\n%s", file, b.line, strings.Join(b.commands, "\n")+"\n", got, b.want)
		}
		out.WriteString("----\n" + got)
	}
	if *rewrite && !t.Failed() {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// scriptBlock is a run of comments and empty lines, or commands with what they print.
type scriptBlock struct {
	line     int
	text     string // as it stands in the file, without ---- and what follows
	commands []string
	want     string
}

func parseScript(s string) []scriptBlock {
	var blocks []scriptBlock
	var b scriptBlock
	flush := func() {
		if b.text != "" {
			blocks = append(blocks, b)
		}
		b = scriptBlock{}
	}
	expecting := false
	for i, line := range strings.SplitAfter(s, "\n") {
		bare := strings.TrimSuffix(line, "\n")
		switch {
		case expecting && bare != "":
			b.want += line
		case bare == "----":
			expecting = true
		case bare == "":
			expecting = false
			flush()
			b.text = line
			flush()
		default:
			if b.text == "" {
				b.line = i + 1
			}
			b.text += line
			if !strings.HasPrefix(bare, "#") {
				b.commands = append(b.commands, bare)
			}
		}
	}
	flush()
	return blocks
}

// scriptArgs are the words of a command: name, first plain words, key=value.
type scriptArgs struct {
	t     *testing.T
	line  string
	plain []string
	named map[string]string
}

func parseArgs(t *testing.T, line string) (string, *scriptArgs) {
	words := strings.Fields(line)
	a := &scriptArgs{t: t, line: line, named: map[string]string{}}
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			a.named[k] = v
		} else {
			a.plain = append(a.plain, w)
		}
	}
	return words[0], a
}

func (a *scriptArgs) at(i int) string {
	if i >= len(a.plain) {
		a.t.Fatalf("%q: word %d is missing", a.line, i)
	}
	return a.plain[i]
}

func (a *scriptArgs) has(word string) bool {
	for _, p := range a.plain {
		if p == word {
			return true
		}
	}
	return false
}

func (a *scriptArgs) str(name, def string) string {
	if v, ok := a.named[name]; ok {
		return v
	}
	return def
}

func (a *scriptArgs) opt(name string) *string {
	if v, ok := a.named[name]; ok {
		return &v
	}
	return nil
}

func (a *scriptArgs) num(name string, def int64) int64 {
	v, ok := a.named[name]
	if !ok {
		return def
	}
	var n int64
	if _, err := fmt.Sscan(v, &n); err != nil {
		a.t.Fatalf("%q: %s: %v", a.line, name, err)
	}
	return n
}
