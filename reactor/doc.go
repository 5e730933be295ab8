// Package reactor is the loop: pinned shards that carry sockets, timers, mail and disk completions.
//
// Owns: the shards and their turn, mail between them, the timing wheel, the memory budget, starting and stopping.
// Callers: reactor/api through Hooks, cmd through Server.
// Thread: everything of a Shard belongs to its own locked thread but Post, Stats and what Server does before and after the loops run.
// Never: knows Kafka, takes a lock on a shard, blocks in anything but the one wait at the end of a turn.
// Fails: a shard that cannot start makes Server.Start fail; a broken poller stops its shard through Options.OnFatal.
package reactor
