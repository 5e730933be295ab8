// Package group decides what a consumer group does: a pure machine for the classic protocol and its committed offsets.
//
// Owns: the groups of one partition of __consumer_offsets: members, generations, assignments, committed offsets, their deadlines, and the
// bytes in which Kafka keeps them (records.go).
// Callers: reactor/coord, which feeds requests, append results and time, and carries out what comes back; tests and tools.
// Thread: none of its own; a Machine belongs to whoever steps it, one call at a time.
// Never: reads a clock, starts a goroutine, does I/O, draws random numbers (ids come from Options), knows Kafka's error numbers or versions
// of requests: what differs between versions is a field of the input.
// Fails: answers carry one of this package's errors; a broken promise to itself ends the process through invariant.Broken.
package group
