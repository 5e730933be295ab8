package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// AdminOptions are the settings of the admin server, admin.*, and of the page of metrics, metricsProvider.*. Both are off unless switched on.
type AdminOptions struct {
	Enabled    bool   // admin.enableServer
	Host       string // admin.serverAddress, 0.0.0.0
	Port       int    // admin.serverPort; 0 picks a free one
	CommandURL string // admin.commandURL, /commands
	// Snapshot is admin.snapshot.enabled: the superuser may have a snapshot sent, one in SnapshotEveryMs, admin.snapshot.intervalInMS.
	Snapshot        bool
	SnapshotEveryMs int

	Metrics     bool   // metricsProvider.className is the one for Prometheus
	MetricsHost string // metricsProvider.httpHost, 0.0.0.0
	MetricsPort int    // metricsProvider.httpPort; 0 picks a free one
}

// Addr is where the admin server listens.
func (a *AdminOptions) Addr() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// MetricsAddr is where the page of metrics is.
func (a *AdminOptions) MetricsAddr() string {
	return net.JoinHostPort(a.MetricsHost, strconv.Itoa(a.MetricsPort))
}

// Ports of ZooKeeper when it is told none.
const (
	adminPort   = 8080
	metricsPort = 7000
)

// property takes a name from admin. or metricsProvider. on.
func (a *AdminOptions) property(name, value string) (known bool, err error) {
	switch name {
	case "admin.enableServer":
		a.Enabled = value == "true"
		if a.Enabled && a.Port == 0 {
			a.Port = adminPort
		}
	case "admin.serverAddress":
		a.Host = value
	case "admin.serverPort":
		a.Port, err = strconv.Atoi(value)
	case "admin.commandURL":
		if a.CommandURL = value; !strings.HasPrefix(value, "/") {
			err = errors.New("must begin with a slash")
		}
	case "admin.snapshot.enabled":
		a.Snapshot = value == "true"
	case "admin.snapshot.intervalInMS":
		a.SnapshotEveryMs, err = strconv.Atoi(value)
	case "metricsProvider.className":
		switch value[strings.LastIndexByte(value, '.')+1:] {
		case "PrometheusMetricsProvider":
			a.Metrics = true
			if a.MetricsPort == 0 {
				a.MetricsPort = metricsPort
			}
		case "DefaultMetricsProvider", "NullMetricsProvider":
			a.Metrics = false
		default:
			err = errors.New("there is the one for Prometheus and the default")
		}
	case "metricsProvider.httpHost":
		a.MetricsHost = value
	case "metricsProvider.httpPort":
		a.MetricsPort, err = strconv.Atoi(value)
	case "admin.restore.enabled":
		if value == "true" {
			err = errors.New("a state is not put in over HTTP here: pelton zk import does it")
		}
	case "admin.idleTimeout", "metricsProvider.exportJvmInfo", "metricsProvider.numWorkerThreads", "metricsProvider.maxQueueSize", "metricsProvider.workerShutdownTimeoutMs":
		// there is nothing here that these would change
	default:
		return false, nil
	}
	return true, err
}

// adminCommand answers one command; it runs on the loop.
type adminCommand func(l *loop, query func(string) string) (object, error)

// adminCommands are those of ZooKeeper 3.9, and the shorter names that it takes for some.
func adminCommands() map[string]adminCommand {
	stats := func(l *loop, _ func(string) string) (object, error) { return l.adminStats(false), nil }
	nothing := func(*loop, func(string) string) (object, error) { return nil, nil }
	return map[string]adminCommand{
		"configuration": (*loop).adminConfiguration, "conf": (*loop).adminConfiguration,
		"connection_stat_reset": func(l *loop, _ func(string) string) (object, error) { l.resetPeers(); return nil, nil },
		"connections":           (*loop).adminConnections, "cons": (*loop).adminConnections,
		"dirs": (*loop).adminDirs, "dump": (*loop).adminDump, "environment": (*loop).adminEnvironment, "envi": (*loop).adminEnvironment,
		"get_trace_mask": func(l *loop, _ func(string) string) (object, error) { return object{{"tracemask", l.traceMask}}, nil },
		"hash":           func(*loop, func(string) string) (object, error) { return object{{"digests", []any{}}}, nil },
		"is_read_only":   func(*loop, func(string) string) (object, error) { return object{{"read_only", false}}, nil },
		"last_snapshot":  (*loop).adminLastSnapshot, "leader": (*loop).adminLeader, "monitor": (*loop).adminMonitor, "mntr": (*loop).adminMonitor,
		"observer_connection_stat_reset": nothing,
		"initial_configuration": func(*loop, func(string) string) (object, error) {
			return object{{"initial_configuration", nil}}, nil
		},
		"observers": (*loop).adminObservers,
		"ruok":      nothing, "server_stats": stats, "srvr": stats,
		"set_trace_mask": (*loop).adminSetTraceMask, "stmk": (*loop).adminSetTraceMask,
		"stat_reset":        func(l *loop, _ func(string) string) (object, error) { l.stats.reset(l.nowMs); return nil, nil },
		"stats":             func(l *loop, _ func(string) string) (object, error) { return l.adminStats(true), nil },
		"stat":              func(l *loop, _ func(string) string) (object, error) { return l.adminStats(true), nil },
		"system_properties": (*loop).adminProperties,
		"voting_view":       (*loop).adminVotingView,
		"watch_summary":     (*loop).adminWatchSummary, "wchs": (*loop).adminWatchSummary,
		"watches": (*loop).adminWatches, "wchc": (*loop).adminWatches, "watches_by_path": (*loop).adminWatchesByPath, "wchp": (*loop).adminWatchesByPath,
		"zabstate": (*loop).adminZabState,
	}
}

// adminListed are the names on the list page, as 3.9 shows them.
const adminListed = `configuration connection_stat_reset connections dirs dump environment get_trace_mask hash initial_configuration is_read_only last_snapshot leader monitor
observer_connection_stat_reset observers ruok server_stats set_trace_mask stat_reset stats system_properties voting_view watch_summary watches watches_by_path zabstate`

func (s *Server) adminNames() []string {
	names := strings.Fields(adminListed)
	if s.o.Admin.Snapshot {
		names = append(names, "snapshot")
		slices.Sort(names)
	}
	return names
}

func (s *Server) adminHandler() http.Handler {
	base := s.o.Admin.CommandURL
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, under := strings.CutPrefix(r.URL.Path, base)
		switch {
		case !under || name != "" && name[0] != '/':
			http.NotFound(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "commands that read or reset are asked with GET", http.StatusMethodNotAllowed)
		case strings.Trim(name, "/") == "":
			w.Header().Set("Content-Type", "text/html;charset=utf-8")
			for _, n := range s.adminNames() {
				fmt.Fprintf(w, "<a href=\"%s/%s\">%s</a>\n<br/>\n", base, n, n)
			}
		case strings.Trim(name, "/") == "snapshot" && s.o.Admin.Snapshot:
			s.adminSnapshot(w, r)
		default:
			s.adminAnswer(w, r, strings.Trim(name, "/"))
		}
	})
}

// answered is what a command gave.
type answered struct {
	body object
	err  error
}

func (s *Server) adminAnswer(w http.ResponseWriter, r *http.Request, name string) {
	var a answered
	if run := adminCommands()[name]; run == nil {
		a.err = fmt.Errorf("Unknown command: %s", name)
	} else {
		got, err := ask(s, func(l *loop) answered {
			if l.mute(name) {
				return answered{err: errNotServing}
			}
			body, err := run(l, r.URL.Query().Get)
			return answered{body, err}
		})
		if a = got; err != nil {
			a.err = err
		}
	}
	out := append(a.body, field{"command", name}, field{"error", nil})
	if a.err != nil {
		out = object{{"command", name}, {"error", a.err.Error()}}
	}
	var b strings.Builder
	appendPretty(&b, out, "")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(b.String()))
}

func (s *Server) metricsHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		text, err := ask(s, func(l *loop) string { return exposition(l.metrics()) })
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write([]byte(text))
	})
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
