// Package producer knows what every producer last wrote to one partition, and so tells a repeat from a gap.
//
// Owns: Table (the sequence windows, written and pending, and the open transactions) and its snapshot file's bytes.
// Callers: logstore, for appends, recovery, and the answers of DescribeProducers.
// Thread: the shard that owns the partition; no locks.
// Never: does I/O, reads the clock, knows what a record is.
// Fails: Check returns a verdict; DecodeSnapshot returns an error and no table for bytes that are not a snapshot.
package producer
