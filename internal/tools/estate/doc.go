// Command estate runs a whole Kafka estate of one version on a coordination server, takes it through a working day with two bad moments, and
// compares what Pelton's coordination and Apache ZooKeeper hold afterwards.
//
// Owns: the steps of the day (create, produce, kill a broker, kill the coordination server, produce again, read everything, stop), the dump of
// the znodes and the masks for ids and times.
// Callers: `make zk-kafka`, with internal/tools/apache as the hand that starts real Kafka and ZooKeeper.
// Thread: one; every step ends before the next begins.
// Never: waits for a time: each wait is for an event, with a deadline.
// Fails: exit code 1 when a record or a znode is lost or the dumps differ, 2 when a server cannot be started.
package main
