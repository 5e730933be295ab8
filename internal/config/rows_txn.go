package config

// txnRows are the rows of idempotent and transactional producers.
func txnRows() []Row {
	return []Row{
		{Name: "producer.id.expiration.ms", Kind: Int, Default: "86400000", Valid: atLeast(1), Update: ClusterWide, Doc: "How long the sequence numbers of a silent producer are kept."},
		{Name: "transaction.max.timeout.ms", Kind: Int, Default: "900000", Valid: atLeast(1), Effect: Inert, Doc: "Longest transaction that a producer may ask for."},
		{Name: "transaction.partition.verification.enable", Kind: Bool, Default: "true", Update: ClusterWide, Effect: Inert, Doc: "Whether a transactional write is checked with its coordinator."},
		{Name: "transaction.state.log.load.buffer.size", Kind: Int, Default: "5242880", Valid: atLeast(1), Effect: Inert, Doc: "Bytes read at a time when transactions are loaded."},
		{Name: "transaction.state.log.min.isr", Kind: Int, Default: "2", Valid: atLeast(1), Doc: "min.insync.replicas of the transaction topic."},
		{Name: "transaction.state.log.num.partitions", Kind: Int, Default: "50", Valid: atLeast(1), Doc: "Partitions of the transaction topic; fixed once it exists."},
		{Name: "transaction.state.log.replication.factor", Kind: Short, Default: "3", Valid: atLeast(1), Doc: "Replicas of the transaction topic."},
		{Name: "transaction.state.log.segment.bytes", Kind: Int, Default: "104857600", Valid: atLeast(1), Doc: "Segment size of the transaction topic."},
		{Name: "transactional.id.expiration.ms", Kind: Int, Default: "604800000", Valid: atLeast(1), Effect: Inert, Doc: "How long a silent transactional id is kept."},
		{Name: "transaction.abort.timed.out.transaction.cleanup.interval.ms", Kind: Int, Default: "10000", Valid: atLeast(1), Effect: Inert, Doc: "How often timed-out transactions are looked for."},
		{Name: "transaction.remove.expired.transaction.cleanup.interval.ms", Kind: Int, Default: "3600000", Valid: atLeast(1), Effect: Inert, Doc: "How often expired transactional ids are looked for."},
	}
}
