// Package server is the coordination server on the wire: connections, sessions, operations, four-letter words, over one data tree and one log.
//
// Owns: Server and its loop, the state of a connection and the order of its answers, authentication, the sessions' table, snapshots' pace.
// Callers: cmd/pelton, embedded in the broker or as `pelton zk server`.
// Thread: everything runs on one locked loop goroutine but Start, Stop, Addr and the writer of snapshots.
// Never: answers a write before its log write is durable, applies a transaction before it is durable, trusts a length it was sent.
// Fails: Start says why it cannot recover or listen; an error of the log ends the server, since memory must never be ahead of the log: Options.Fatal is told.
package server
