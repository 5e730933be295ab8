package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/inspect"
)

func logLookupCommand(std streams) *cobra.Command {
	var asJSON, explain bool
	ts := int64(-1)
	c := &cobra.Command{
		Use:   "lookup DIR [OFFSET]",
		Short: "Find a record by its offset or its timestamp",
		Long: `Find a record by its offset, or the first one that is not older than a timestamp, in the way that a broker does: bisect the names of
the segments, bisect the sparse index of the one found, read the log from there. --explain prints each step.`,
		Example: "  pelton log lookup --explain data/logs/orders-0 2019\n  pelton log lookup --timestamp 1700000000000 data/logs/orders-0",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			var l *inspect.Lookup
			var err error
			switch {
			case len(args) == 2 && ts < 0:
				offset, e := strconv.ParseInt(args[1], 10, 64)
				if e != nil || offset < 0 {
					return usageError("OFFSET %q: must be a number from 0 on", args[1])
				}
				l, err = inspect.FindOffset(disk.OS(), args[0], offset)
			case len(args) == 1 && ts >= 0:
				l, err = inspect.FindTime(disk.OS(), args[0], ts)
			default:
				return usageError("say what to find: an OFFSET, or --timestamp MS")
			}
			if err != nil && !errors.Is(err, inspect.ErrNotThere) {
				return err
			}
			return printLookup(std, l, err, asJSON, explain)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.Flags().BoolVar(&explain, "explain", false, "print each step")
	c.Flags().Int64Var(&ts, "timestamp", -1, "find by timestamp, in milliseconds")
	return c
}

func printLookup(std streams, l *inspect.Lookup, missing error, asJSON, explain bool) error {
	if asJSON {
		if !explain {
			l.Steps = nil
		}
		if err := printJSON(std.out, l); err != nil {
			return err
		}
		return missing
	}
	if explain {
		t := newTable("STEP", "STAGE", "WHAT")
		for i, s := range l.Steps {
			t.add(i+1, s.Stage, s.Text)
		}
		if err := t.print(std.out); err != nil {
			return err
		}
	}
	if missing != nil {
		return missing
	}
	_, err := fmt.Fprintf(std.out, "offset %d, timestamp %s: record %d of the batch at byte %d (%d bytes, up to offset %d) of %s\n",
		l.Offset, when(l.Time), l.Record, l.Position, l.Size, l.Last, l.Log)
	return err
}
