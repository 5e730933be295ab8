package server

import (
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

// metrics are what the loop counts beside stats: never set back.
type metrics struct {
	read, update, propagation           summary // from a request's coming to its answer, ms
	fsync, batch                        summary // ms of a write to the log; transactions in it
	snapshot, load, replay, txns, start summary // ms; txns counts
	created, deleted, changed, children summary // watchers told by one event
	bytesIn, bytesOut                   uint64
	connects, reads, writes, commits    uint64
	lastOut, minOut, maxOut             int64 // bytes of answers
}

func newMetrics() metrics { return metrics{lastOut: -1, minOut: -1, maxOut: -1} }

func (m *metrics) sent(n int) {
	m.bytesOut += uint64(n)
	m.lastOut = int64(n)
	m.maxOut = max(m.maxOut, m.lastOut)
	if m.minOut < 0 || m.lastOut < m.minOut {
		m.minOut = m.lastOut
	}
}

// told counts the watchers of one event.
func (m *metrics) told(event int32, n int) {
	switch event {
	case jute.EventCreated:
		m.created.add(int64(n))
	case jute.EventDeleted:
		m.deleted.add(int64(n))
	case jute.EventDataChanged:
		m.changed.add(int64(n))
	case jute.EventChildrenChanged:
		m.children.add(int64(n))
	}
}

// ZooKeeper 3.9's metrics by kind. Names whose machinery does not exist here stay at nothing, so that dashboards and
// alerts made for Apache find every one of them.
const (
	metricSummaries = `commit_commit_proc_req_queued commit_process_time concurrent_request_processing_in_commit_processor connection_token_deficit
dbinittime election_time follower_sync_time fsynctime inflight_diff_count inflight_snap_count leader_unavailable_time learner_request_processor_queue_size
netty_queued_buffer_capacity node_changed_watch_count node_children_watch_count node_created_watch_count node_deleted_watch_count observer_sync_time
pending_session_queue_size prep_process_time prep_processor_queue_size proposal_process_time read_commit_proc_issued read_commit_proc_req_queued
reads_after_write_in_session_queue reads_issued_from_session_queue requests_in_session_queue restore_time session_queues_drained snapshottime
socket_closing_time startup_snap_load_time startup_txns_load_time startup_txns_loaded sync_process_time sync_processor_batch_size sync_processor_queue_size
time_waiting_empty_pool_in_commit_processor_read_ms unavailable_time write_batch_time_in_commit_processor write_commit_proc_issued write_commit_proc_req_queued`

	metricQuantiles = `close_session_prep_time commit_propagation_latency dead_watchers_cleaner_latency jvm_pause_time_ms local_write_committed_time_ms
om_commit_process_time_ms om_proposal_process_time_ms prep_processor_queue_time_ms propagation_latency proposal_ack_creation_latency proposal_latency
quorum_ack_latency read_commitproc_time_ms read_final_proc_time_ms readlatency request_throttle_queue_time_ms server_write_committed_time_ms
sync_processor_queue_and_flush_time_ms sync_processor_queue_flush_time_ms sync_processor_queue_time_ms updatelatency write_commitproc_time_ms
write_final_proc_time_ms`

	metricCounters = `add_dead_watcher_stall_time bytes_received_count cnxn_closed_without_zk_server_running commit_count connection_drop_count
connection_rejected connection_request_count connection_revalidate_count dead_watchers_cleared dead_watchers_queued diff_count digest_mismatches_count
ensemble_auth_fail ensemble_auth_skip ensemble_auth_success insecure_admin_count large_requests_rejected learner_commit_received_count
learner_proposal_received_count looking_count outstanding_changes_queued outstanding_changes_removed prep_processor_request_queued proposal_count
quit_leading_due_to_disloyal_voter request_commit_queued request_throttle_wait_count requests_not_forwarded_to_commit_processor response_bytes
response_packet_cache_hits response_packet_cache_misses response_packet_get_children_cache_hits response_packet_get_children_cache_misses
restore_error_count restore_rate_limited_count revalidate_count sessionless_connections_expired skip_learner_request_to_next_processor_count snap_count
snapshot_error_count snapshot_rate_limited_count stale_replies stale_requests stale_requests_dropped stale_sessions_expired
sync_processor_request_queued throttled_ops tls_handshake_exceeded unrecoverable_error_count unsuccessful_handshake watch_bytes`

	metricGauges = `approximate_data_size auth_failed_count avg_latency connection_drop_probability ephemerals_count global_sessions
last_client_response_size local_sessions max_client_response_size max_file_descriptor_count max_latency min_client_response_size min_latency
non_mtls_local_conn_count non_mtls_remote_conn_count num_alive_connections open_file_descriptor_count outstanding_requests outstanding_tls_handshake
packets_received packets_sent uptime watch_count znode_count`
)

// Metrics with one value for each key.
const (
	metricKeyedSummaries = `learner_handler_qp_size read_per_namespace write_per_namespace`
	metricKeyedQuantiles = `ack_latency learner_handler_qp_time_ms`
	metricKeyedCounters  = `quota_exceeded_error_per_namespace`
	metricKeyedGauges    = `quota_bytes_limit_per_namespace quota_bytes_usage_per_namespace quota_count_limit_per_namespace quota_count_usage_per_namespace`
)

// metric is one name with its value now.
type metric struct {
	name    string
	kind    string // summary, counter or gauge
	value   float64
	summary *summary
	wide    bool    // with the upper quantiles
	set     bool    // one value for each key: keys instead of value and summary
	keys    []keyed // in order
}

// keyed is the value of one key.
type keyed struct {
	key     string
	value   float64
	summary *summary
}

// metrics lists everything in the order above.
func (l *loop) metrics() []metric {
	values, summaries := l.metricValues(), l.metricSummaries()
	var out []metric
	add := func(names, kind string, wide bool) {
		for _, n := range strings.Fields(names) {
			m := metric{name: n, kind: kind, value: values[n], wide: wide}
			if kind == "summary" {
				if m.summary = summaries[n]; m.summary == nil {
					m.summary = &summary{}
				}
			}
			out = append(out, m)
		}
	}
	add(metricSummaries, "summary", false)
	add(metricQuantiles, "summary", true)
	add(metricCounters, "counter", false)
	add(metricGauges, "gauge", false)
	out = append(out, l.ensembleGauges()...)
	return append(out, l.keyedMetrics()...)
}

func (l *loop) metricSummaries() map[string]*summary {
	m := &l.m
	return map[string]*summary{
		"readlatency": &m.read, "updatelatency": &m.update, "propagation_latency": &m.propagation, "fsynctime": &m.fsync,
		"sync_processor_batch_size": &m.batch, "snapshottime": &m.snapshot, "startup_snap_load_time": &m.load, "startup_txns_load_time": &m.replay,
		"startup_txns_loaded": &m.txns, "dbinittime": &m.start, "node_created_watch_count": &m.created, "node_deleted_watch_count": &m.deleted,
		"node_changed_watch_count": &m.changed, "node_children_watch_count": &m.children,
	}
}

func (l *loop) metricValues() map[string]float64 {
	_, _, watches := l.tree.WatchCounts()
	open, most := l.o.Descriptors()
	plain := 0
	for p := range l.peers {
		if !p.secure {
			plain++
		}
	}
	return map[string]float64{
		"approximate_data_size": float64(l.tree.ApproximateBytes() + 1), "auth_failed_count": float64(l.stats.authFailed), "avg_latency": l.stats.avgMs(),
		"ephemerals_count": float64(l.tree.EphemeralCount()), "global_sessions": float64(l.sessions.Len()),
		"last_client_response_size": float64(l.m.lastOut), "min_client_response_size": float64(l.m.minOut), "max_client_response_size": float64(l.m.maxOut),
		"max_file_descriptor_count": float64(most), "open_file_descriptor_count": float64(open), "max_latency": float64(l.stats.maxMs), "min_latency": float64(l.stats.minMs),
		"non_mtls_remote_conn_count": 0, "num_alive_connections": float64(len(l.peers)), "outstanding_requests": float64(l.stats.outstanding),
		"packets_received": float64(l.stats.received), "packets_sent": float64(l.stats.sent), "uptime": float64(l.nowMs - l.bornMs),
		"watch_count": float64(watches), "znode_count": float64(l.nodeCount()),
		"bytes_received_count": float64(l.m.bytesIn), "response_bytes": float64(l.m.bytesOut), "connection_request_count": float64(l.m.connects),
		"connection_rejected": float64(l.srv.limiter.Refused()), "commit_count": float64(l.m.commits), "snap_count": float64(l.stats.snapshots),
		"stale_sessions_expired": float64(l.stats.expired), "prep_processor_request_queued": float64(l.m.writes),
		"sync_processor_request_queued": float64(l.m.writes), "request_commit_queued": float64(l.m.writes), "proposal_count": float64(l.m.writes),
	}
}
