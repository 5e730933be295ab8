package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func readLines(t *testing.T, in io.Reader) []string {
	t.Helper()
	l := newLineReader(in)
	var out []string
	for {
		line, err := l.next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line))
	}
}

func TestLineReaderCuts(t *testing.T) {
	long := strings.Repeat("x", 3*lineBlock)
	cases := map[string]struct {
		text string
		want []string
	}{
		"empty":        {"", nil},
		"one":          {"a\n", []string{"a"}},
		"no-newline":   {"a\nb", []string{"a", "b"}},
		"empty-lines":  {"\n\na\n\n", []string{"", "", "a", ""}},
		"carriage":     {"a\r\nb\r\n", []string{"a\r", "b\r"}},
		"over-a-block": {long + "\n" + long + "\nend\n", []string{long, long, "end"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(c.text), iotest.HalfReader(strings.NewReader(c.text)), iotest.DataErrReader(strings.NewReader(c.text))} {
				got := readLines(t, in)
				if strings.Join(got, "|") != strings.Join(c.want, "|") || len(got) != len(c.want) {
					t.Fatalf("got %d lines, want %d", len(got), len(c.want))
				}
			}
		})
	}
}

// Lines are kept until their records are delivered, so later reading must not write over them.
func TestLineReaderKeepsOldLines(t *testing.T) {
	var text bytes.Buffer
	for i := range 200000 {
		text.WriteString(strings.Repeat(string(rune('a'+i%26)), 20) + "\n")
	}
	l := newLineReader(&text)
	var kept [][]byte
	for {
		line, err := l.next()
		if err != nil {
			break
		}
		kept = append(kept, line)
	}
	for i, line := range kept {
		if want := strings.Repeat(string(rune('a'+i%26)), 20); string(line) != want {
			t.Fatalf("line %d is %q now, was %q", i, line, want)
		}
	}
	if len(kept) != 200000 {
		t.Fatalf("%d lines", len(kept))
	}
}

func TestLineReaderPassesErrorsOn(t *testing.T) {
	l := newLineReader(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	if line, err := l.next(); string(line) != "a" || err != nil {
		t.Fatalf("first line %q, %v", line, err)
	}
	if _, err := l.next(); err != io.ErrUnexpectedEOF {
		t.Fatalf("half a line before an error: %v", err)
	}
}
