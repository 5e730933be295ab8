//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// samples are the rounds of two builds in Go's benchmark format, which benchstat reads: the side's name to its lines. The format is that of
// https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md: a name that begins with Benchmark, a count, values with units.
type samples map[string]*strings.Builder

// add takes the rounds of every claim that compares two builds.
func (s samples) add(c *contest, o outcome) {
	for _, cl := range c.claims {
		if cl.over != "reference" {
			continue
		}
		name := "Benchmark" + strings.ReplaceAll(strings.ReplaceAll(cl.row, ": ", "/"), " ", "_")
		for _, side := range []string{cl.side, cl.over} {
			if s[side] == nil {
				s[side] = &strings.Builder{}
			}
			for _, round := range o[side] {
				fmt.Fprintf(s[side], "%s 1 %g %s\n", name, round[cl.metric], strings.ReplaceAll(cl.unit, " ", "_"))
			}
		}
	}
}

// write leaves a file for each side in dir, SIDE.txt.
func (s samples) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for side, lines := range s {
		if err := os.WriteFile(filepath.Join(dir, side+".txt"), []byte(lines.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
