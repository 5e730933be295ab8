package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/logstore"
)

// logCommand is the group of verbs on the files of logs. Each file log_*.go has one of them.
func logCommand(std streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "log",
		Short: "Look into the files of partitions, check and mend them (offline)",
		Long: `Look into the files of partitions, check and mend them, of every format that Kafka ever wrote.

The verbs read files, not a broker. Those that write refuse while a broker owns the directory.`,
	}
	c.AddCommand(logDumpCommand(std), logVerifyCommand(std), logLookupCommand(std), logIndexCommand(std), logRepairCommand(std), logAdoptCommand(std))
	return c
}

// segmentFiles are the segments' files in dir with this suffix, by their offsets.
func segmentFiles(dir, suffix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if _, s, ok := logstore.ParseFileName(e.Name()); ok && (s == suffix || suffix == "") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	sort.Strings(out)
	return out, nil
}

// isDir reports whether path is a directory; an error when there is nothing.
func isDir(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	return info.IsDir(), nil
}

// expandLogs replaces directories of partitions by the logs in them.
func expandLogs(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		dir, err := isDir(p)
		if err != nil {
			return nil, err
		}
		if !dir {
			out = append(out, p)
			continue
		}
		list, err := segmentFiles(p, ".log")
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s: no segment is in there; give the directory of a partition, such as %s", p, filepath.Join(strings.TrimSuffix(p, "/"), "topic-0"))
		}
		out = append(out, list...)
	}
	return out, nil
}
