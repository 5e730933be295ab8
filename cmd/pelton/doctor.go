package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// severity orders findings; the worst one decides the exit code.
type severity int

const (
	fine severity = iota // as it should be
	note                 // worth knowing
	warn                 // costs speed or safety: exit code 1
	bad                  // stops a broker from working well: exit code 3
)

// String is the word in the table and in JSON.
func (s severity) String() string { return [...]string{"ok", "note", "warn", "bad"}[s] }

// MarshalText makes JSON carry the word.
func (s severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// finding is one fact about the machine, with what it means and what changes it.
type finding struct {
	Check    string   `json:"check"`
	Value    string   `json:"value"`
	Severity severity `json:"severity"`
	Reason   string   `json:"reason,omitempty"`
	Command  string   `json:"command,omitempty"`
}

func doctorCommand(std streams) *cobra.Command {
	var asJSON, all bool
	var dropInFile string
	server := serverFlags{}
	m := &machine{}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look at this machine with the eyes of a broker",
		Long: `Look at limits, kernel settings, io_uring, clock and file systems, and say what to change and why.
Nothing is changed, but for the file of --drop-in. Exit code 0: nothing to do, 1: warnings, 3: something that stops a broker from working well.`,
		Example: "  pelton doctor --data-dir /var/lib/pelton\n  pelton doctor --config /etc/kafka/server.properties\n  pelton doctor --drop-in /etc/sysctl.d/90-pelton.conf && sysctl --system\n  pelton doctor --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []finding
			if server.config != "" || len(server.overrides) > 0 {
				a, err := readActual(server)
				if err != nil {
					return err
				}
				if dirs := a.List("log.dirs"); len(dirs) > 0 && !cmd.Flags().Changed("data-dir") {
					m.dataDirs = dirs
				}
				list = a.judgeConfig()
			}
			list = append(m.examine(), list...)
			if dropInFile != "" {
				if err := writeDropIn(dropInFile, list); err != nil {
					return err
				}
			}
			if err := printFindings(std, list, asJSON, all); err != nil {
				return err
			}
			switch worst(list) {
			case bad:
				return &exitError{code: 3}
			case warn:
				return &exitError{code: 1}
			case fine, note:
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringArrayVar(&m.dataDirs, "data-dir", []string{"."}, "directory that the logs are or will be in, may be repeated")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&server.config, "config", "", "server.properties of the broker: its directories, shards and limits are held against the machine")
	f.StringArrayVar(&server.overrides, "override", nil, "key=value over the file, may be repeated")
	f.StringVar(&dropInFile, "drop-in", "", "write the kernel settings that the findings ask for to this file, e.g. /etc/sysctl.d/90-pelton.conf; sysctl --system takes them")
	f.BoolVar(&all, "all", true, "show what is as it should be too")
	return c
}

func worst(list []finding) severity {
	w := fine
	for _, f := range list {
		w = max(w, f.Severity)
	}
	return w
}

func printFindings(std streams, list []finding, asJSON, all bool) error {
	if asJSON {
		return printJSON(std.out, list)
	}
	t := newTable("", "CHECK", "VALUE")
	var advice strings.Builder
	number := 0
	for _, f := range list {
		mark := f.Severity.String()
		if f.Severity > fine {
			number++
			mark = fmt.Sprintf("%s %d", mark, number)
			fmt.Fprintf(&advice, "\n%d. %s = %s: %s\n", number, f.Check, f.Value, f.Reason)
			if f.Command != "" {
				fmt.Fprintf(&advice, "   %s\n", f.Command)
			}
		}
		if all || f.Severity > fine {
			t.add(mark, f.Check, f.Value)
		}
	}
	if err := t.print(std.out); err != nil {
		return err
	}
	_, err := fmt.Fprint(std.out, advice.String())
	return err
}
