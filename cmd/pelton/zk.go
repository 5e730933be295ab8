package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// zkCommand is the family of the coordination server.
func zkCommand(streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "zk",
		Short:   "Run a coordination server, or talk to one",
		Example: "  pelton zk shell 127.0.0.1:2181 ls /brokers/ids\n  pelton zk shell 127.0.0.1:2181/kafka",
	}
	shell := &cobra.Command{
		Use:                "shell HOST:PORT[/chroot] [command ...]",
		Short:              "Read, change and watch znodes, one command or an interactive session",
		Example:            "  pelton zk shell 127.0.0.1:2181 get /controller",
		Args:               cobra.MinimumNArgs(1),
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return errors.New("zk shell: not wired yet") },
	}
	return family(c, shell)
}
