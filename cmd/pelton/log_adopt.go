package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/cmd/pelton/broker"
	"github.com/pelton-broker/pelton/logstore"
)

// logAdoptCommand makes topics of partition directories that coordination does not know.
func logAdoptCommand(std streams) *cobra.Command {
	var f serverFlags
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "adopt",
		Short: "Register the partition directories that no topic in coordination claims",
		Long: `Register the partition directories that no topic in coordination claims, with the broker of this configuration as their only replica.
Give the configuration of the broker that shall serve them. It must not run meanwhile.

Ids come from the files (partition.metadata, meta.properties). The records are not touched, and of an adopted topic nothing is deleted before its
configuration is set. The broker does the same at its start with --override pelton.log.adopt=true.`,
		Example: "  pelton log adopt --config /etc/kafka/server.properties --dry-run\n" +
			"  pelton log adopt --data-dir ./data",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return adoptLogs(cmd.Context(), f, dryRun, asJSON, std) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "server.properties to read")
	fl.StringArrayVar(&f.overrides, "override", nil, "key=value laid over everything else; may be repeated")
	fl.StringVar(&f.dataDir, "data-dir", "", "logs are in DIR/logs, coordination in DIR/zookeeper")
	fl.StringVar(&f.listen, "listen", "", "HOST:PORT that the broker advertises meanwhile")
	fl.StringVar(&f.zkListen, "zk-listen", "", "HOST:PORT of the embedded coordination server meanwhile")
	fl.StringVar(&f.logLevel, "log-level", "warn", "debug, info, warn or error")
	fl.BoolVar(&dryRun, "dry-run", false, "tell what would be registered, and change nothing")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func adoptLogs(ctx context.Context, f serverFlags, dryRun, asJSON bool, std streams) error {
	f.overrides = append(f.overrides, "pelton.log.adopt=true")
	log, err := newLogger(std.err, "text", f.logLevel)
	if err != nil {
		return err
	}
	c, _, err := f.load()
	if err != nil {
		return err
	}
	adopted, err := broker.Adopt(ctx, c, log, dryRun)
	if err != nil {
		return advise(err)
	}
	if asJSON {
		return printJSON(std.out, adopted)
	}
	word := "adopted"
	if dryRun {
		word = "would adopt"
	}
	for _, t := range adopted {
		id := t.ID
		if id == "" {
			id = "new"
		}
		fmt.Fprintf(std.out, "%s %s  id %s  partitions %d (%d directories)  format %d ", word, t.Name, id, t.Partitions, t.Found, t.Format)
		for _, key := range slices.Sorted(maps.Keys(t.Config)) {
			fmt.Fprintf(std.out, " %s=%s", key, t.Config[key])
		}
		fmt.Fprintln(std.out)
	}
	fmt.Fprintf(std.out, "%d topics %s\n", len(adopted), word)
	return nil
}

// adoptCommandLine is what adopts the directories that a server with these flags left alone.
func (f serverFlags) adoptCommandLine() string {
	line := []string{"pelton log adopt"}
	add := func(flag, value string) {
		if value != "" {
			line = append(line, flag, value)
		}
	}
	add("--config", f.config)
	add("--data-dir", f.dataDir)
	for _, o := range f.overrides {
		if !strings.HasPrefix(o, "pelton.log.adopt=") {
			add("--override", o)
		}
	}
	return strings.Join(line, " ")
}

// firstOf names a few partitions.
func firstOf(list []logstore.TopicPartition) string {
	const few = 5
	var names []string
	for _, tp := range list[:min(few, len(list))] {
		names = append(names, tp.String())
	}
	if len(list) > few {
		names = append(names, fmt.Sprintf("and %d more", len(list)-few))
	}
	return strings.Join(names, " ")
}
