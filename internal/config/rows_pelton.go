package config

// peltonRows are the rows that only Pelton has.
func peltonRows() []Row {
	return []Row{
		{Name: "num.shards", Kind: Int, Default: "0", Valid: between(0, 1024), Doc: "Shards: loops with their own thread, sockets, ring and partitions. 0: one per usable CPU."},
		{Name: "admin.listener", Kind: String, Default: None, Doc: "host:port of /metrics, /healthz and /debug/pprof. Not set: none. Port 0: a free port, told in the ready line."},
		{Name: "pelton.poller", Kind: String, Default: "epoll", Valid: oneOf("gnet", "epoll"), Doc: "How a shard waits for its sockets: gnet's poller or our own on epoll."},
		{Name: "pelton.disk.backend", Kind: String, Default: "auto", Valid: oneOf("auto", "uring", "portable"), Doc: "How logs are written: auto decides per append; uring and portable force one way."},
		{Name: "pelton.disk.inline.max.bytes", Kind: Int, Default: "65536", Valid: atLeast(0), Doc: "Largest append without durability that auto writes at once on the shard. 0: never."},
		{Name: "pelton.disk.workers", Kind: Int, Default: "0", Valid: between(0, 1024), Doc: "Threads per log directory of the portable backend. 0: twice the CPUs, four at least."},
		{Name: "pelton.uring.entries", Kind: Int, Default: "1024", Valid: between(8, 32768), Doc: "Entries of each shard's ring."},
		{Name: "pelton.uring.sqpoll", Kind: Bool, Default: "false", Doc: "Whether a kernel thread polls the ring. It takes a core of its own."},
		{Name: "pelton.uring.defer.taskrun", Kind: Bool, Default: "true", Doc: "Whether the kernel leaves a ring's completions until the shard asks for them, where it can. Not with sqpoll."},
		{Name: "pelton.uring.fixed.buffers", Kind: Bool, Default: "false", Doc: "Whether request buffers are registered with the ring and appends are written from them as such. Refused at start where locked memory is short."},
		{Name: "pelton.uring.iowq.bounded.max", Kind: Int, Default: "0", Valid: between(0, 32768), Doc: "Kernel workers of a ring for file operations. 0: twice the CPUs, four at least."},
		{Name: "pelton.uring.iowq.unbounded.max", Kind: Int, Default: "0", Valid: between(0, 32768), Doc: "Kernel workers of a ring for everything else. 0: the kernel's number."},
		{Name: "pelton.uring.iowq.affinity", Kind: String, Default: "", Doc: "CPUs of a ring's kernel workers: a list like 0,2-3, or shard for the shard's own. Empty: any."},
		{Name: "pelton.send.path", Kind: String, Default: "sendfile", Valid: oneOf("sendfile", "copy", "zerocopy"), Doc: "How records leave: by sendfile, by a copy, or by MSG_ZEROCOPY from a buffer. Refused at start where the kernel has none."},
		{Name: "pelton.socket.nodelay", Kind: Bool, Default: "true", Doc: "TCP_NODELAY of a connection."},
		{Name: "pelton.socket.cork", Kind: String, Default: "auto", Valid: oneOf("auto", "always", "never"), Doc: "TCP_CORK around what a connection is sent in one turn: auto for answers with something behind their records."},
		{Name: "pelton.socket.quickack", Kind: String, Default: "kernel", Valid: oneOf("kernel", "on", "off"), Doc: "TCP_QUICKACK of a connection, set again after each read."},
		{Name: "pelton.pin", Kind: Bool, Default: "true", Doc: "Whether each shard's thread is bound to its core."},
		{Name: "pelton.connection.migration", Kind: Bool, Default: "true", Doc: "Whether a connection moves to the shard that its requests go to, when all of them go to one."},
		{Name: "pelton.request.memory.bytes", Kind: Long, Default: "268435456", Valid: atLeast(1 << 20), Doc: "Memory for requests in flight, all shards together. At the limit the broker stops reading."},
		{Name: "pelton.decompressed.max.bytes", Kind: Long, Default: "134217728", Valid: atLeast(1 << 16), Doc: "Largest size that one batch may unpack to."},
		{Name: "pelton.validation.workers", Kind: Int, Default: "0", Valid: between(0, 1024), Doc: "Workers that check compressed batches off the shards. 0: as many as shards."},
		{Name: "pelton.read.ahead.bytes", Kind: Int, Default: "0", Valid: between(0, 64<<20), Doc: "How much behind what a fetch found outside the page cache is loaded with it, for the fetches to come. 0: nothing."},
		{Name: "pelton.slow.turn.ms", Kind: Int, Default: "50", Valid: atLeast(1), Doc: "A shard's turn longer than this is counted and its stack is logged."},
		{Name: "pelton.slow.reader.ms", Kind: Long, Default: "60000", Valid: atLeast(0), Doc: "A client that takes nothing of a waiting answer for this long is closed. 0: never."},
		{Name: "pelton.log.recovery.wait.ms", Kind: Long, Default: "1000", Valid: between(0, 3600000), Doc: "How long a start after a crash waits for logs to be recovered before it serves the others. A partition that is still being recovered then has no leader for clients, which ask again."},
		{Name: "pelton.log.settle.delay.ms", Kind: Long, Default: "5000", Valid: between(0, 600000), Doc: "How long a closed segment that no flush.* setting asks for may wait for its sync; one that retention takes away before that is never synced."},
		{Name: "pelton.net.busy.poll.us", Kind: Int, Default: "0", Valid: between(0, 1000000), Doc: "SO_BUSY_POLL of a connection."},
		{Name: "pelton.net.rcvlowat.bytes", Kind: Int, Default: "0", Valid: atLeast(0), Doc: "SO_RCVLOWAT while the rest of a large frame is awaited. 0: off."},
		{Name: "pelton.net.congestion", Kind: String, Default: "", Doc: "TCP congestion control of a connection. Empty: the system's."},
		{Name: "pelton.zookeeper.listen", Kind: String, Default: "127.0.0.1:2181", Doc: "host:port of the embedded coordination server, used when zookeeper.connect is not set. off: in process only."},
		{Name: "pelton.zookeeper.data.dir", Kind: String, Default: None, Doc: "Directory of the embedded coordination server. Not set: zookeeper beside the first log directory."},
		{Name: "pelton.log.adopt", Kind: Bool, Default: "false", Doc: "Take over partition directories that no topic in coordination claims: they become topics with this broker as their only replica (docs/MOVING.md)."},
	}
}

// legacyRows are keys of older Kafkas and common mistakes.
func legacyRows() []Row {
	return []Row{
		{Name: "port", Kind: Int, Default: None, Valid: between(0, 65535), Doc: "Kafka up to 2.8: port to listen on, used when listeners is not set."},
		{Name: "host.name", Kind: String, Default: None, Doc: "Kafka up to 2.8: host to listen on, used when listeners is not set."},
		{Name: "advertised.port", Kind: Int, Default: None, Valid: between(1, 65535), Doc: "Kafka up to 2.8: port told to clients, used when advertised.listeners is not set."},
		{Name: "advertised.host.name", Kind: String, Default: None, Doc: "Kafka up to 2.8: host told to clients, used when advertised.listeners is not set."},
		{Name: "log.segment.ms", Effect: Alias, Alias: "log.roll.ms", Doc: "Common mistake for log.roll.ms."},
		{Name: "log.roll.minutes", Effect: Gone, Doc: "Never was a key of Kafka; use log.roll.ms."},
		{Name: "log.file.size", Effect: Alias, Alias: "log.segment.bytes", Doc: "Kafka 0.7: log.segment.bytes."},
		{Name: "log.retention.size", Effect: Alias, Alias: "log.retention.bytes", Doc: "Kafka 0.7: log.retention.bytes."},
		{Name: "log.flush.interval", Effect: Alias, Alias: "log.flush.interval.messages", Doc: "Kafka 0.7: log.flush.interval.messages."},
		{Name: "log.default.flush.interval.ms", Effect: Alias, Alias: "log.flush.interval.ms", Doc: "Kafka 0.7: log.flush.interval.ms."},
		{Name: "log.delete.delay.ms", Effect: Alias, Alias: "log.segment.delete.delay.ms", Doc: "Kafka 0.8: log.segment.delete.delay.ms."},
		{Name: "log.cleanup.interval.mins", Effect: Gone, Doc: "Kafka 0.8: beat of retention in minutes; use log.retention.check.interval.ms."},
		{Name: "max.message.size", Effect: Alias, Alias: "message.max.bytes", Doc: "Kafka 0.7: message.max.bytes."},
		{Name: "replica.lag.max.messages", Effect: Gone, Doc: "Kafka up to 0.8: records that a follower might lag; replica.lag.time.max.ms alone decides since 0.9."},
		{Name: "zookeeper.sync.time.ms", Effect: Gone, Doc: "Kafka up to 2.8: how far a ZooKeeper follower might lag; never had an effect on brokers."},
		{Name: "zk.connect", Effect: Alias, Alias: "zookeeper.connect", Doc: "Kafka 0.7: zookeeper.connect."},
		{Name: "zk.connectiontimeout.ms", Effect: Alias, Alias: "zookeeper.connection.timeout.ms", Doc: "Kafka 0.7: zookeeper.connection.timeout.ms."},
		{Name: "controller.message.queue.size", Effect: Gone, Doc: "Kafka 0.8: the controller's queue has no limit since."},
		{Name: "quota.producer.default", Effect: Gone, Doc: "Kafka up to 2.8: default produce quota; use kafka-configs --entity-type clients or users."},
		{Name: "quota.consumer.default", Effect: Gone, Doc: "Kafka up to 2.8: default fetch quota; use kafka-configs --entity-type clients or users."},
		{Name: "fetch.message.max.bytes", Effect: Gone, Doc: "A consumer's key; a broker has fetch.max.bytes and replica.fetch.max.bytes."},
	}
}
