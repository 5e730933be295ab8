//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// entry is one directory and where it goes after Pelton, in this order.
type entry struct {
	version, state string
	kafkas         []string
	brief          bool // part of the short table
}

// table are all directories: each goes back to the Kafka that wrote it, and the old ones to a newer one as well.
func table() []entry {
	return []entry{
		{"0.8.2.2", "clean", []string{"0.8.2.2", "3.9.1"}, false},
		{"0.8.2.2", "crashed", []string{"0.8.2.2", "3.9.1"}, false},
		{"0.9.0.1", "clean", []string{"0.9.0.1", "3.9.1"}, false},
		{"0.9.0.1", "crashed", []string{"0.9.0.1", "3.9.1"}, true},
		{"0.10.2.2", "clean", []string{"0.10.2.2", "3.9.1"}, false},
		{"0.10.2.2", "crashed", []string{"0.10.2.2", "3.9.1"}, false},
		{"2.2.2", "clean", []string{"2.2.2", "3.9.1"}, false},
		{"2.2.2", "crashed", []string{"2.2.2", "3.9.1"}, false},
		{"3.9.1", "clean", []string{"3.9.1"}, false},
		{"3.9.1", "crashed", []string{"3.9.1"}, false},
		{"4.2.0", "clean", []string{"4.2.0"}, false},
		{"4.2.0", "crashed", []string{"4.2.0"}, true},
	}
}

// settings are the flags.
type settings struct {
	pelton, apache, from, dir, versions, states string
	brief, keep                                 bool
}

func main() {
	runtime.LockOSThread() // the brokers die with the thread that started them: it must be one that stays
	var s settings
	flag.StringVar(&s.pelton, "pelton", "bin/pelton", "the binary under test")
	flag.StringVar(&s.apache, "apache", "internal/tools/apache", "the script that drives real Kafka")
	flag.StringVar(&s.from, "from", "logstore/testdata/golden", "the archives")
	flag.StringVar(&s.dir, "dir", "", "where data and logs go; a temporary directory when empty")
	flag.StringVar(&s.versions, "versions", "", "only these, with commas")
	flag.StringVar(&s.states, "states", "", "only these, with commas")
	flag.BoolVar(&s.brief, "brief", false, "two directories only")
	flag.BoolVar(&s.keep, "keep", false, "leave the directories of what went well")
	flag.Parse()
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "roundtrip:", err)
		os.Exit(1)
	}
}

func run(s settings) error {
	for _, path := range []*string{&s.pelton, &s.apache, &s.from} {
		abs, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = abs
	}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "roundtrip-")
		if err != nil {
			return err
		}
		s.dir = dir
	}
	among := func(list, name string) bool { return list == "" || slices.Contains(strings.Split(list, ","), name) }
	played := 0
	var failed error
	for _, e := range table() {
		if !among(s.versions, e.version) || !among(s.states, e.state) || s.brief && !e.brief {
			continue
		}
		start := time.Now()
		t := &trip{settings: s, entry: e, dir: filepath.Join(s.dir, e.version+"-"+e.state)}
		if err := t.run(); err != nil {
			err = fmt.Errorf("%s %s (files in %s): %w", e.version, e.state, t.dir, err)
			fmt.Println(err)
			failed = errors.Join(failed, err)
			continue
		}
		if !s.keep {
			if err := os.RemoveAll(t.dir); err != nil {
				return err
			}
		}
		played++
		fmt.Printf("%s %s: Pelton, then Kafka %s: nothing lost, nothing wrong (%.0f s)\n", e.version, e.state, strings.Join(e.kafkas, ", then "), time.Since(start).Seconds())
	}
	if played == 0 && failed == nil {
		return fmt.Errorf("no directory of version %q, state %q", s.versions, s.states)
	}
	if s.keep || failed != nil {
		return failed
	}
	return os.RemoveAll(s.dir)
}
