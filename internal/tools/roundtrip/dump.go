//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// looks are the ways in which DumpLogSegments looks, with the files that each is for. It tells what is wrong in its output, with exit code 0.
func looks(version string) []struct {
	flags []string
	files func(path string) bool
} {
	ends := func(suffixes ...string) func(string) bool {
		return func(name string) bool {
			return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
		}
	}
	type row = struct {
		flags []string
		files func(path string) bool
	}
	out := []row{{[]string{"--deep-iteration"}, ends(".log")}, {[]string{"--verify-index-only"}, ends(".index")}}
	// The tools before 3 compare an entry with the first record of what it points to, and complain of their own Kafka's indexes too, which note a
	// batch under its last. The newer Kafka's tool, which is asked as well, knows better; the old ones are asked where both are the same.
	if strings.HasPrefix(version, "0.") || strings.HasPrefix(version, "2.") {
		out[1].files = func(path string) bool {
			return strings.Contains(path, "/plain-none-") && strings.HasSuffix(path, ".index") && version[0] == '0'
		}
	}
	if strings.HasPrefix(version, "0.8.") || strings.HasPrefix(version, "0.9.") {
		return out // there was no sanity check yet
	}
	out = append(out, row{[]string{"--index-sanity-check"}, ends(".index", ".timeindex")})
	if !strings.HasPrefix(version, "0.10.") {
		out = append(out, row{nil, ends(".snapshot")}, row{nil, ends(".txnindex")})
	}
	return out
}

// complaint is a line of DumpLogSegments that says that something is wrong.
func complaint() *regexp.Regexp {
	return regexp.MustCompile(`(?i)isvalid: false|non-consecutive|is followed by|corrupt|mismatch|index offset|index timestamp|out of order|exception|could not|invalid`)
}

// dumps asks the tool of each version about all files, and forgives what it said of the untouched archive.
func (t *trip) dumps(after string, versions ...string) error {
	for _, version := range versions {
		found, files, err := t.complaints(version, filepath.Join(t.home(), "data"), false)
		if err != nil {
			return err
		}
		if files == 0 {
			return fmt.Errorf("DumpLogSegments of %s looked at nothing", version)
		}
		if len(found) > 0 {
			if found, err = t.unknown(version, found); err != nil {
				return err
			}
		}
		if len(found) > 0 {
			return fmt.Errorf("after %s, DumpLogSegments of %s: %s", after, version, strings.Join(found[:min(len(found), 10)], "\n"))
		}
	}
	return nil
}

// unknown leaves the complaints that are not about the archive as it was.
func (t *trip) unknown(version string, found []string) ([]string, error) {
	untouched := filepath.Join(t.dir, "untouched")
	if err := t.unpack(untouched); err != nil {
		return nil, err
	}
	before, _, err := t.complaints(version, filepath.Join(untouched, "data"), true)
	if err != nil {
		return nil, err
	}
	bare := func(l string) string { return strings.NewReplacer(untouched, "", t.home(), "").Replace(l) }
	known := map[string]bool{}
	for _, l := range before {
		known[bare(l)] = true
	}
	return slices.DeleteFunc(found, func(l string) bool { return known[bare(l)] }), nil
}

// complaints runs all looks over a directory. With stumbling, a look that ends early is left out: a crash leaves indexes that the tool cannot take.
func (t *trip) complaints(version, dir string, stumbling bool) (found []string, files int, err error) {
	bad := complaint()
	for _, l := range looks(version) {
		if t.wrappers && slices.Contains(l.flags, "--verify-index-only") {
			continue // an old Kafka has noted its wrappers in its own way
		}
		names, err := filesIn(dir, l.files)
		if err != nil {
			return nil, 0, err
		}
		if len(names) == 0 {
			continue
		}
		args := append([]string{"tool", "kafka", version, "kafka.tools.DumpLogSegments"}, l.flags...)
		out, err := t.script(append(args, "--files", strings.Join(names, ","))...)
		if err != nil && stumbling {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		dumped := strings.Count(out, "Dumping ")
		if dumped < len(names) && !stumbling {
			return nil, 0, fmt.Errorf("DumpLogSegments of %s ended after %d of %d files: %s", version, dumped, len(names), out[max(0, len(out)-1000):])
		}
		files += dumped
		for _, line := range strings.Split(out, "\n") {
			if bad.MatchString(withoutPayload(line)) {
				found = append(found, line)
			}
		}
	}
	return found, files, nil
}

// withoutPayload leaves out what a record says of itself.
func withoutPayload(line string) string {
	if i := strings.Index(line, " payload: "); i >= 0 {
		return line[:i]
	}
	return line
}

// filesIn lists the files that are not empty, the metadata log of KRaft left out.
func filesIn(dir string, want func(string) bool) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), "__cluster_metadata") {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := os.Stat(path)
		if err == nil && info.Size() > 0 && want(path) {
			names = append(names, path)
		}
		return err
	})
	return names, err
}
