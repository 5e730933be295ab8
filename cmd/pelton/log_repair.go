package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/inspect"
)

func logRepairCommand(std streams) *cobra.Command {
	var truncate, skip, dryRun, asJSON bool
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
			told := &steps{std: std, json: asJSON}
			r := &inspect.Repair{FS: disk.OS(), Dir: args[0], DryRun: dryRun, Say: told.say}
			choice := inspect.Truncate
			switch {
			case skip:
				choice = inspect.Skip
			case !truncate:
				return repairChoices(std, r, asJSON)
			}
			err := r.Run(choice)
			if errors.Is(err, inspect.ErrSound) {
				return fmt.Errorf("%w; pelton log verify shows what else there is", err)
			}
			if err == nil && dryRun && !asJSON {
				_, err = fmt.Fprintln(std.out, "Nothing was changed.")
			}
			return errors.Join(err, told.print(!dryRun && err == nil))
		},
	}
	fs := c.Flags()
	fs.BoolVar(&truncate, "truncate", false, "end the log before the first damage")
	fs.BoolVar(&skip, "skip", false, "take out the damaged batches")
	fs.BoolVar(&dryRun, "dry-run", false, "say what would be done")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// steps are what a repair says that it does: a line for each at once, or with --json one document at the end.
type steps struct {
	std   streams
	json  bool
	lines []string
}

func (s *steps) say(format string, a ...any) {
	if s.json {
		s.lines = append(s.lines, fmt.Sprintf(format, a...))
		return
	}
	fmt.Fprintf(s.std.out, format+"\n", a...)
}

func (s *steps) print(changed bool) error {
	if !s.json {
		return nil
	}
	return printJSON(s.std.out, map[string]any{"changed": changed, "steps": append([]string{}, s.lines...)})
}

// repairChoices says what is damaged and what each choice costs.
func repairChoices(std streams, r *inspect.Repair, asJSON bool) error {
	bad, err := r.Damaged()
	if err != nil {
		return err
	}
	if asJSON {
		damage := []map[string]any{}
		for _, f := range bad {
			damage = append(damage, map[string]any{"path": f.Path, "position": f.Position, "offset": f.Offset, "what": f.What})
		}
		if err := printJSON(std.out, map[string]any{"damage": damage}); err != nil || len(bad) == 0 {
			return err
		}
		return &exitError{code: 1}
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
