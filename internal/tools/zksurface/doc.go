// Command zksurface compares what people and exporters see of a coordination server: four-letter words, the admin server, the page of metrics.
//
// Owns: the servers it starts, ours and Apache's, alone and three together, and the comparison of the names that they show.
// Callers: make zk-surface, through internal/tools/zk-surface.sh, which fetches what Apache's server needs.
// Thread: one goroutine.
// Never: compares values: those depend on time and load.
// Fails: exits with 1 and the names that only one side has and docs/COORDINATION.md does not tell.
package main
