// Package txnlog keeps the coordination server's state on disk, in Apache ZooKeeper's own files: version-2/log.<zxid> and version-2/snapshot.<zxid>.
//
// Owns: Log (append with group commit), Snapshot (fuzzy, written in pieces), Recover, Purge.
// Callers: zk/server; `pelton zk import` through Recover.
// Thread: Log on the server's loop; Snapshot's Piece on the loop and its Writer on a task goroutine; Recover and Purge block and run off the loop.
// Never: answers a client, cuts a log below what was fsynced, retries a failed fsync, deletes a log that a kept snapshot needs.
// Fails: *CorruptError for damage below the last fsync, ErrGap for missing transactions; any write or fsync error is final for the Log and is seen through Err.
package txnlog
