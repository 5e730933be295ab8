package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/tty"
	"github.com/pelton-broker/pelton/zk/server"
	"github.com/pelton-broker/pelton/zk/shell"
	"github.com/spf13/cobra"
)

// zkCommand is the family of the coordination server.
func zkCommand(std streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "zk",
		Short:   "Run a coordination server, or talk to one",
		Example: "  pelton zk server --config zoo.cfg\n  pelton zk shell 127.0.0.1:2181 ls /brokers/ids",
	}
	sh := &cobra.Command{
		Use:                "shell HOST:PORT[/chroot] [command ...]",
		Short:              "Read, change and watch znodes: ls, get, stat, create, set, delete, watch",
		Long:               "Read, change and watch znodes. Without a command it reads commands from standard input, all in one session; help lists them, quit ends. On a terminal lines are edited, remembered and completed by tab.",
		Example:            "  pelton zk shell 127.0.0.1:2181 get /controller\n  pelton zk shell 127.0.0.1:2181/kafka ls /brokers/topics\n  pelton zk shell 127.0.0.1:2181",
		DisableFlagParsing: true, // -R and the like belong to the shell's own commands
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
				return cmd.Help()
			}
			if slices.Contains([]string{"ls", "get", "stat", "create", "set", "delete", "watch", "help"}, args[0]) {
				return usageError("zk shell %s: the server's address comes first: pelton zk shell 127.0.0.1:2181 %s", args[0], strings.Join(args, " "))
			}
			ctx := shell.WithFiles(cmd.Context(), os.ReadFile)
			if f, ok := std.in.(*os.File); ok && tty.Is(int(f.Fd())) {
				at := shell.Terminal{In: f, Out: std.err, Raw: func() (func(), error) { return tty.Raw(int(f.Fd())) }}
				return shell.RunTerminal(ctx, args, at, std.out)
			}
			err := shell.RunInput(ctx, args, std.in, std.out)
			if errors.Is(err, shell.ErrUnknown) {
				return &exitError{code: 127, text: err.Error()} // zkCli's
			}
			return err
		},
	}
	return family(c, zkServerCommand(std), zkImportCommand(std), sh)
}

func zkServerCommand(std streams) *cobra.Command {
	var file, format, level string
	c := &cobra.Command{
		Use:     "server --config zoo.cfg | zoo.cfg",
		Short:   "Run a coordination server, alone or in an ensemble, from ZooKeeper's own file",
		Example: "  pelton zk server --config /etc/zookeeper/zoo.cfg",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" && len(args) == 1 {
				file = args[0]
			}
			if file == "" {
				return usageError("say which file: --config zoo.cfg")
			}
			log, err := newLogger(std.err, format, level)
			if err != nil {
				return err
			}
			return serveZk(cmd.Context(), std, file, log)
		},
	}
	c.Flags().StringVar(&file, "config", "", "zoo.cfg to read")
	c.Flags().StringVar(&format, "log-format", "text", "text or json")
	c.Flags().StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return c
}

// serveZk runs a coordination server until the context ends or its log fails.
func serveZk(ctx context.Context, std streams, file string, log *slog.Logger) error {
	begun := time.Now()
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	keys, err := config.ParseProperties(text)
	if err != nil {
		return fmt.Errorf("--config %s: %w", file, err)
	}
	for _, name := range []string{"SERVER_JVMFLAGS", "JVMFLAGS"} { // where ZooKeeper's scripts take its system properties from
		for name, value := range server.JVMProperties(os.Getenv(name)) {
			if _, set := keys[name]; !set { // the file is read after them
				keys[name] = value
			}
		}
	}
	o, unknown, err := zooOptions(keys)
	if err != nil {
		return fmt.Errorf("--config %s: %w", file, err)
	}
	for _, k := range unknown {
		log.Warn("configuration", "key", k, "text", "is read and has no effect in this version")
	}
	if o.Ensemble, err = zooEnsemble(keys, file, &o); err != nil {
		return fmt.Errorf("--config %s: %w", file, err)
	}
	if o.Ensemble == nil {
		if id, err := os.ReadFile(filepath.Join(o.DataDir, "myid")); err == nil {
			o.ServerID, _ = strconv.Atoi(strings.TrimSpace(string(id)))
		}
	}
	fatal := make(chan error, 1)
	o.FS, o.Clock, o.Log, o.Descriptors, o.Environment = disk.OS(), clock.NewReal(), log, descriptors, zkEnvironment
	o.Fatal = func(err error) {
		select {
		case fatal <- err:
		default:
		}
	}
	s, err := server.Start(o)
	if err != nil {
		return err
	}
	ready := map[string]any{"event": "ready", "zookeeper": s.Addr().String(), "pid": os.Getpid(), "took_ms": time.Since(begun).Milliseconds()}
	for name, addr := range map[string]netip.AddrPort{"secure": s.SecureAddr(), "admin": s.AdminAddr(), "metrics": s.MetricsAddr()} {
		if addr.IsValid() {
			ready[name] = addr.String()
		}
	}
	if err := json.NewEncoder(std.out).Encode(ready); err != nil {
		return err
	}
	log.Debug("zk start left behind", "bytes", leaveStart())
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-fatal:
	}
	if err := s.Stop(); failed == nil {
		return err
	}
	return failed
}

// zooOptions turns the keys of zoo.cfg into options, and lists those that mean nothing to this version.
func zooOptions(keys map[string]string) (o server.Options, unknown []string, err error) {
	host, port, secureHost, securePort := "0.0.0.0", "", "0.0.0.0", ""
	o.Admin.Host, o.Admin.MetricsHost = "0.0.0.0", "0.0.0.0"
	number := map[string]*int{
		"tickTime": &o.TickTimeMs, "minSessionTimeout": &o.MinSessionTimeoutMs, "maxSessionTimeout": &o.MaxSessionTimeoutMs,
		"maxCnxns":                  &o.MaxCnxns,
		"autopurge.snapRetainCount": &o.SnapRetain, "autopurge.purgeInterval": &o.PurgeHours,
	}
	word := map[string]*string{
		"dataDir": &o.DataDir, "dataLogDir": &o.DataLogDir, "clientPort": &port, "clientPortAddress": &host,
		"secureClientPort": &securePort, "secureClientPortAddress": &secureHost,
	}
	for key, value := range keys {
		value = strings.TrimSpace(value)
		name := strings.TrimPrefix(key, "zookeeper.")
		switch {
		case number[name] != nil:
			if *number[name], err = strconv.Atoi(value); err != nil {
				return o, nil, fmt.Errorf("%s=%s: must be a whole number", key, value)
			}
		case word[name] != nil:
			*word[name] = value
		case name == "maxClientCnxns":
			if o.MaxClientCnxns, err = strconv.Atoi(value); err != nil {
				return o, nil, fmt.Errorf("%s=%s: must be a whole number", key, value)
			}
			if o.MaxClientCnxns == 0 { // no limit in ZooKeeper's words
				o.MaxClientCnxns = -1
			}
		case strings.HasPrefix(name, "server.") || ensembleKey(name):
			// read by zooEnsemble
		default:
			known, err := o.Property(name, value)
			if err != nil {
				return o, nil, err
			}
			if !known {
				unknown = append(unknown, key)
			}
		}
	}
	sort.Strings(unknown)
	if o.DataDir == "" || port == "" && !hasServers(keys) {
		return o, nil, fmt.Errorf("dataDir and clientPort must be set")
	}
	for key, value := range map[string]string{"clientPort": port, "secureClientPort": securePort} {
		if _, err := strconv.ParseUint(value, 10, 16); value != "" && err != nil {
			return o, nil, fmt.Errorf("%s=%s: must be a port, 0 to 65535", key, value)
		}
	}
	if securePort != "" {
		o.TLS.Addr = net.JoinHostPort(secureHost, securePort)
	}
	if port != "" {
		o.ClientAddr = net.JoinHostPort(host, port)
	}
	return o, unknown, nil
}
