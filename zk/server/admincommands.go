package server

import (
	"errors"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/zk/tree"
)

func (l *loop) adminConfiguration(func(string) string) (object, error) {
	out := object{{"client_port", l.srv.Addr().Port()}}
	if a := l.srv.SecureAddr(); a.IsValid() {
		out = append(out, field{"secure_client_port", a.Port()})
	}
	return append(out, object{{"data_dir", l.snap.dir}, {"data_log_dir", l.snap.logDir}, {"tick_time", l.o.TickTimeMs}, {"max_client_cnxns", l.o.MaxClientCnxns},
		{"min_session_timeout", l.o.MinSessionTimeoutMs}, {"max_session_timeout", l.o.MaxSessionTimeoutMs}, {"server_id", l.o.ServerID},
		{"client_port_listen_backlog", -1}}...), nil
}

func (l *loop) adminConnections(func(string) string) (object, error) { return l.connections(true), nil }

// connections lists them, long with what their sessions did.
func (l *loop) connections(long bool) object {
	plain, covered := []any{}, []any{}
	for _, p := range l.sorted() {
		c := object{{"remote_socket_address", p.c.Remote.String()}, {"interest_ops", 1}, {"outstanding_requests", len(p.queue) - p.head},
			{"packets_received", p.stats.received}, {"packets_sent", p.stats.sent}}
		if p.sess != nil && long {
			c = append(c, object{{"session_id", p.sess.ID}, {"last_operation", p.stats.lastOp}, {"established", p.stats.sinceMs}, {"session_timeout", p.sess.TimeoutMs},
				{"last_cxid", p.stats.lastXid}, {"last_zxid", p.stats.lastZxid}, {"last_response_time", p.stats.lastAtMs}, {"last_latency", p.stats.lastMs},
				{"min_latency", p.stats.minMs}, {"avg_latency", int64(p.stats.avgMs())}, {"max_latency", p.stats.maxMs}}...)
		}
		if p.secure {
			covered = append(covered, c)
		} else {
			plain = append(plain, c)
		}
	}
	return object{{"connections", plain}, {"secure_connections", covered}}
}

func (l *loop) adminDirs(func(string) string) (object, error) {
	return object{{"datadir_size", l.dirBytes(l.snap.dir)}, {"logdir_size", l.dirBytes(l.snap.logDir)}}, nil
}

func (l *loop) adminDump(func(string) string) (object, error) {
	sessions, paths := object{}, object{}
	each := l.sessions.Buckets
	if l.ens != nil && l.mode() != "leader" {
		each = func(func(int64, []int64)) {} // they are the leader's to end
	}
	each(func(ms int64, ids []int64) {
		list := make([]any, len(ids))
		for i, id := range ids {
			list[i] = id
		}
		sessions = append(sessions, field{strconv.FormatInt(ms, 10), list})
	})
	for _, id := range l.tree.Owners() {
		paths = append(paths, field{strconv.FormatInt(id, 10), texts(l.tree.Ephemerals(id))})
	}
	return object{{"expiry_time_to_session_ids", sessions}, {"session_id_to_ephemeral_paths", paths}}, nil
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func (l *loop) adminEnvironment(func(string) string) (object, error) {
	var out object
	for _, line := range strings.Split(strings.TrimSpace(l.wordEnv()), "\n")[1:] {
		name, value, _ := strings.Cut(line, "=")
		out = append(out, field{name, value})
	}
	return out, nil
}

// adminProperties are those of Java's system properties that mean something here. What stands in zoo.cfg is not told: Apache's shows passwords.
func (l *loop) adminProperties(func(string) string) (object, error) {
	var out object
	for _, e := range l.o.Environment() {
		if e[0] != "host.name" && !strings.HasPrefix(e[0], "os.memory.") {
			out = append(out, field{e[0], e[1]})
		}
	}
	return out, nil
}

func (l *loop) adminLastSnapshot(func(string) string) (object, error) {
	return object{{"zxid", strconv.FormatInt(l.snap.last, 16)}, {"timestamp", l.snap.lastMs / 1000}}, nil
}

func (l *loop) adminMonitor(func(string) string) (object, error) {
	out := object{{"version", version}, {"server_state", l.mode()}}
	l.peerState(func(name string, v any) { out = append(out, field{name, v}) })
	list := l.metrics()
	for i := range list {
		if !l.o.Admin.Metrics {
			list[i].putShort(func(name string, v any) { out = append(out, field{name, number(v)}) })
			continue
		}
		for _, r := range list[i].rows("") {
			out = append(out, field{r.name + r.labels, number(r.value)})
		}
	}
	return out, nil
}

// number is a text as a number where it is one.
func number(v any) any {
	if text, ok := v.(string); ok {
		if f, err := strconv.ParseFloat(text, 64); err == nil && f == f {
			return f
		}
	}
	return v
}

// adminStats is the summary of the server, long with its connections.
func (l *loop) adminStats(long bool) object {
	sizes := object{{"last_buffer_size", l.m.lastOut}, {"min_buffer_size", l.m.minOut}, {"max_buffer_size", l.m.maxOut}}
	out := object{{"version", version}, {"read_only", false},
		{"server_stats", object{{"packets_sent", l.stats.sent}, {"packets_received", l.stats.received}, {"fsync_threshold_exceed_count", 0},
			{"client_response_stats", sizes}, {"uptime", l.nowMs - l.bornMs}, {"provider_null", false}, {"data_dir_size", l.dirBytes(l.snap.dir)},
			{"log_dir_size", l.dirBytes(l.snap.logDir)}, {"last_processed_zxid", l.tree.Zxid}, {"outstanding_requests", l.stats.outstanding},
			{"server_state", l.mode()}, {"avg_latency", l.stats.avgMs()}, {"max_latency", l.stats.maxMs}, {"min_latency", l.stats.minMs},
			{"num_alive_client_connections", len(l.peers)}, {"auth_failed_count", l.stats.authFailed}, {"non_mtlsremote_conn_count", 0}, {"non_mtlslocal_conn_count", 0}}},
		{"client_response", sizes}}
	if l.ens != nil && l.mode() == "leader" {
		p := l.ens.member.Proposals
		out = append(out, field{"proposal_stats", object{{"last_buffer_size", p.Last}, {"min_buffer_size", p.Min}, {"max_buffer_size", p.Max}}})
	}
	out = append(out, field{"node_count", l.nodeCount()})
	if long {
		out = append(out, l.connections(false)...)
	}
	return out
}

var errTraceMask = errors.New("setTraceMask requires long traceMask argument")

func (l *loop) adminSetTraceMask(query func(string) string) (object, error) {
	n, err := strconv.ParseInt(query("traceMask"), 10, 64)
	if err != nil {
		return nil, errTraceMask
	}
	l.traceMask = n
	return object{{"tracemask", n}}, nil
}

func (l *loop) adminWatchSummary(func(string) string) (object, error) {
	watchers, paths, watches := l.tree.DataWatchCounts()
	return object{{"num_connections", watchers}, {"num_paths", paths}, {"num_total_watches", watches}}, nil
}

func (l *loop) adminWatches(func(string) string) (object, error) {
	by := map[string][]any{}
	l.tree.EachDataWatch(func(path string, who tree.Watcher) {
		id := strconv.FormatInt(who.(*peer).sess.ID, 10)
		by[id] = append(by[id], path)
	})
	return object{{"session_id_to_watched_paths", listed(by)}}, nil
}

func (l *loop) adminWatchesByPath(func(string) string) (object, error) {
	by := map[string][]any{}
	l.tree.EachDataWatch(func(path string, who tree.Watcher) { by[path] = append(by[path], who.(*peer).sess.ID) })
	return object{{"path_to_session_ids", listed(by)}}, nil
}

func listed(by map[string][]any) object {
	out := object{}
	for _, k := range sortedKeys(by) {
		out = append(out, field{k, by[k]})
	}
	return out
}
