// Package ensemble makes several coordination servers one: their transactions are replicated by raft, and every server applies the same ones in the same order.
//
// Owns: Core (one member as a pure machine: requests, messages and ticks in; messages, writes and applied transactions out), Member (a Core on disk and network), the raft log's files, the links between members, server lines and the text of /zookeeper/config.
// Callers: zk/server, whose loop drives a Member; cmd/pelton through Config.
// Thread: Core, Member and WAL on the server's loop; a link's reader and writer are goroutines of their own that touch queues only.
// Never: reads a clock or draws a random number in Core, answers a write that a majority has not on disk, takes a byte from a peer that has not proven the key.
// Fails: an error of the raft log ends the member, as one of the transaction log does: Member.Err; a broken link is made again, for ever.
package ensemble
