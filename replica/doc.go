// Package replica decides who may write to a partition and what of it is committed.
//
// Owns: Partition, the role of this broker in one partition: leader epoch, in-sync set, high watermark; and the fences that requests meet.
// Callers: reactor/api, one Partition beside each hosted log.
// Thread: the shard that owns the partition; no locks.
// Never: touches the log, a socket or the clock; knows Kafka's error codes.
// Fails: sentinels that say why a request may not be served; a state that contradicts itself breaks an invariant.
package replica
