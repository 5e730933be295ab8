package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/inspect"
)

func logRepairCommand(std streams) *cobra.Command {
	var truncate, skip, dryRun bool
	c := &cobra.Command{
		Use:   "repair DIR",
		Short: "Mend a partition whose records are damaged: says the choices, and carries one out",
		Long: `Mend a partition whose records are damaged below the recovery point, which a start refuses to touch.

Without a choice it says where the damage is and what can be done. The choices lose different things:
  --truncate   the log ends before the first damage; everything behind it is given up
  --skip       the damaged batches are taken out; their offsets become a hole, and everything behind them stays
A third one needs no tool: with other replicas, move the directory away, and the partition is copied from its leader.

What is replaced or given up stays in the directory with the suffix .damaged. The broker must be stopped.`,
		Example: "  pelton log repair data/logs/orders-0\n  pelton log repair --skip --dry-run data/logs/orders-0",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if truncate && skip {
				return usageError("--truncate and --skip exclude each other")
			}
			r := &inspect.Repair{FS: disk.OS(), Dir: args[0], DryRun: dryRun, Say: func(format string, a ...any) { fmt.Fprintf(std.out, format+"\n", a...) }}
			choice := inspect.Truncate
			switch {
			case skip:
				choice = inspect.Skip
			case !truncate:
				return repairChoices(std, r)
			}
			err := r.Run(choice)
			if errors.Is(err, inspect.ErrSound) {
				return fmt.Errorf("%w; pelton log verify shows what else there is", err)
			}
			if err == nil && dryRun {
				_, err = fmt.Fprintln(std.out, "Nothing was changed.")
			}
			return err
		},
	}
	fs := c.Flags()
	fs.BoolVar(&truncate, "truncate", false, "end the log before the first damage")
	fs.BoolVar(&skip, "skip", false, "take out the damaged batches")
	fs.BoolVar(&dryRun, "dry-run", false, "say what would be done")
	return c
}

// repairChoices says what is damaged and what each choice costs.
func repairChoices(std streams, r *inspect.Repair) error {
	bad, err := r.Damaged()
	if err != nil {
		return err
	}
	if len(bad) == 0 {
		_, err = fmt.Fprintln(std.out, "No record is damaged: there is nothing to choose.")
		return err
	}
	report, err := inspect.Verify(disk.OS(), r.Dir)
	if err != nil {
		return err
	}
	for _, f := range bad {
		fmt.Fprintf(std.out, "%s at byte %d, offset %d: %s\n", f.Path, f.Position, f.Offset, f.What)
	}
	fmt.Fprintf(std.out, "\n--truncate  ends the log at offset %d and gives up what is behind it, up to %d\n", bad[0].Offset, report.End)
	fmt.Fprintf(std.out, "--skip      takes %s out and keeps the rest\n", plural(len(bad), "damaged place"))
	fmt.Fprintf(std.out, "or, with other replicas: move %s away and start the broker\n", r.Dir)
	return &exitError{code: 1}
}
