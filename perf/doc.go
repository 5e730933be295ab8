// Package perf measures the broker from inside: counters, gauges, latency histograms and a trace of recent turns.
//
// Owns: the table of every metric, the slots they count in, the Prometheus page made of them, and the reading of such a page.
// Callers: every package of the broker adds to a Set; cmd serves the page and `pelton top` reads snapshots.
// Thread: a Set is written by its shard alone, with plain adds; any thread may read it at any time. Shared is for everything off the shards.
// Never: allocates, locks or asks the clock when it counts; puts client text into a label; imports another package of this module.
// Fails: it cannot; a metric that is not in the table does not compile, and a wrong label position counts as "other".
package perf
