// Package batch reads, checks and writes Kafka's records: batches of format 2, and the message sets of formats 0 and 1.
//
// Owns: the header as a value, the full check of what a client sent, iteration, building, the four codecs, the few bytes a broker patches.
// Callers: reactor/api before a batch reaches its owner shard, logstore, coordinators and tools that read records back.
// Thread: any; a call keeps nothing, and the pooled decoders are shared safely.
// Never: allocates on the path of an uncompressed batch that is right, trusts a length or a count, lets a codec's panic out.
// Fails: typed errors that say which record and why; the bytes given are unchanged but for the patching functions.
package batch
