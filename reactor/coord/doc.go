// Package coord leads internal partitions: it runs the group machine of one partition of __consumer_offsets on that partition's log.
//
// Owns: Host, one for each partition that is led here: the machine, the batches made of its records, the replay that fills it; and the
// rule that gives a group its partition.
// Callers: reactor/api, which lends a World (log, clock, timer of the owner's shard) and takes the answers.
// Thread: a Host lives on the shard that owns its partition; World may call back at once or in a later turn, on that shard.
// Never: blocks, touches sockets, knows Kafka's codes or request versions.
// Fails: a log that cannot be read leaves the host loading, which clients take as "try again", and is read again later; records that make no
// sense are skipped and told as an event; a failed append fails exactly the requests that waited for it.
package coord
