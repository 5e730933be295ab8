package config

// groupRows are the rows of consumer groups and committed offsets.
func groupRows() []Row {
	return []Row{
		{Name: "group.initial.rebalance.delay.ms", Kind: Int, Default: "3000", Doc: "How long a new group waits for more members before its first rebalance."},
		{Name: "group.min.session.timeout.ms", Kind: Int, Default: "6000", Doc: "Shortest session timeout that a member may ask for."},
		{Name: "group.max.session.timeout.ms", Kind: Int, Default: "1800000", Doc: "Longest session timeout that a member may ask for."},
		{Name: "group.max.size", Kind: Int, Default: "2147483647", Valid: atLeast(1), Doc: "Members of one group."},
		{Name: "group.coordinator.append.linger.ms", Kind: Int, Default: "10", Valid: atLeast(0), Effect: Inert, Doc: "Kafka's wait to batch the coordinator's appends; Pelton appends once per turn."},
		{Name: "group.coordinator.rebalance.protocols", Kind: List, Default: "classic", Valid: oneOf("consumer", "classic", "share", "unknown"), Effect: Inert, Doc: "Group protocols that are served."},
		{Name: "group.coordinator.threads", Kind: Int, Default: "1", Valid: atLeast(1), Effect: Inert, Doc: "Kafka's coordinator threads; Pelton runs a coordinator on its partition's shard."},
		{Name: "group.consumer.assignors", Kind: List, Default: "org.apache.kafka.coordinator.group.assignor.UniformAssignor,org.apache.kafka.coordinator.group.assignor.RangeAssignor", Effect: Inert, Doc: "Server-side assignors of the consumer protocol."},
		{Name: "group.consumer.heartbeat.interval.ms", Kind: Int, Default: "5000", Valid: atLeast(1), Effect: Inert, Doc: "Beat told to members of the consumer protocol."},
		{Name: "group.consumer.min.heartbeat.interval.ms", Kind: Int, Default: "5000", Valid: atLeast(1), Effect: Inert, Doc: "Shortest such beat."},
		{Name: "group.consumer.max.heartbeat.interval.ms", Kind: Int, Default: "15000", Valid: atLeast(1), Effect: Inert, Doc: "Longest such beat."},
		{Name: "group.consumer.session.timeout.ms", Kind: Int, Default: "45000", Valid: atLeast(1), Effect: Inert, Doc: "Session timeout told to members of the consumer protocol."},
		{Name: "group.consumer.min.session.timeout.ms", Kind: Int, Default: "45000", Valid: atLeast(1), Effect: Inert, Doc: "Shortest such timeout."},
		{Name: "group.consumer.max.session.timeout.ms", Kind: Int, Default: "60000", Valid: atLeast(1), Effect: Inert, Doc: "Longest such timeout."},
		{Name: "group.consumer.max.size", Kind: Int, Default: "2147483647", Valid: atLeast(1), Effect: Inert, Doc: "Members of one group of the consumer protocol."},
		{Name: "offset.metadata.max.bytes", Kind: Int, Default: "4096", Doc: "Largest text that may be committed with an offset."},
		{Name: "offsets.commit.required.acks", Kind: Short, Default: "-1", Effect: Inert, Doc: "Replicas that must have a commit before it is answered. Only -1 is safe."},
		{Name: "offsets.commit.timeout.ms", Kind: Int, Default: "5000", Valid: atLeast(1), Effect: Inert, Doc: "Longest wait of a commit for its replicas."},
		{Name: "offsets.load.buffer.size", Kind: Int, Default: "5242880", Valid: atLeast(1), Effect: Inert, Doc: "Bytes read at a time when a group's offsets are loaded."},
		{Name: "offsets.retention.check.interval.ms", Kind: Long, Default: "600000", Valid: atLeast(1), Doc: "How often expired offsets are looked for."},
		{Name: "offsets.retention.minutes", Kind: Int, Default: "10080", Valid: atLeast(1), Doc: "How long the offsets of an empty group are kept."},
		{Name: "offsets.topic.compression.codec", Kind: Int, Default: "0", Effect: Inert, Doc: "Codec of the offsets topic, by Kafka's number."},
		{Name: "offsets.topic.num.partitions", Kind: Int, Default: "50", Valid: atLeast(1), Doc: "Partitions of the offsets topic; fixed once it exists."},
		{Name: "offsets.topic.replication.factor", Kind: Short, Default: "3", Valid: atLeast(1), Doc: "Replicas of the offsets topic. With fewer brokers alive Pelton makes it with as many as there are."},
		{Name: "offsets.topic.segment.bytes", Kind: Int, Default: "104857600", Valid: atLeast(1), Doc: "Segment size of the offsets topic."},
	}
}
