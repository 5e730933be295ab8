package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/inspect"
)

func logIndexCommand(std streams) *cobra.Command {
	var asJSON, rebuild, dryRun bool
	interval := int64(4096)
	c := &cobra.Command{
		Use:   "index PATH",
		Short: "Print the sparse indexes of a partition, or make them anew from the log",
		Example: "  pelton log index data/logs/orders-0\n  pelton log index data/logs/orders-0/00000000000000000000.timeindex\n" +
			"  pelton log index --rebuild data/logs/orders-0",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := isDir(args[0])
			if err != nil {
				return err
			}
			if rebuild {
				if !dir {
					return usageError("--rebuild needs the directory of a partition")
				}
				told := &steps{std: std, json: asJSON}
				r := &inspect.Repair{FS: disk.OS(), Dir: args[0], DryRun: dryRun, Say: told.say}
				err := r.Rebuild(interval)
				return errors.Join(err, told.print(!dryRun && err == nil))
			}
			files := args
			if dir {
				if files, err = indexFiles(args[0]); err != nil {
					return err
				}
			}
			d := &logDump{json: asJSON, out: bufio.NewWriter(std.out)}
			return d.run(std.out, files)
		},
	}
	fs := c.Flags()
	fs.BoolVar(&asJSON, "json", false, "one JSON document a line")
	fs.BoolVar(&rebuild, "rebuild", false, "make the offset and time indexes anew; the broker must be stopped")
	fs.Int64Var(&interval, "interval", interval, "with --rebuild: bytes between entries, as index.interval.bytes")
	fs.BoolVar(&dryRun, "dry-run", false, "with --rebuild: say what would be done")
	return c
}

// indexFiles are the sparse indexes in a directory.
func indexFiles(dir string) ([]string, error) {
	var out []string
	for _, suffix := range []string{".index", ".timeindex"} {
		list, err := segmentFiles(dir, suffix)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no index is in there", dir)
	}
	return out, nil
}
