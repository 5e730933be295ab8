package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore"
	"github.com/pelton-broker/pelton/logstore/inspect"
)

// dirReport is what a check of a log directory says beside its partitions.
type dirReport struct {
	Path       string            `json:"path"`
	Clean      bool              `json:"clean_stop"`
	Faults     []string          `json:"faults"`
	Partitions []*inspect.Report `json:"partitions"`
}

func logVerifyCommand(std streams) *cobra.Command {
	var asJSON, notes bool
	c := &cobra.Command{
		Use:   "verify DIR...",
		Short: "Check every file of partitions, or of whole log directories",
		Long: `Check every file of partitions, or of whole log directories: checksums, every record, offsets, indexes, snapshots, checkpoints.

Findings are graded: damage is records that cannot be read; stale is what the next start mends by itself; notes (--notes) are harmless.
The exit code is 1 when there is damage.`,
		Example: "  pelton log verify data/logs\n  pelton log verify --json data/logs/orders-0",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var reports []*dirReport
			for _, path := range args {
				r, err := verifyPath(path)
				if err != nil {
					return err
				}
				reports = append(reports, r)
			}
			return printReports(std, reports, asJSON, notes)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.Flags().BoolVar(&notes, "notes", false, "show what is harmless, too")
	return c
}

// verifyPath checks a partition's directory, or every one in a log directory and its checkpoints.
func verifyPath(path string) (*dirReport, error) {
	dir, err := isDir(path)
	if err != nil {
		return nil, err
	}
	if !dir {
		return nil, fmt.Errorf("%s: give the directory of a partition or a log directory", path)
	}
	logs, err := segmentFiles(path, ".log")
	if err != nil {
		return nil, err
	}
	r := &dirReport{Path: path, Faults: []string{}}
	if len(logs) > 0 {
		one, err := inspect.Verify(disk.OS(), path)
		r.Partitions = append(r.Partitions, one)
		return r, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if _, ok := logstore.ParsePartitionDir(strings.TrimSuffix(e.Name(), "-future")); !ok || !e.IsDir() {
			r.top(filepath.Join(path, e.Name()))
			continue
		}
		one, err := inspect.Verify(disk.OS(), filepath.Join(path, e.Name()))
		if err != nil {
			return nil, err
		}
		r.Partitions = append(r.Partitions, one)
	}
	if len(r.Partitions) == 0 {
		return nil, fmt.Errorf("%s: no partition is in there", path)
	}
	return r, nil
}

// top checks a file of the log directory itself.
func (r *dirReport) top(path string) {
	name := filepath.Base(path)
	b, err := os.ReadFile(path)
	switch {
	case name == logstore.CleanFile:
		r.Clean = true
		return
	case name == logstore.MetaFile && err == nil:
		_, err = logstore.DecodeMeta(b)
	case err == nil:
		for _, c := range logstore.CheckpointFiles() {
			if c == name && len(b) > 0 {
				_, err = logstore.DecodeOffsets(b)
			}
		}
	default:
		err = nil // a directory, or a file of somebody else
	}
	if err != nil {
		r.Faults = append(r.Faults, fmt.Sprintf("%s: %v", path, err))
	}
}

func printReports(std streams, reports []*dirReport, asJSON, notes bool) error {
	damaged, partitions := 0, 0
	for _, r := range reports {
		partitions += len(r.Partitions)
		for _, p := range r.Partitions {
			if p.Worst() == inspect.Damage {
				damaged++
			}
		}
	}
	if asJSON {
		if err := printJSON(std.out, reports); err != nil {
			return err
		}
	} else if err := printReportTables(std, reports, notes); err != nil {
		return err
	}
	if damaged > 0 {
		return &exitError{code: 1, text: fmt.Sprintf("%d of %s damaged; pelton log repair DIR says what can be done", damaged, plural(partitions, "partition"))}
	}
	return nil
}

func printReportTables(std streams, reports []*dirReport, notes bool) error {
	t := newTable("PARTITION", "SEGMENTS", "SIZE", "BATCHES", "RECORDS", "FIRST", "END", "STATE")
	for _, r := range reports {
		for _, p := range r.Partitions {
			state := string(p.Worst())
			if state == "" || state == string(inspect.Note) {
				state = "sound"
			}
			t.add(filepath.Base(p.Path), p.Segments, humanBytes(p.Bytes), p.Batches, p.Records, p.First, p.End, state)
		}
	}
	if err := t.print(std.out); err != nil {
		return err
	}
	for _, r := range reports {
		for _, f := range r.Faults {
			fmt.Fprintf(std.out, "stale: %s\n", f)
		}
		for _, p := range r.Partitions {
			for _, f := range p.Findings {
				if f.Grade == inspect.Note && !notes {
					continue
				}
				at := ""
				if f.Position >= 0 {
					at = fmt.Sprintf(" at byte %d", f.Position)
				}
				if f.Offset >= 0 {
					at += fmt.Sprintf(" (offset %d)", f.Offset)
				}
				fmt.Fprintf(std.out, "%s: %s%s: %s\n", f.Grade, f.Path, at, f.What)
			}
		}
	}
	return nil
}
