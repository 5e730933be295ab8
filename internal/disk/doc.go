// Package disk is the only door to files.
//
// Owns: File (a descriptor outside Go's netpoller), FS (blocking calls on names), and Disk, the asynchronous side of one shard with three backends: uring, portable, auto.
// Callers: logstore and zk/txnlog; reactor makes one Disk per shard and hands completions upward.
// Thread: a Disk belongs to the locked thread that opened it; the portable backend's workers are its own. FS and File's blocking calls run off the shards.
// Never: blocks in Submit, Flush or Reap (but for the inline write that auto chooses while the directory is quick), repeats a failed fsync, drops an operation, allocates in steady state.
// Fails: every operation ends in Op.Err, an *Error with the call, the path and the errno; Open steps down to what the kernel grants and says why in Probe.
package disk
