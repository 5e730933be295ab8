// Package api answers Kafka requests: the one place where connections, logs and the cluster's image meet.
//
// Owns: the table of API keys, the sessions of connections (reply order, fetch sessions), the partitions hosted here and which shard
// each belongs to, the waiters of produce and fetch, and the mapping of domain errors to Kafka's codes.
// Callers: cmd/pelton builds a Broker and hands it to reactor.Server as its hooks; the controller publishes images into it.
// Thread: a Session and a Local live on one shard; a Hosted belongs to its owner shard; handlers of rows marked OnPool run in a bounded
// pool off the shards and reach shards by mail.
// Never: decides what is in sync, where a record lies or who leads; those answers come from the packages below.
// Fails: a request that cannot be decoded closes its connection with one log line and a counter; everything else is answered with a code.
package api
