package config

// networkRows are the rows of listeners, sockets and requests.
func networkRows() []Row {
	return []Row{
		{Name: "listeners", Kind: String, Default: "PLAINTEXT://:9092", Update: PerBroker, Doc: "Addresses to listen on, as NAME://host:port, separated by commas. An empty host means every interface, port 0 a free port."},
		{Name: "advertised.listeners", Kind: String, Default: None, Update: PerBroker, Doc: "Addresses that clients are told to use. Not set: those of listeners."},
		{Name: "listener.security.protocol.map", Kind: String, Default: "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", Update: PerBroker, Doc: "Which security protocol each listener name stands for."},
		{Name: "inter.broker.listener.name", Kind: String, Default: None, Doc: "Name of the listener that brokers use among themselves. Not set: by security.inter.broker.protocol."},
		{Name: "control.plane.listener.name", Kind: String, Default: None, Effect: Inert, Doc: "Name of a listener that only the controller uses."},
		{Name: "early.start.listeners", Kind: String, Default: None, Effect: Inert, Doc: "KRaft: listeners that open before the rest."},
		{Name: "num.network.threads", Kind: Int, Default: "3", Valid: atLeast(1), Update: ClusterWide, Doc: "Kafka's count of network threads. Pelton has one loop per shard; the value is accepted and reported."},
		{Name: "num.io.threads", Kind: Int, Default: "8", Valid: atLeast(1), Update: ClusterWide, Doc: "Kafka's count of request threads. Pelton has one loop per shard; the value is accepted and reported."},
		{Name: "queued.max.requests", Kind: Int, Default: "500", Valid: atLeast(1), Effect: Inert, Doc: "Requests that one connection's shard keeps waiting before it stops reading."},
		{Name: "queued.max.request.bytes", Kind: Long, Default: "-1", Effect: Inert, Doc: "Bytes of requests waiting before reading stops. -1: by pelton.request.memory.bytes alone."},
		{Name: "socket.send.buffer.bytes", Kind: Int, Default: "102400", Doc: "SO_SNDBUF of a connection. -1: the kernel sizes it."},
		{Name: "socket.receive.buffer.bytes", Kind: Int, Default: "102400", Doc: "SO_RCVBUF of a connection, when set. Not set, or -1: the kernel sizes it."},
		{Name: "socket.request.max.bytes", Kind: Int, Default: "104857600", Valid: atLeast(1), Doc: "Largest request. A larger one closes its connection before anything is allocated."},
		{Name: "socket.listen.backlog.size", Kind: Int, Default: "50", Valid: atLeast(1), Effect: Inert, Doc: "Connections that the kernel keeps waiting to be accepted."},
		{Name: "socket.connection.setup.timeout.ms", Kind: Long, Default: "10000", Effect: Inert, Doc: "First wait for an outgoing connection."},
		{Name: "socket.connection.setup.timeout.max.ms", Kind: Long, Default: "30000", Effect: Inert, Doc: "Longest wait for an outgoing connection after repeated failures."},
		{Name: "max.connections", Kind: Int, Default: "2147483647", Valid: atLeast(0), Update: ClusterWide, Doc: "Connections of the whole broker; the next one is closed."},
		{Name: "max.connections.per.ip", Kind: Int, Default: "2147483647", Valid: atLeast(0), Update: ClusterWide, Doc: "Connections from one address; the next one is closed."},
		{Name: "max.connections.per.ip.overrides", Kind: String, Update: ClusterWide, Doc: "Other limits for named addresses, as host:count, separated by commas."},
		{Name: "max.connection.creation.rate", Kind: Int, Default: "2147483647", Valid: atLeast(0), Update: ClusterWide, Effect: Inert, Doc: "New connections per second; the rest wait."},
		{Name: "connections.max.idle.ms", Kind: Long, Default: "600000", Doc: "A connection without traffic for this long is closed. Negative: never."},
		{Name: "connections.max.reauth.ms", Kind: Long, Default: "0", Effect: Inert, Doc: "Longest life of an authentication before it must be renewed."},
		{Name: "connection.failed.authentication.delay.ms", Kind: Int, Default: "100", Valid: atLeast(0), Effect: Inert, Doc: "Pause before a failed authentication is answered."},
		{Name: "fetch.max.bytes", Kind: Int, Default: "57671680", Valid: atLeast(1024), Doc: "Most bytes in one answer to a fetch, whatever the consumer asks for."},
		{Name: "max.incremental.fetch.session.cache.slots", Kind: Int, Default: "1000", Valid: atLeast(0), Doc: "Fetch sessions kept."},
		{Name: "max.request.partition.size.limit", Kind: Int, Default: "2000", Valid: atLeast(1), Effect: Inert, Doc: "Most partitions in one answer of DescribeTopicPartitions."},
		{Name: "fetch.purgatory.purge.interval.requests", Kind: Int, Default: "1000", Effect: Inert, Doc: "Kafka's clean-up beat of waiting fetches; Pelton removes a waiter when it completes."},
		{Name: "producer.purgatory.purge.interval.requests", Kind: Int, Default: "1000", Effect: Inert, Doc: "Kafka's clean-up beat of waiting produce requests."},
		{Name: "delete.records.purgatory.purge.interval.requests", Kind: Int, Default: "1", Effect: Inert, Doc: "Kafka's clean-up beat of waiting DeleteRecords requests."},
		{Name: "quota.window.num", Kind: Int, Default: "11", Valid: atLeast(1), Doc: "Windows kept for client quotas."},
		{Name: "quota.window.size.seconds", Kind: Int, Default: "1", Valid: atLeast(1), Doc: "Length of one such window."},
		{Name: "client.quota.callback.class", Kind: Class, Default: None, Effect: Inert, Doc: "Java class that decides quotas."},
	}
}
