package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"
)

// toolVerb finds the translation for a Kafka or ZooKeeper tool's name, with or without .sh.
func toolVerb(name string) (func(args []string) ([]string, error), bool) {
	translate, ok := tools()[strings.TrimSuffix(name, ".sh")]
	return translate, ok
}

// tools are the names that this binary answers to, with the translation of their flags into ours.
func tools() map[string]func(args []string) ([]string, error) {
	return map[string]func([]string) ([]string, error){
		"kafka-topics":           kafkaTopics,
		"kafka-console-producer": kafkaConsoleProducer,
		"kafka-console-consumer": kafkaConsoleConsumer,
		"kafka-consumer-groups":  kafkaConsumerGroups,
		"kafka-configs":          kafkaConfigs,
		"kafka-log-dirs":         kafkaLogDirs,
		"kafka-dump-log":         kafkaDumpLog,
		"kafka-server-start":     kafkaServerStart,
		"zookeeper-server-start": zookeeperServerStart,
		"zookeeper-shell":        zookeeperShell,
		"zkCli":                  zookeeperShell,
	}
}

// toolFlags is a parsed Kafka command line: --flag value, --flag=value, and flags without a value.
type toolFlags struct {
	tool   string
	values map[string][]string
	rest   []string
}

// parseTool reads args; known says for each flag whether it takes a value.
func parseTool(tool string, args []string, known map[string]bool) (*toolFlags, error) {
	f := &toolFlags{tool: tool, values: map[string][]string{}}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") {
			f.rest = append(f.rest, args[i])
			continue
		}
		takes, ok := known[name]
		switch {
		case !ok:
			return nil, usageError("%s: --%s is not a flag that pelton knows for this tool", tool, name)
		case !takes:
			value = "true"
		case !joined:
			if i++; i >= len(args) {
				return nil, usageError("%s: --%s needs a value", tool, name)
			}
			value = args[i]
		}
		f.values[name] = append(f.values[name], value)
	}
	return f, nil
}

func (f *toolFlags) has(name string) bool { return len(f.values[name]) > 0 }

func (f *toolFlags) one(name string) string {
	if list := f.values[name]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// pass adds --ours value for each value of --theirs.
func (f *toolFlags) pass(out []string, pairs ...string) []string {
	for i := 0; i+1 < len(pairs); i += 2 {
		for _, v := range f.values[pairs[i]] {
			if v == "true" && !strings.HasSuffix(pairs[i+1], "=") {
				out = append(out, pairs[i+1])
				continue
			}
			out = append(out, strings.TrimSuffix(pairs[i+1], "=")+"="+v)
		}
	}
	return out
}

// connect adds how the broker is reached: --bootstrap-server, the older --broker-list, or by asking --zookeeper.
func (f *toolFlags) connect(out []string) ([]string, error) {
	address := f.one("bootstrap-server")
	if address == "" {
		address = f.one("broker-list")
	}
	if at := f.one("zookeeper"); address == "" && at != "" {
		found, err := brokersOf(at)
		if err != nil {
			return nil, err
		}
		address = found
	}
	if address == "" {
		return nil, usageError("%s: say where a broker is: --bootstrap-server HOST:PORT, or --zookeeper HOST:PORT[/chroot]", f.tool)
	}
	out = append(out, "--bootstrap-server="+address)
	return f.pass(out, "command-config", "--command-config="), nil
}

// verb is the one of the given flags that is set.
func (f *toolFlags) verb(names ...string) (string, error) {
	found := ""
	for _, n := range names {
		if f.has(n) {
			if found != "" {
				return "", usageError("%s: --%s and --%s exclude each other", f.tool, found, n)
			}
			found = n
		}
	}
	if found == "" {
		return "", usageError("%s: say what to do: one of --%s", f.tool, strings.Join(names, ", --"))
	}
	return found, nil
}

func connectFlags(more map[string]bool) map[string]bool {
	more["bootstrap-server"], more["zookeeper"], more["command-config"] = true, true, true
	return more
}

func linkToolsCommand(std streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "link-tools DIR",
		Short:   "Link the names of Kafka's and ZooKeeper's tools to this binary, with and without .sh",
		Example: "  pelton link-tools /usr/local/bin\n  kafka-topics --bootstrap-server 127.0.0.1:9092 --list",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			made := []string{}
			for name := range tools() {
				for _, link := range [...]string{name, name + ".sh"} {
					path := filepath.Join(args[0], link)
					if old, err := os.Readlink(path); err == nil && old == self {
						continue
					}
					if err := os.Symlink(self, path); err != nil {
						return fmt.Errorf("%w. Remove it first, or give another directory", err)
					}
					made = append(made, path)
				}
			}
			if asJSON {
				sort.Strings(made)
				return printJSON(std.out, map[string]any{"links": made})
			}
			_, err = fmt.Fprintf(std.out, "Made %s in %s.\n", plural(len(made), "link"), args[0])
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
