// Package load makes work for a broker and measures how it is done: produce, fetch, both, latency and recorded workloads, closed loop at full speed or open
// loop at a fixed rate, against anything that speaks Kafka's protocol and against the floor programs with the same frames.
//
// Owns: prepared requests that are re-stamped in place, the loops that send them, latency histograms, counts, the report.
// Callers: cmd/pelton for `pelton perf`, and benchmarks.
// Thread: one goroutine with a blocking socket for each connection; Run starts them and returns when all have ended.
// Never: measures latency from the moment of sending in an open loop: the intended time counts. Allocates while it sends.
// Fails: with the broker's error by name, or the socket's; ErrCounts when the broker's log does not hold what was acknowledged.
package load
