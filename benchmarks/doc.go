//go:build linux

// Command benchmarks measures the broker from outside, against the floors and against other brokers, and keeps what it found.
//
// Owns: contests (the same work given alternately to two or more programs), their statistics, the table, history.jsonl.
// Callers: make bench, make bench-latency, make bench-rivals, make bench-compare.
// Thread: one contest at a time; the load runs in this process, the programs under test in processes of their own.
// Never: quotes a second without a ratio beside it, softens a bound, keeps a first round.
// Fails: with code 1 when a program could not be started or work failed; an unmet bound is printed and recorded, and is no failure.
package main
