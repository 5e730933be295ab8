package config

// replicaRows are the rows of replication.
func replicaRows() []Row {
	return []Row{
		{Name: "num.replica.fetchers", Kind: Int, Default: "1", Update: ClusterWide, Effect: Inert, Doc: "Parallel fetches from one leader."},
		{Name: "num.replica.alter.log.dirs.threads", Kind: Int, Default: None, Doc: "Threads that move replicas between directories; not set: as many as there are directories."},
		{Name: "replica.fetch.backoff.ms", Kind: Int, Default: "1000", Valid: atLeast(0), Effect: Inert, Doc: "Pause of a follower after a failed fetch."},
		{Name: "replica.fetch.max.bytes", Kind: Int, Default: "1048576", Valid: atLeast(0), Effect: Inert, Doc: "Bytes that a follower asks for per partition."},
		{Name: "replica.fetch.min.bytes", Kind: Int, Default: "1", Effect: Inert, Doc: "Bytes that a follower waits for."},
		{Name: "replica.fetch.response.max.bytes", Kind: Int, Default: "10485760", Valid: atLeast(0), Effect: Inert, Doc: "Bytes that a follower takes in one answer."},
		{Name: "replica.fetch.wait.max.ms", Kind: Int, Default: "500", Effect: Inert, Doc: "Longest wait of a follower's fetch; below replica.lag.time.max.ms."},
		{Name: "replica.high.watermark.checkpoint.interval.ms", Kind: Long, Default: "5000", Effect: Inert, Doc: "How often high watermarks are written."},
		{Name: "replica.lag.time.max.ms", Kind: Long, Default: "30000", Effect: Inert, Doc: "A follower that has not caught up for this long leaves the in-sync set."},
		{Name: "replica.selector.class", Kind: String, Default: None, Effect: Inert, Doc: "Java class that picks the replica a consumer reads from."},
		{Name: "replica.socket.receive.buffer.bytes", Kind: Int, Default: "65536", Effect: Inert, Doc: "SO_RCVBUF of connections to leaders."},
		{Name: "replica.socket.timeout.ms", Kind: Int, Default: "30000", Effect: Inert, Doc: "Longest wait for a leader's answer."},
		{Name: "replication.quota.window.num", Kind: Int, Default: "11", Valid: atLeast(1), Effect: Inert, Doc: "Windows kept for the replication quota."},
		{Name: "replication.quota.window.size.seconds", Kind: Int, Default: "1", Valid: atLeast(1), Effect: Inert, Doc: "Length of one such window."},
		{Name: "alter.log.dirs.replication.quota.window.num", Kind: Int, Default: "11", Valid: atLeast(1), Effect: Inert, Doc: "Windows kept for the quota on moves between directories."},
		{Name: "alter.log.dirs.replication.quota.window.size.seconds", Kind: Int, Default: "1", Valid: atLeast(1), Effect: Inert, Doc: "Length of one such window."},
	}
}
