package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/cmd/pelton/broker"
	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/internal/disk"
)

// stopTimeout is how long a clean stop may take before the process ends anyway.
const stopTimeout = 30 * time.Second

// serverFlags are the flags of `pelton server`.
type serverFlags struct {
	config    string
	overrides []string
	dataDir   string
	listen    string
	zkListen  string
	logFormat string
	logLevel  string
}

// serverCommand starts the broker.
func serverCommand(std streams) *cobra.Command {
	var f serverFlags
	c := &cobra.Command{
		Use:   "server",
		Short: "Start a broker, with an embedded coordination server unless zookeeper.connect is set",
		Long: `Start a broker. Without zookeeper.connect it starts a coordination server of its own beside it.

--override beats flags, flags beat the file. A ready line, one JSON object, goes to standard output once requests are taken; the log goes to
standard error. SIGTERM stops it cleanly.`,
		Example: "  pelton server --data-dir ./data\n" +
			"  pelton server --config /etc/kafka/server.properties --override num.shards=4\n" +
			"  pelton server --data-dir /tmp/p --listen 127.0.0.1:0 --zk-listen 127.0.0.1:0   # free ports, told in the ready line",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), f, std) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "server.properties to read")
	fl.StringArrayVar(&f.overrides, "override", nil, "key=value laid over everything else; may be repeated")
	fl.StringVar(&f.dataDir, "data-dir", "", "logs go to DIR/logs, coordination to DIR/zookeeper")
	fl.StringVar(&f.listen, "listen", "", "HOST:PORT for Kafka clients; port 0 takes a free one")
	fl.StringVar(&f.zkListen, "zk-listen", "", "HOST:PORT of the embedded coordination server, or off")
	fl.StringVar(&f.logFormat, "log-format", "text", "text or json")
	fl.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	return c
}

// serve runs a broker until the context ends or it fails.
func serve(ctx context.Context, f serverFlags, std streams) error {
	log, err := newLogger(std.err, f.logFormat, f.logLevel)
	if err != nil {
		return err
	}
	c, warnings, err := f.load()
	for _, w := range warnings {
		log.Warn("configuration", "key", w.Key, "text", w.Text)
	}
	if err != nil {
		return err
	}
	b, err := broker.Start(ctx, c, log)
	if err != nil {
		return advise(err)
	}
	if err := json.NewEncoder(std.out).Encode(b.Ready()); err != nil {
		return err
	}
	if left := b.Unclaimed(); len(left) > 0 {
		log.Warn("partition directories that no topic in coordination claims are left alone; stop the broker and adopt them with the command, if they are yours",
			"partitions", len(left), "names", firstOf(left), "command", f.adoptCommandLine())
	}
	var fatal error
	select {
	case <-ctx.Done():
	case fatal = <-b.Fatal():
		log.Error("the broker cannot go on", "err", fatal.Error())
	}
	stop, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := b.Stop(stop); err != nil && fatal == nil {
		return fmt.Errorf("stopping: %w", err)
	}
	return fatal
}

// advise adds to what keeps a broker from starting what to do about it.
func advise(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w. Something else listens there: choose with --listen HOST:PORT and --zk-listen HOST:PORT (port 0: a free one, told in the ready line)", err)
	case errors.Is(err, disk.ErrLocked):
		return fmt.Errorf("%w. A broker runs on this directory already: stop it, or choose another with --data-dir DIR", err)
	}
	return err
}

// load makes the configuration out of file, flags and overrides.
func (f serverFlags) load() (*config.Broker, []config.Warning, error) {
	file := map[string]string{}
	if f.config != "" {
		text, err := os.ReadFile(f.config)
		if err != nil {
			return nil, nil, fmt.Errorf("--config: %w", err)
		}
		if file, err = config.ParseProperties(text); err != nil {
			return nil, nil, fmt.Errorf("--config %s: %w", f.config, err)
		}
	}
	overrides := map[string]string{}
	for _, o := range f.overrides {
		key, value, ok := strings.Cut(o, "=")
		if !ok || key == "" {
			return nil, nil, usageError("--override %q must be key=value", o)
		}
		overrides[key] = value
	}
	flags := f.keys()
	for key, value := range soloDefaults(file, overrides) {
		if _, said := flags[key]; !said {
			flags[key] = value
		}
	}
	return config.Load(file, overrides, flags)
}

// keys are the settings that flags stand for.
func (f serverFlags) keys() map[string]string {
	keys := map[string]string{}
	if f.dataDir != "" {
		keys["log.dirs"] = filepath.Join(f.dataDir, "logs")
		keys["pelton.zookeeper.data.dir"] = filepath.Join(f.dataDir, "zookeeper")
	}
	if f.listen != "" {
		keys["listeners"] = "PLAINTEXT://" + f.listen
	}
	if f.zkListen != "" {
		keys["pelton.zookeeper.listen"] = f.zkListen
	}
	return keys
}

// soloDefaults are what a broker with its own coordination needs to serve alone: Kafka's default of three replicas for the internal
// topics would leave consumer groups without a coordinator for ever. A file or an override that says otherwise is obeyed.
func soloDefaults(file, overrides map[string]string) map[string]string {
	given := func(key string) bool {
		if said, is := overrides[key]; is {
			return said != ""
		}
		return file[key] != ""
	}
	out := map[string]string{}
	if given("zookeeper.connect") {
		return out
	}
	for _, key := range []string{"offsets.topic.replication.factor", "transaction.state.log.replication.factor", "transaction.state.log.min.isr"} {
		if !given(key) {
			out[key] = "1"
		}
	}
	if !given("listeners") && !given("port") && !given("host.name") {
		out["listeners"] = "PLAINTEXT://127.0.0.1:9092"
	}
	return out
}

func newLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usageError("--log-level %q: must be debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, usageError("--log-format %q: must be text or json", format)
}
