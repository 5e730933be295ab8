package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args, streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// streams are where a verb reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exitError ends the process with a code and, when it has one, a line.
type exitError struct {
	code int
	text string
}

// Error implements error.
func (e *exitError) Error() string { return e.text }

// usageError is a command line that cannot be understood.
func usageError(format string, args ...any) error {
	return &exitError{code: 2, text: fmt.Sprintf(format, args...)}
}

// run is the whole program but for the process itself.
func run(ctx context.Context, args []string, std streams) int {
	root := rootCommand(std)
	rest := args[1:]
	if verb, ok := toolVerb(filepath.Base(args[0])); ok {
		translated, err := verb(rest)
		if err != nil {
			fmt.Fprintln(std.err, "pelton:", err)
			return 2
		}
		rest = translated
	}
	root.SetArgs(protectNegativeOffsets(rest))
	verb, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{code: 1, text: explain(err)}
		if isUsage(err) {
			exit.code = 2
			if verb != root {
				exit.text += fmt.Sprintf(" (usage: %s; more with '%s --help')", verb.UseLine(), verb.CommandPath())
			}
		}
	}
	if exit.text != "" {
		fmt.Fprintln(std.err, "pelton:", exit.text)
	}
	return exit.code
}

// isUsage reports cobra's own complaints about flags and verbs, which have no type.
func isUsage(err error) bool {
	text := err.Error()
	for _, start := range [...]string{"unknown command", "unknown flag", "unknown shorthand", "invalid argument", "flag needs", "required flag", "accepts ", "requires at least"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// protectNegativeOffsets joins "-o -5" to "-o=-5", which the flag parser would take for two flags.
func protectNegativeOffsets(args []string) []string {
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		if (args[i] == "-o" || args[i] == "--offset") && len(next) > 1 && next[0] == '-' && next[1] >= '0' && next[1] <= '9' {
			out = append(out, args[i]+"="+next)
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

func rootCommand(std streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "pelton",
		Short: "A Kafka-wire-compatible broker, its coordination server and their tools",
		Long: `Pelton is a broker that speaks Kafka's wire, keeps Kafka's files and coordinates by ZooKeeper's wire, in one binary.

Start one:              pelton server --data-dir ./data
Make a topic:           pelton topics create logs --partitions 6
Write lines to it:      pelton produce logs < some.log
Read it to its end:     pelton consume logs -o beginning -e`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddGroup(&cobra.Group{ID: "serve", Title: "Servers:"}, &cobra.Group{ID: "client", Title: "Clients of a broker:"}, &cobra.Group{ID: "machine", Title: "This machine:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("serve", serverCommand(std), zkCommand(std))
	add("client", topicsCommand(std), configsCommand(std), groupsCommand(std), logDirsCommand(std), produceCommand(std), consumeCommand(std), perfCommand(std))
	add("machine", logCommand(std), doctorCommand(std), planCommand(std), topCommand(std), labCommand(std), linkToolsCommand(std), versionCommand(std))
	root.AddCommand(gendocsCommand(std))
	return root
}
