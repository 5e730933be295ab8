package perf

// ID names a counter or a gauge that shards write.
type ID uint16

// HistID names a histogram of nanoseconds that shards write.
type HistID uint16

// ReadID names a gauge that is asked for when the page is written.
type ReadID uint16

// Kind says what a metric's value means.
type Kind uint8

// The kinds of metric.
const (
	Counter   Kind = iota // only grows
	Gauge                 // set or moved by its shard
	Histogram             // nanoseconds inside, seconds on the page
	Read                  // a gauge with a callback
)

// String is Prometheus' word for the kind.
func (k Kind) String() string {
	switch k {
	case Counter:
		return "counter"
	case Histogram:
		return "histogram"
	case Gauge, Read:
	}
	return "gauge"
}

// Row is one metric: its name <system>_<part>_<noun>_<unit>[_total], what it means, the dimension
// it has beside the shard, and the Kafka MBean that answers the same question, when there is one.
type Row struct {
	Name   string
	Kind   Kind
	Dim    Dim
	Labels []string // of a Read row; the others have shard and the dimension's label
	JMX    string
	Help   string
}

// Counters and gauges of a shard.
const (
	Turns ID = iota
	SlowTurns
	RingEnters
	Wakeups
	Mails
	TimersFired
	BudgetBytes
	BudgetPauses
	ArenaBytes

	ConnectionsOpened
	ConnectionsClosed
	ConnectionsActive
	ConnectionsMoved
	ConnectionsPaused
	ConnectionsRefused
	BytesIn
	BytesOut
	BadFrames
	SendfileBytes
	RecordsCopiedBytes
	ZeroCopySends
	ZeroCopyFallbacks
	Corks
	SocketCalls

	Requests
	RequestErrors
	RequestBytes
	ResponseBytes
	AnsweredErrors

	ProduceBytes
	ProduceRecords
	ProduceBatches
	ProduceRejected
	ProduceDuplicates
	FetchBytes
	FetchConvertedBytes
	FetchConvertedHeld
	ProduceConvertedBytes
	FetchSessions
	FetchSessionsEvicted
	PurgatoryProduce
	PurgatoryFetch
	PurgatoryExpired

	DiskOps
	DiskBytes
	DiskErrors
	DiskInflight
	DiskInline
	DiskFixed
	ColdReads
	ColdReadBytes
	SegmentRolls

	GroupRebalances
	GroupCommits
	AuthFailures

	numIDs
)

// Histograms of a shard.
const (
	PhaseSeconds HistID = iota // by Phase
	RequestSeconds
	TurnSeconds
	SyncSeconds
	ColdReadSeconds

	numHistIDs
)

// Gauges read by a callback when the page is written.
const (
	LogStart ReadID = iota
	LogEnd
	LogSize
	LogDurableEnd
	LogSegments
	LogIndexDoubts
	LogUncleanable
	LogDirUncleanable
	LogDirDirty
	LogDirOffline
	LogDirFree
	LogDirRecovering
	LogDirUnread
	LogDirScanned
	Partitions
	LeaderPartitions
	UnderReplicated
	OfflinePartitions
	ActiveController
	Groups
	GroupMembers
	GroupOffsets
	Brokers
	Topics
	ImageVersion
	DiskBackend
	SessionConnected
	Uptime
	MachineDirty
	MachineWriteback
	BuildInfo
	ZkConnections
	ZkRequests
	ZkWatches
	ZkNodes
	ZkZxid
	ZkSessions

	numReadIDs
)

// Counters lists the rows of every ID, in order of ID.
func Counters() []Row {
	const topic = "kafka.server:type=BrokerTopicMetrics,name="
	rows := [numIDs]Row{
		Turns:        {Name: "broker_shard_turns_total", Kind: Counter, Help: "Turns of the shard's loop."},
		SlowTurns:    {Name: "broker_shard_slow_turns_total", Kind: Counter, Help: "Turns longer than pelton.slow.turn.ms."},
		RingEnters:   {Name: "broker_shard_ring_enters_total", Kind: Counter, Help: "io_uring_enter calls."},
		Wakeups:      {Name: "broker_shard_wakeups_total", Kind: Counter, Help: "Times the shard was woken by another thread."},
		Mails:        {Name: "broker_shard_mails_total", Kind: Counter, Help: "Messages taken from other shards."},
		TimersFired:  {Name: "broker_shard_timers_fired_total", Kind: Counter, Help: "Timers that fired."},
		BudgetBytes:  {Name: "broker_shard_budget_used_bytes", Kind: Gauge, Help: "Request memory taken from the shard's budget."},
		BudgetPauses: {Name: "broker_shard_budget_pauses_total", Kind: Counter, Help: "Times reading stopped because the budget was spent."},
		ArenaBytes:   {Name: "broker_shard_arena_used_bytes", Kind: Gauge, Help: "Off-heap buffers in use."},

		ConnectionsOpened:  {Name: "broker_network_connections_opened_total", Kind: Counter, JMX: "kafka.server:type=socket-server-metrics,name=connection-creation-total", Help: "Connections accepted."},
		ConnectionsClosed:  {Name: "broker_network_connections_closed_total", Kind: Counter, Dim: DimClose, JMX: "kafka.server:type=socket-server-metrics,name=connection-close-total", Help: "Connections closed, by cause."},
		ConnectionsActive:  {Name: "broker_network_connections_active_count", Kind: Gauge, JMX: "kafka.server:type=socket-server-metrics,name=connection-count", Help: "Connections open now."},
		ConnectionsMoved:   {Name: "broker_network_connections_moved_total", Kind: Counter, Help: "Connections that moved to the shard that their requests go to."},
		ConnectionsPaused:  {Name: "broker_network_connections_paused_count", Kind: Gauge, Help: "Connections whose reading is stopped now."},
		ConnectionsRefused: {Name: "broker_network_connections_refused_total", Kind: Counter, Help: "Connections refused by a connection limit."},
		BytesIn:            {Name: "broker_network_received_bytes_total", Kind: Counter, Help: "Bytes read from sockets."},
		BytesOut:           {Name: "broker_network_sent_bytes_total", Kind: Counter, Help: "Bytes sent to sockets, file bytes included."},
		BadFrames:          {Name: "broker_network_bad_frames_total", Kind: Counter, Help: "Frames that could not be read: size, header, version or body."},
		SendfileBytes:      {Name: "broker_network_sendfile_bytes_total", Kind: Counter, Help: "Bytes sent from files without a copy in user space."},
		RecordsCopiedBytes: {Name: "broker_network_records_copied_bytes_total", Kind: Counter, Help: "Bytes of records that were read into memory to be sent: not with pelton.send.path=sendfile."},
		ZeroCopySends:      {Name: "broker_network_zerocopy_sends_total", Kind: Counter, Help: "Sends from memory by reference (MSG_ZEROCOPY)."},
		ZeroCopyFallbacks:  {Name: "broker_network_zerocopy_copied_total", Kind: Counter, Help: "Those that the kernel copied after all, as it does for a receiver on the same machine."},
		Corks:              {Name: "broker_network_corks_total", Kind: Counter, Help: "Sends that were held together by TCP_CORK."},
		SocketCalls:        {Name: "broker_network_socket_calls_total", Kind: Counter, Help: "Read and write calls on sockets."},

		Requests:       {Name: "broker_api_requests_total", Kind: Counter, Dim: DimAPI, JMX: "kafka.network:type=RequestMetrics,name=RequestsPerSec", Help: "Requests taken, by API."},
		RequestErrors:  {Name: "broker_api_request_errors_total", Kind: Counter, Dim: DimAPI, JMX: "kafka.network:type=RequestMetrics,name=ErrorsPerSec", Help: "Requests with at least one error code in the answer, by API."},
		RequestBytes:   {Name: "broker_api_request_bytes_total", Kind: Counter, Dim: DimAPI, Help: "Bytes of requests, by API."},
		ResponseBytes:  {Name: "broker_api_response_bytes_total", Kind: Counter, Dim: DimAPI, Help: "Bytes of answers, by API."},
		AnsweredErrors: {Name: "broker_api_answered_errors_total", Kind: Counter, Dim: DimCode, Help: "Error codes answered, by Kafka's number."},

		ProduceBytes:          {Name: "broker_produce_received_bytes_total", Kind: Counter, JMX: topic + "BytesInPerSec", Help: "Bytes of record batches appended for producers."},
		ProduceRecords:        {Name: "broker_produce_records_total", Kind: Counter, JMX: topic + "MessagesInPerSec", Help: "Records appended for producers."},
		ProduceBatches:        {Name: "broker_produce_batches_total", Kind: Counter, Help: "Record batches appended for producers."},
		ProduceRejected:       {Name: "broker_produce_rejected_batches_total", Kind: Counter, JMX: topic + "FailedProduceRequestsPerSec", Help: "Record batches refused: checksum, structure, size, sequence or epoch."},
		ProduceDuplicates:     {Name: "broker_produce_duplicate_batches_total", Kind: Counter, Help: "Batches of idempotent producers that were in the log already."},
		FetchBytes:            {Name: "broker_fetch_sent_bytes_total", Kind: Counter, JMX: topic + "BytesOutPerSec", Help: "Bytes of record batches sent to consumers."},
		FetchConvertedHeld:    {Name: "broker_fetch_converted_held_bytes", Kind: Gauge, Help: "Memory of converted records that sockets have not taken yet."},
		ProduceConvertedBytes: {Name: "broker_produce_converted_bytes_total", Kind: Counter, JMX: topic + "ProduceMessageConversionsPerSec", Help: "Record bytes written in another form than their producer sent: an older format or another codec."},
		FetchConvertedBytes:   {Name: "broker_fetch_converted_bytes_total", Kind: Counter, JMX: topic + "FetchMessageConversionsPerSec", Help: "Record bytes converted down for old clients."},
		FetchSessions:         {Name: "broker_fetch_sessions_count", Kind: Gauge, JMX: "kafka.server:type=FetchSessionCache,name=NumIncrementalFetchSessions", Help: "Fetch sessions open now."},
		FetchSessionsEvicted:  {Name: "broker_fetch_sessions_evicted_total", Kind: Counter, JMX: "kafka.server:type=FetchSessionCache,name=IncrementalFetchSessionEvictionsPerSec", Help: "Fetch sessions evicted for another."},
		PurgatoryProduce:      {Name: "broker_purgatory_produce_waiting_count", Kind: Gauge, JMX: "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySizeProduce", Help: "Produce requests taken and not answered: they wait for the disk, for replicas, or for a partition that is being opened."},
		PurgatoryFetch:        {Name: "broker_purgatory_fetch_waiting_count", Kind: Gauge, JMX: "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySizeFetch", Help: "Fetch requests that wait for data, once for each shard that has partitions of theirs."},
		PurgatoryExpired:      {Name: "broker_purgatory_expired_total", Kind: Counter, JMX: "kafka.server:type=DelayedOperationPurgatory,name=ExpiresPerSec", Help: "Waiting requests answered by their deadline."},

		DiskOps:       {Name: "broker_disk_operations_total", Kind: Counter, Dim: DimDisk, Help: "Disk operations, by backend and kind."},
		DiskBytes:     {Name: "broker_disk_transferred_bytes_total", Kind: Counter, Dim: DimDisk, Help: "Bytes of disk operations, by backend and kind."},
		DiskErrors:    {Name: "broker_disk_errors_total", Kind: Counter, Dim: DimDisk, Help: "Disk operations that failed, by backend and kind."},
		DiskInflight:  {Name: "broker_disk_inflight_count", Kind: Gauge, Help: "Disk operations submitted and not reaped."},
		DiskFixed:     {Name: "broker_disk_fixed_writes_total", Kind: Counter, Help: "Appends that a ring wrote from registered buffers."},
		DiskInline:    {Name: "broker_disk_inline_writes_total", Kind: Counter, Help: "Appends written inline because they were small and the directory quick."},
		ColdReads:     {Name: "broker_disk_cold_reads_total", Kind: Counter, Help: "Reads that found their range outside the page cache."},
		ColdReadBytes: {Name: "broker_disk_cold_read_bytes_total", Kind: Counter, Help: "Bytes loaded into the page cache for cold reads."},
		SegmentRolls:  {Name: "broker_log_segment_rolls_total", Kind: Counter, Help: "Segments closed because the next batch did not fit."},

		GroupRebalances: {Name: "broker_group_rebalances_total", Kind: Counter, JMX: "kafka.server:type=group-coordinator-metrics,name=group-completed-rebalance-count", Help: "Rebalances completed."},
		GroupCommits:    {Name: "broker_group_commits_total", Kind: Counter, JMX: "kafka.server:type=group-coordinator-metrics,name=offset-commit-count", Help: "Offsets committed."},
		AuthFailures:    {Name: "broker_auth_failures_total", Kind: Counter, JMX: "kafka.server:type=socket-server-metrics,name=failed-authentication-total", Help: "Authentications that failed."},
	}
	return rows[:]
}

// Histograms lists the rows of every HistID, in order of HistID.
func Histograms() []Row {
	rows := [numHistIDs]Row{
		PhaseSeconds:    {Name: "broker_request_phase_seconds", Kind: Histogram, Dim: DimPhase, Help: "Time that requests spent in each phase, by kind of request; of one request in sixty-one."},
		RequestSeconds:  {Name: "broker_request_total_seconds", Kind: Histogram, Dim: DimClass, JMX: "kafka.network:type=RequestMetrics,name=TotalTimeMs", Help: "From the whole frame read to the answer handed to the socket."},
		TurnSeconds:     {Name: "broker_shard_turn_seconds", Kind: Histogram, Help: "Length of the shard's turns, sleep excluded."},
		SyncSeconds:     {Name: "broker_logstore_sync_seconds", Kind: Histogram, JMX: "kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs", Help: "From handing a durable append to its log to the turn that finds it done."},
		ColdReadSeconds: {Name: "broker_disk_cold_read_seconds", Kind: Histogram, Help: "Time to bring a cold range into the page cache."},
	}
	return rows[:]
}

// Reads lists the rows of every ReadID, in order of ReadID.
func Reads() []Row {
	tp := []string{"topic", "partition"}
	rm := "kafka.server:type=ReplicaManager,name="
	rows := [numReadIDs]Row{
		LogStart:          {Name: "broker_log_start_offset", Kind: Read, Labels: tp, JMX: "kafka.log:type=Log,name=LogStartOffset", Help: "First offset of the log."},
		LogEnd:            {Name: "broker_log_end_offset", Kind: Read, Labels: tp, JMX: "kafka.log:type=Log,name=LogEndOffset", Help: "Offset that the next record gets."},
		LogSize:           {Name: "broker_log_size_bytes", Kind: Read, Labels: tp, JMX: "kafka.log:type=Log,name=Size", Help: "Bytes of the log's segments."},
		LogDurableEnd:     {Name: "broker_log_durable_offset", Kind: Read, Labels: tp, Help: "Everything below this offset has been synced to the disk."},
		LogSegments:       {Name: "broker_log_segments_count", Kind: Read, Labels: tp, JMX: "kafka.log:type=Log,name=NumLogSegments", Help: "Segments of the log."},
		LogIndexDoubts:    {Name: "broker_log_index_doubts_count", Kind: Read, Labels: tp, Help: "Lookups that met an offset index entry that points at no batch of its offset, and searched the segment instead: repair with pelton log index."},
		LogUncleanable:    {Name: "broker_log_uncleanable_bytes", Kind: Read, Labels: []string{"topic", "partition", "cause"}, Help: "Bytes that a log keeps dirty, since its cleaning has failed, and why it has."},
		LogDirUncleanable: {Name: "broker_logdir_uncleanable_count", Kind: Read, Labels: []string{"dir"}, JMX: "kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count", Help: "Logs whose cleaning has failed; they are left alone until the next start."},
		LogDirDirty:       {Name: "broker_logdir_uncleanable_bytes", Kind: Read, Labels: []string{"dir"}, JMX: "kafka.log:type=LogCleanerManager,name=uncleanable-bytes", Help: "Bytes that those logs keep dirty."},
		LogDirOffline:     {Name: "broker_logdir_offline_count", Kind: Read, Labels: []string{"dir", "cause"}, JMX: "kafka.log:type=LogManager,name=OfflineLogDirectoryCount", Help: "1 when the log directory is offline, and why it is."},
		LogDirRecovering:  {Name: "broker_logdir_recovering_count", Kind: Read, Labels: []string{"dir"}, JMX: "kafka.log:type=LogManager,name=remainingLogsToRecover", Help: "Logs that have not been opened yet since the directory's unclean stop."},
		LogDirUnread:      {Name: "broker_logdir_recovering_segments_count", Kind: Read, Labels: []string{"dir"}, JMX: "kafka.log:type=LogManager,name=remainingSegmentsToRecover", Help: "Segments that those logs have yet to read."},
		LogDirScanned:     {Name: "broker_logdir_recovered_bytes", Kind: Read, Labels: []string{"dir"}, Help: "Bytes that the recovery after the directory's unclean stop has read."},
		LogDirFree:        {Name: "broker_logdir_free_bytes", Kind: Read, Labels: []string{"dir"}, Help: "Free bytes of the log directory's file system."},
		Partitions:        {Name: "broker_replica_partitions_count", Kind: Read, JMX: rm + "PartitionCount", Help: "Partitions hosted here."},
		LeaderPartitions:  {Name: "broker_replica_leaders_count", Kind: Read, JMX: rm + "LeaderCount", Help: "Partitions led from here."},
		UnderReplicated:   {Name: "broker_replica_under_replicated_count", Kind: Read, JMX: rm + "UnderReplicatedPartitions", Help: "Led partitions with replicas out of sync."},
		OfflinePartitions: {Name: "broker_controller_offline_partitions_count", Kind: Read, JMX: "kafka.controller:type=KafkaController,name=OfflinePartitionsCount", Help: "Partitions without a leader."},
		ActiveController:  {Name: "broker_controller_active_count", Kind: Read, JMX: "kafka.controller:type=KafkaController,name=ActiveControllerCount", Help: "1 when this broker is the controller."},
		Groups:            {Name: "broker_group_groups_count", Kind: Read, Labels: []string{"state"}, JMX: "kafka.coordinator.group:type=GroupMetadataManager,name=NumGroups", Help: "Groups coordinated here, by state."},
		GroupMembers:      {Name: "broker_group_members_count", Kind: Read, Help: "Members of the groups coordinated here."},
		GroupOffsets:      {Name: "broker_group_offsets_count", Kind: Read, JMX: "kafka.coordinator.group:type=GroupMetadataManager,name=NumOffsets", Help: "Committed offsets held here."},
		Brokers:           {Name: "broker_image_brokers_count", Kind: Read, JMX: "kafka.controller:type=KafkaController,name=ActiveBrokerCount", Help: "Brokers in the cluster image."},
		Topics:            {Name: "broker_image_topics_count", Kind: Read, JMX: "kafka.controller:type=KafkaController,name=GlobalTopicCount", Help: "Topics in the cluster image."},
		ImageVersion:      {Name: "broker_image_version_number", Kind: Read, Help: "Version of the cluster image that Metadata answers from."},
		DiskBackend:       {Name: "broker_disk_backend_info", Kind: Read, Labels: []string{"backend", "reason"}, Help: "1 for the disk backend in use, with the reason when it is not the best one."},
		SessionConnected:  {Name: "broker_coordination_connected_count", Kind: Read, JMX: "kafka.server:type=SessionExpireListener,name=SessionState", Help: "1 while the coordination session is alive."},
		Uptime:            {Name: "broker_process_uptime_seconds", Kind: Read, Help: "Seconds since the start."},
		MachineDirty:      {Name: "broker_machine_dirty_bytes", Kind: Read, Help: "Pages of the whole machine's page cache that nobody has begun to write to a disk (nr_dirty of /proc/vmstat); writers are stopped at vm.dirty_ratio."},
		MachineWriteback:  {Name: "broker_machine_writeback_bytes", Kind: Read, Help: "Those that are being written (nr_writeback)."},
		BuildInfo:         {Name: "broker_build_info", Kind: Read, Labels: []string{"version", "commit", "go"}, JMX: "kafka.server:type=app-info,name=version", Help: "1, with the build's labels."},
		ZkConnections:     {Name: "zk_server_connections_count", Kind: Read, Help: "Client connections of the coordination server."},
		ZkRequests:        {Name: "zk_server_outstanding_count", Kind: Read, Help: "Requests taken and not answered."},
		ZkWatches:         {Name: "zk_tree_watches_count", Kind: Read, Help: "Watches set."},
		ZkNodes:           {Name: "zk_tree_nodes_count", Kind: Read, Help: "Znodes."},
		ZkZxid:            {Name: "zk_tree_zxid_number", Kind: Read, Help: "Last transaction applied."},
		ZkSessions:        {Name: "zk_server_sessions_count", Kind: Read, Help: "Sessions alive."},
	}
	return rows[:]
}
