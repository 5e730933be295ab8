package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/perf"
	"github.com/spf13/cobra"
)

// pages are the generated pages of docs/ by file name.
func pages() map[string]func(w io.Writer) {
	return map[string]func(w io.Writer){
		"CONFIG.md":   config.WriteMarkdown,
		"ERRORS.md":   writeErrorsPage,
		"METRICS.md":  writeMetricsPage,
		"PROTOCOL.md": writeProtocolPage,
	}
}

func gendocsCommand(std streams) *cobra.Command {
	return &cobra.Command{
		Use:    "gendocs [DIR]",
		Short:  "Write the generated pages into DIR, or one named page to standard output",
		Hidden: true,
		Args:   cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			target := "docs"
			if len(args) == 1 {
				target = args[0]
			}
			if write, ok := pages()[target]; ok {
				write(std.out)
				return nil
			}
			for name, write := range pages() {
				var text strings.Builder
				write(&text)
				if err := os.WriteFile(filepath.Join(target, name), []byte(text.String()), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// writeMetricsPage prints docs/METRICS.md.
func writeMetricsPage(w io.Writer) {
	fmt.Fprint(w, "<!-- Printed from perf/table.go by make gen. Do not edit. -->\n\n# Metrics\n\n"+
		"`/metrics` on `admin.listener` serves these in Prometheus' text format. Counters and histograms carry the label `shard`; a sum over it is the broker's.\n"+
		"Where Kafka has an MBean that answers the same question, it is named, and a counter or gauge is served under the MBean's usual exporter name too.\n")
	section := func(title string, rows []perf.Row) {
		fmt.Fprintf(w, "\n## %s\n\n| name | kind | labels | what | Kafka |\n|---|---|---|---|---|\n", title)
		for _, r := range rows {
			labels := append(append([]string{}, r.Labels...), r.Dim.LabelNames()...)
			jmx := ""
			if r.JMX != "" {
				jmx = "`" + r.JMX + "`"
			}
			fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s |\n", r.Name, r.Kind, strings.Join(labels, ", "), r.Help, jmx)
		}
	}
	section("Counters and gauges", perf.Counters())
	section("Histograms", perf.Histograms())
	section("Read when asked", perf.Reads())
}
