// Package jute is the ZooKeeper wire in bytes: primitives, records, op codes, error codes and path rules.
//
// Owns: Reader and the Append functions, the records of requests and replies, op and error numbers, ValidatePath.
// Callers: zk/server, zk/tree, zk/txnlog, the conformance suite and its tools.
// Thread: any; a Reader belongs to one caller.
// Never: allocates for a length that the input does not hold, keeps or changes its input, knows what an operation means.
// Fails: a Reader keeps its first error, one of ErrShort, ErrLength; reading on after it yields zero values.
package jute
