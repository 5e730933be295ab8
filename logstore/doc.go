// Package logstore keeps one partition's bytes, in Kafka's own files.
//
// Owns: Log (append, read, watermarks, producer state, epochs), its segments and indexes, recovery, retention, the log directories with their checkpoints and markers.
// Callers: reactor/api and replica on the owner shard; cmd and a task pool for what blocks (Manager, Work.Run).
// Thread: a Log belongs to the shard that it is bound to, without locks; Manager's methods and Work.Run run off the shards; what both sides read is atomic.
// Never: opens sockets, reads the clock, knows Kafka's error codes or roles, blocks on a shard, rewrites or truncates bytes that were ever visible.
// Fails: sentinels for what a client did wrong; an I/O error takes the whole directory offline (ErrOffline for its logs), a full disk refuses appends until there is room.
package logstore
